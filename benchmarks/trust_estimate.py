"""The estimate against the truth, beside the one before it, cleanlab's, and "the prediction is not the label".

On the same predictions, with rules on the same counts that could have been.
"""

from collections.abc import Iterator

import numpy as np

from smallloss.noise.confident import confident_joint, label_issues
from smallloss.noise.estimate import estimate
from smallloss.noise.model import NoiseModel
from trust_tools import Cell, Row, f1, per_label


def measure(cell: Cell) -> Iterator[Row]:
    found = {name: _of_estimate(cell, one) for name, one in _estimates(cell).items()}
    if cell.before is not None:
        said = cell.before.facts["found"]
        found["before"] = (
            _of_rates(cell, np.array(said["noise_rate"]), cell.before.issue)
            | _of_interval(cell, np.array(said["low"]), np.array(said["high"]), *said["overall"][1:])
            | _of_kept(cell, cell.before.kept)
        )
    seconds = cell.facts["seconds"]
    yield cell.named() | {"seconds": seconds, "rules": found | _peers(cell) | _candidates(cell)}


def _estimates(cell: Cell) -> dict[str, NoiseModel]:
    """As a run does; and, where there is one, with a second split of the training part, as much training again."""
    found = {"now": cell.found}
    if len(cell.halves) > 2:
        found["now, two splits"] = estimate(cell.halves, cell.labels, classes=range(cell.c))
    return found


def _of_estimate(cell: Cell, found: NoiseModel) -> Row:
    chosen = cell.selected(found.noise_rate, found.prior, found.upper)
    _, low, high = found.overall
    return (
        _of_rates(cell, found.noise_rate, chosen.issue)
        | _of_interval(cell, found.low, found.high, low, high)
        | _of_kept(cell, chosen.kept)
    )


def _peers(cell: Cell) -> dict[str, Row]:
    P, labels = cell.mean, cell.labels
    M = per_label(P.argmax(1) != labels, labels, cell.c)
    prior = np.bincount(cell.true, minlength=cell.c) / len(labels)
    joint = confident_joint(P, labels, cell.c)
    carried = np.maximum(joint.sum(axis=1), 1e-12)
    return {
        "cleanlab": _of_rates(cell, 1 - joint.diagonal() / carried, label_issues(P, labels)),
        "prediction is not the label": _of_rates(cell, M, P.argmax(1) != labels),
        "the true shares": _of_rates(cell, cell.rates, cell.selected(cell.rates, prior, None).issue),
    }


def _candidates(cell: Cell) -> dict[str, Row]:
    """Rules on the counts of the run's own two networks: M, s, and both and d where both judge, on what is held out."""
    labels, c, held = cell.labels, cell.c, cell.held_out
    first, second = cell.halves[0, held].argmax(1), cell.halves[1, held].argmax(1)
    d = per_label(first != second, labels[held], c)
    both = per_label((first == second) & (first != labels[held]), labels[held], c)
    M, s = cell.found.contradicted, cell.found.sure
    low = np.clip((M - d) / np.maximum(1 - d * c / (c - 1), 1e-9), 0, M)
    rules = {
        "rule: median of s, both, M": np.median([s, both, M], axis=0),
        "rule: middle of low, M": (low + M) / 2,
        "rule: middle of s, M": (np.minimum(s, M) + M) / 2,
        "rule: s": s,
        "rule: both": both,
        "rule: low": low,
    }
    return {
        name: _of_rates(cell, rates, cell.selected(rates, cell.found.prior, None).issue)
        for name, rates in rules.items()
    }


def _of_rates(cell: Cell, rates: np.ndarray, flags: np.ndarray) -> Row:
    carried = cell.shares > 0
    return {
        "mae": float(np.abs(rates - cell.rates)[carried].mean()),
        "overall": float(cell.shares @ rates),
        "off": float(abs(cell.shares @ rates - cell.rate)),
        "f1": f1(flags, cell.wrong),
        "flagged": float(flags.mean()),
    }


def _of_interval(cell: Cell, each_low: np.ndarray, each_high: np.ndarray, low: float, high: float) -> Row:
    carried = cell.shares > 0
    inside = (each_low <= cell.rates) & (cell.rates <= each_high)
    return {
        "covered": bool(low <= cell.rate <= high),
        "low": low,
        "high": high,
        "covered_per_label": float(inside[carried].mean()),
        "width_per_label": float((each_high - each_low)[carried].mean()),
    }


def _of_kept(cell: Cell, kept: np.ndarray) -> Row:
    return {"kept": int(kept.sum()), "precision": float(1 - cell.wrong[kept].mean()) if kept.any() else None}
