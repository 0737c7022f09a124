"""report.html: one file that opens from a mail, without a server, an outside address or any script but its own."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from smallloss import files
from smallloss.record.examples import SPLITS, TRAIN
from smallloss.record.run import Run
from smallloss.report import facts, svg
from smallloss.report.compare import REFERENCE, shares
from smallloss.report.script import SHARED, joined
from smallloss.report.settings import shown_settings
from smallloss.report.templates import environment
from smallloss.report.workbench import FILE, workbench

_MODULES = (  # each after those it imports
    "make", "csv", "table", "filter", "filters", "decisions", "selection", "find", "sheets", "cards", "panel", "grid",
    "plane", "server", "workbench",
)  # fmt: skip


def write_page(run: Run, path: str | Path) -> Path:
    """The report; the same run gives the same bytes, so no times stand in it."""
    return files.write_text(path, page(run, Path(path).absolute().parent.name))


def page(run: Run, folder: str = "RUN", *, served: bool = False) -> str:
    """The report as a text; `folder`: the name of the run's, for the commands in it. served: by `smallloss open`, which
    has every picture and saves decisions.

    Everything in it is escaped but the plots, which hold no text of the user's.
    """
    from markupsafe import Markup

    plots = {name: Markup(drawn) for name, drawn in _plots(run).items()}
    made = environment(Path(__file__).parent, pieces=facts.pieces, pair=facts.pair, decimal=facts.decimal)
    place = shlex.quote(facts.printable(folder))
    script = Markup(joined((SHARED,), *_MODULES))
    found = {"can_check": served and run.dataset is not None, "bench": workbench(run, served=served), **_facts(run)}
    template = made.get_template("page.html.jinja")
    return str(template.render(plots=plots, run=place, script=script, served=served, **found))


def _facts(run: Run) -> dict[str, Any]:
    e = run.examples
    *apart, whole = facts.table_rows(run)
    return {
        "name": facts.printable(run.name),
        "classes": len(e.classes),
        "answered": run.rates is not None,
        "evidence": f"one minus the label score: {facts.ranked_by(run)}" if run.by_hand else facts.ranked_by(run),
        "verdict": run.verdict,
        "whole": whole,
        "trained_on": apart[0] if apart else whole,
        "held_out": apart[1:],
        "rows": list(zip(facts.class_rows(run), svg.sparklines(e, e.rows(TRAIN)), strict=True)),
        "accuracy_on": facts.printable(run.accuracy_on),
        "reference": facts.called(run, REFERENCE),
        "methods": facts.method_rows(run),
        "taken": list(shares(run.accuracies)),
        "shipped": facts.accuracy_words(run),
        "high_scores": facts.high_scores(run),
        "decisions": FILE,
        "stages": [
            {"name": facts.called(run, stage), "curve": k % svg.CURVES, "dashes": svg.DASHES[k % len(svg.DASHES)]}
            for k, stage in enumerate(_curves(run))
        ],
        "dashes": svg.DASHES[1],
        "sampled": _sampled(run),
        "confusions": facts.confusions(run),
        "notes": facts.notes(run),
        "settings": shown_settings(run.settings),
    }


def _plots(run: Run) -> dict[str, str]:
    e, rows, losses, curves = run.examples, run.examples.rows(TRAIN), _losses(run), _curves(run)
    plots = {"scores": svg.score_histogram(e, rows)} if e.rank[rows].any() else {}
    if losses is not None:
        assert run.ledger is not None
        plots["losses"] = svg.loss_curves(*losses, run.ledger.curves.start)
    if curves:
        plots["curves"] = svg.learning_curves(list(curves.values()))
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
            epochs, found = curves.setdefault(str(row["stage"]), ([], []))
            epochs.append(int(row["epoch"]) + 1)
            found.append(float(row[on]))
    return curves
