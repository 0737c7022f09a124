"""The estimate against the truth, beside the one before it, cleanlab's, and "the prediction is not the label".

On the same predictions, with rules on the same counts that could have been.
"""

from collections.abc import Iterator

import numpy as np

from estimators import confident_joint, joint_noise_rate, label_issues
from smallloss.noise.estimate import Estimate, estimate
from trust_tools import Cell, Row, f1, per_label

Rule = tuple[np.ndarray, np.ndarray]  # rates per label, flags


def measure(cell: Cell) -> Iterator[Row]:
    found = {name: judged(cell, *rule) | extra(cell, name) for name, rule in rules(cell).items()}
    yield cell.named() | {"rules": found}


def rules(cell: Cell) -> dict[str, Rule]:
    P, labels, now = cell.mean, cell.labels, cell.found
    true_prior = np.bincount(cell.true, minlength=cell.c) / len(labels)
    M = per_label(P.argmax(1) != labels, labels, cell.c)
    twice = estimate(cell.halves, labels, classes=range(cell.c))  # a second split: a third more training
    before = cell.facts["found"]
    return {
        "now": (now.noise_rate, cell.now.issue),
        "now, two splits": (twice.noise_rate, _flags(cell, twice)),
        "before": (np.array(before["noise_rate"]), cell.issue),
        "cleanlab": (joint_noise_rate(confident_joint(P, labels, cell.c)), label_issues(P, labels)),
        "prediction is not the label": (M, P.argmax(1) != labels),
        "the true shares": (cell.rates, cell.selected(cell.rates, true_prior, None).issue),
    } | {name: (rates, cell.selected(rates, now.prior, None).issue) for name, rates in candidates(cell).items()}


def _flags(cell: Cell, found: Estimate) -> np.ndarray:
    return cell.selected(found.noise_rate, found.prior, None).issue


def candidates(cell: Cell) -> dict[str, np.ndarray]:
    """Rules on the counts of the run's own two networks: M, s, and both and d where both judge, on what is held out."""
    labels, c, held = cell.labels, cell.c, cell.held_out
    first, second = cell.halves[0, held].argmax(1), cell.halves[1, held].argmax(1)
    d = per_label(first != second, labels[held], c)
    both = per_label((first == second) & (first != labels[held]), labels[held], c)
    M, s = cell.found.contradicted, cell.found.sure
    low = np.clip((M - d) / np.maximum(1 - d * c / (c - 1), 1e-9), 0, M)
    return {
        "rule: median of s, both, M": np.median([s, both, M], axis=0),
        "rule: middle of low, M": (low + M) / 2,
        "rule: middle of s, M": (np.minimum(s, M) + M) / 2,
        "rule: s": s,
        "rule: both": both,
        "rule: low": low,
    }


def judged(cell: Cell, rates: np.ndarray, flags: np.ndarray) -> Row:
    carried = cell.shares > 0
    return {
        "mae": float(np.abs(rates - cell.rates)[carried].mean()),
        "overall": float(cell.shares @ rates),
        "off": float(abs(cell.shares @ rates - cell.rate)),
        "f1": f1(flags, cell.wrong),
        "flagged": float(flags.mean()),
    }


def extra(cell: Cell, name: str) -> Row:
    """Intervals, and what is kept, of the estimates that have them."""
    if name == "before":
        found = cell.facts["found"]
        _, low, high = found["overall"]
        each, kept = (np.array(found["low"]), np.array(found["high"])), cell.kept
    elif name == "now":
        _, low, high = cell.found.overall
        each, kept = (cell.found.low, cell.found.high), cell.now.kept
    else:
        return {}
    carried = cell.shares > 0
    inside = (each[0] <= cell.rates) & (cell.rates <= each[1])
    return {
        "covered": bool(low <= cell.rate <= high),
        "width": high - low,
        "low": low,
        "high": high,
        "covered_per_label": float(inside[carried].mean()),
        "width_per_label": float((each[1] - each[0])[carried].mean()),
        "kept": int(kept.sum()),
        "precision": float(1 - cell.wrong[kept].mean()) if kept.any() else None,
    }
