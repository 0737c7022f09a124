"""What a comparison keeps of a run: accuracies, how clean its selection is, what it costs alone, its curve."""

import json
from typing import Any

import numpy as np

from smallloss import methods
from smallloss.criterion.selection import precision_recall
from smallloss.noise.choose import select
from smallloss.report.compare import REFERENCE
from smallloss.run.clean import CleanRun

_HALVES = ("half0", "half1")


def facts_of(run: CleanRun) -> dict[str, Any]:
    """Shares in percent. What a run cannot say is None: a precision where nobody knows the truth, or nothing ranks."""
    learned, result = run.learned, run.result
    found = next(one for one in result.accuracies if one.method == learned.method)
    curve = [(row["epoch"] + 1, row.get("test", row.get("validation"))) for row in learned.fitted.history]
    return {
        "net": found.net,
        "best": percent_of(found.best),
        "last": percent_of(found.last),
        "mean_of_last_ten": percent_of(found.mean_of_last_ten),
        "curve": [(epoch, percent_of(share)) for epoch, share in curve if share is not None],
        **_seconds(run),
        **_selected(run),
    }


def _seconds(run: CleanRun) -> dict[str, Any]:
    """Every stage that the method would need alone; half-trainings too, where it was told rates that they estimate."""
    assert run.folder is not None
    by_stage: dict[str, float] = {}
    for line in (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        by_stage[row["stage"]] = by_stage.get(row["stage"], 0.0) + row["seconds"]
    method, needed = run.learned.method, set(run.learned.stages)
    told = method != REFERENCE and methods.needs(method) is not None
    if told and run.result.estimate is not None:
        needed |= {"stage1", *_HALVES}
    own = {stage: seconds for stage, seconds in by_stage.items() if stage in needed}
    return {"stage_seconds": own, "seconds": sum(own.values()), "plain_seconds": by_stage["stage1"]}


def _selected(run: CleanRun) -> dict[str, Any]:
    """Of the method's own selection; and of its ranking at the share 1 - eta, the true one, class by class."""
    learned, dataset, rows = run.learned, run.result.dataset, run.result.parts[0].index
    assert dataset is not None
    found: dict[str, Any] = dict.fromkeys(("kept", "selected_precision", "precision"))
    truth, labels = dataset.true_labels, dataset.labels[rows]
    mask = None if learned.selection is None else learned.selection.mask
    if mask is not None:
        found["kept"] = int(mask.sum())
    if truth is None:
        return found
    right = labels == truth[rows]
    if mask is not None:
        found["selected_precision"] = percent_of(precision_recall(mask, right).precision)
    if learned.score is not None:
        found["precision"] = precision_at_share(learned.score[rows], labels, right, len(dataset.classes))
    return found


def precision_at_share(score: np.ndarray, labels: np.ndarray, right: np.ndarray, classes: int) -> float | None:
    """Table 1, "Our Method": of the share 1 - eta_i of each class with the smallest scores, eta_i as it is."""
    carry = np.maximum(np.bincount(labels, minlength=classes), 1)
    rates = np.bincount(labels[~right], minlength=classes) / carry
    share = select(score, labels, rates, classes=np.arange(classes), beta=0.0, gamma="none")
    return percent_of(precision_recall(share.mask, right).precision)


def percent_of(share: float | None) -> float | None:
    return None if share is None or np.isnan(share) else round(100 * float(share), 3)
