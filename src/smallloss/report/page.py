"""report.html: one file that opens from a mail, without a server, an outside address or any script but its own."""

from pathlib import Path
from typing import Any

import numpy as np

from smallloss import files
from smallloss.report.compare import REFERENCE, compare, shares
from smallloss.report.confusions import confusions
from smallloss.report.packed import BUDGET, packed
from smallloss.report.pictures import CLASSES_SHOWN, borderline, gallery
from smallloss.report.plots import CURVES, DASHES, learning_curves, loss_curves, score_histogram
from smallloss.report.result import Part, Result
from smallloss.report.settings import shown_settings
from smallloss.report.sparklines import sparklines
from smallloss.report.summary import (
    called,
    class_rows,
    notes,
    pieces,
    printable,
    table_rows,
    train_part,
)
from smallloss.report.templates import environment
from smallloss.report.truth import right_labels
from smallloss.words import percent

_TEMPLATE = "page.html.jinja"
_TABLE_AND_GALLERIES = 3_000_000  # characters


def write_page(result: Result, path: str | Path) -> Path:
    """The report; the same result gives the same bytes, so no times stand in it."""
    return files.write_text(path, page(result))


def page(result: Result) -> str:
    """The report as a text. Everything in it is escaped but the plots, which hold no text of the user's."""
    from markupsafe import Markup

    facts = _facts(result)
    plots = {name: Markup(svg) for name, svg in _plots(result).items()}
    made = environment(Path(__file__).parent, percent=percent, count="{:,}".format, pieces=pieces)
    return str(made.get_template(_TEMPLATE).render(plots=plots, **facts))


def _facts(result: Result) -> dict[str, Any]:
    data = result.dataset
    *apart, whole = table_rows(result)
    train = train_part(result)
    suspects, nearest = gallery(result), borderline(result)
    pictures = sum(len(one.picture or "") for one in [*nearest, *(one for each in suspects for one in each.shown)])
    return {
        "name": printable(data.name),
        "classes": len(data.classes),
        "pictures": data.pictures is not None,
        "evidence": printable(result.evidence),
        "verdict": result.verdict,
        "whole": whole,
        "trained_on": apart[0] if apart else whole,
        "held_out": apart[1:],
        "rows": list(zip(class_rows(result, train), sparklines(train.selection), strict=True)),
        "known": data.true_labels is not None,
        "accuracy_on": printable(result.accuracy_on),
        "reference": called(REFERENCE),
        "methods": _methods(result),
        "taken": list(shares(result.accuracies)),
        "suspects": suspects,
        "borderline": nearest,
        "table": packed(result, min(BUDGET, _TABLE_AND_GALLERIES - pictures)),
        "classes_shown": CLASSES_SHOWN,
        "stages": [
            {"name": called(stage), "curve": k % CURVES, "dashes": DASHES[k % len(DASHES)]}
            for k, stage in enumerate(_curves(result))
        ],
        "dashes": DASHES[1],
        "sampled": _sampled(result),
        "confusions": confusions(result),
        "notes": notes(result),
        "settings": shown_settings(result.settings),
    }


def _methods(result: Result) -> list[dict[str, Any]]:
    differences = compare(result.accuracies)
    return [
        {
            "name": called(found.method),
            "net": printable(found.net),
            "shares": taken,
            "words": differences[found.method].words if found.method in differences else "",
        }
        for found, *taken in zip(result.accuracies, *shares(result.accuracies).values(), strict=True)
    ]


def _plots(result: Result) -> dict[str, str]:
    part = train_part(result)
    plots = {}
    if part.selection.rank_in_class.any():
        plots["scores"] = score_histogram(part.selection, right_labels(result.dataset, part))
    losses = _losses(result, part)
    if losses is not None:
        assert result.ledger is not None
        plots["losses"] = loss_curves(*losses, result.ledger.curves.start)
    curves = _curves(result)
    if curves:
        plots["curves"] = learning_curves(list(curves.values()))
    return plots


def _losses(result: Result, part: Part) -> tuple[np.ndarray, np.ndarray] | None:
    """Mean losses, epoch by epoch, of what the part keeps and of what it calls likely wrong; None without either."""
    if result.ledger is None:
        return None
    curves = []
    for chosen in (part.selection.mask, part.selection.is_label_issue):
        members = np.zeros(len(result.dataset), bool)
        members[part.index[chosen]] = True
        curves.append(result.ledger.curves.mean(members))
    return None if any(np.isnan(curve).all() for curve in curves) else (curves[0], curves[1])


def _sampled(result: Result) -> int | None:
    """How many examples the loss curves are taken over, where not over all."""
    if result.ledger is None or len(result.ledger.curves.index) == len(result.dataset):
        return None
    return len(result.ledger.curves.index)


def _curves(result: Result) -> dict[str, tuple[list[int], list[float]]]:
    """Epochs, counted from 1, and accuracies of each stage, on a test part or else on what was held out."""
    on = "test" if any(row.get("test") is not None for row in result.history) else "validation"
    curves: dict[str, tuple[list[int], list[float]]] = {}
    for row in result.history:
        if row.get(on) is not None:
            epochs, shares = curves.setdefault(str(row["stage"]), ([], []))
            epochs.append(int(row["epoch"]) + 1)
            shares.append(float(row[on]))
    return curves
