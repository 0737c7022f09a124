"""report.html: one file that opens from a mail, without a server, an outside address or any script but its own."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from smallloss import files
from smallloss.record.examples import SPLITS, TRAIN
from smallloss.record.run import Run
from smallloss.report.compare import REFERENCE, compare, shares
from smallloss.report.confusions import confusions
from smallloss.report.facts import (
    accuracy_words,
    by_true_labels,
    called,
    class_rows,
    high_scores,
    notes,
    pieces,
    printable,
    ranked_by,
    table_rows,
)
from smallloss.report.packed import BUDGET, packed
from smallloss.report.pictures import CLASSES_SHOWN, borderline, gallery
from smallloss.report.settings import shown_settings
from smallloss.report.svg import CURVES, DASHES, learning_curves, loss_curves, score_histogram, sparklines
from smallloss.report.templates import environment

_TEMPLATE = "page.html.jinja"
_TABLE_AND_GALLERIES = 3_000_000  # characters


def write_page(run: Run, path: str | Path) -> Path:
    """The report; the same run gives the same bytes, so no times stand in it."""
    return files.write_text(path, page(run, Path(path).absolute().parent.name))


def page(run: Run, folder: str = "RUN") -> str:
    """The report as a text; `folder`: the name of the run's, for the commands in it.

    Everything in it is escaped but the plots, which hold no text of the user's.
    """
    from markupsafe import Markup

    facts = _facts(run)
    plots = {name: Markup(svg) for name, svg in _plots(run).items()}
    made = environment(Path(__file__).parent, pieces=pieces)
    return str(made.get_template(_TEMPLATE).render(plots=plots, run=shlex.quote(printable(folder)), **facts))


def _facts(run: Run) -> dict[str, Any]:
    e = run.examples
    *apart, whole = table_rows(run)
    suspects, nearest = gallery(run), borderline(run)
    pictures = sum(len(one.picture or "") for one in [*nearest, *(one for each in suspects for one in each.shown)])
    return {
        "name": printable(run.name),
        "classes": len(e.classes),
        "pictures": run.dataset is not None and run.dataset.pictures is not None,
        "evidence": f"one minus the label score: {ranked_by(run)}" if run.by_hand else ranked_by(run),
        "verdict": run.verdict,
        "whole": whole,
        "trained_on": apart[0] if apart else whole,
        "held_out": apart[1:],
        "rows": list(zip(class_rows(run), sparklines(e, e.rows(TRAIN)), strict=True)),
        "known": e.true is not None,
        "accuracy_on": printable(run.accuracy_on),
        "reference": called(run, REFERENCE),
        "methods": _methods(run),
        "taken": list(shares(run.accuracies)),
        "shipped": accuracy_words(run),
        "suspects": suspects,
        "high_scores": high_scores(run),
        "borderline": nearest,
        "table": packed(run, min(BUDGET, _TABLE_AND_GALLERIES - pictures)),
        "classes_shown": CLASSES_SHOWN,
        "stages": [
            {"name": called(run, stage), "curve": k % CURVES, "dashes": DASHES[k % len(DASHES)]}
            for k, stage in enumerate(_curves(run))
        ],
        "dashes": DASHES[1],
        "sampled": _sampled(run),
        "confusions": confusions(run),
        "notes": notes(run),
        "settings": shown_settings(run.settings),
    }


def _methods(run: Run) -> list[dict[str, Any]]:
    differences, true = compare(run.accuracies), by_true_labels(run) or [""] * len(run.accuracies)
    taken = zip(*shares(run.accuracies).values(), strict=True)
    return [
        {
            "name": called(run, one.method), "true": known, "net": printable(one.net), "shares": values,
            "words": differences[one.method].words if one.method in differences else "",
        }
        for one, known, values in zip(run.accuracies, true, taken, strict=True)
    ]  # fmt: skip


def _plots(run: Run) -> dict[str, str]:
    e, rows = run.examples, run.examples.rows(TRAIN)
    plots = {}
    if e.rank[rows].any():
        plots["scores"] = score_histogram(e, rows)
    losses = _losses(run)
    if losses is not None:
        assert run.ledger is not None
        plots["losses"] = loss_curves(*losses, run.ledger.curves.start)
    curves = _curves(run)
    if curves:
        plots["curves"] = learning_curves(list(curves.values()))
    return plots


def _losses(run: Run) -> tuple[np.ndarray, np.ndarray] | None:
    """Mean losses, epoch by epoch, of what is kept of the training part and of what is likely wrong; None without
    either."""
    e = run.examples
    if run.ledger is None:
        return None
    kept, wrong = (run.ledger.curves.mean(some & (e.split == SPLITS.index(TRAIN))) for some in (e.kept, e.likely_wrong))
    return None if np.isnan(kept).all() or np.isnan(wrong).all() else (kept, wrong)


def _sampled(run: Run) -> int | None:
    """How many examples the loss curves are taken over, where not over all."""
    if run.ledger is None or len(run.ledger.curves.index) == len(run.examples):
        return None
    return len(run.ledger.curves.index)


def _curves(run: Run) -> dict[str, tuple[list[int], list[float]]]:
    """Epochs, counted from 1, and accuracies of each stage, on a test part or else on what was held out."""
    on = "test" if any(row.get("test") is not None for row in run.history) else "validation"
    curves: dict[str, tuple[list[int], list[float]]] = {}
    for row in run.history:
        if row.get(on) is not None:
            epochs, shares = curves.setdefault(str(row["stage"]), ([], []))
            epochs.append(int(row["epoch"]) + 1)
            shares.append(float(row[on]))
    return curves
