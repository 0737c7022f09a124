"""Where a benchmark knows the true labels: how far the selection and the flags agree with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import NamedTuple

import numpy as np

from smallloss.criterion.selection import precision_recall
from smallloss.data.dataset import Dataset
from smallloss.report.result import Part


@dataclass(frozen=True)
class Agreement:
    """Precision and recall over some examples; None where there is nothing to divide by."""

    wrong: int  # labels that differ from the true one
    kept_precision: float | None  # right labels among the kept
    kept_recall: float | None  # kept ones among the right labels
    issue_precision: float | None  # wrong labels among those called likely wrong
    issue_recall: float | None  # called likely wrong among the wrong labels


def right_labels(dataset: Dataset, part: Part) -> np.ndarray | None:
    """Which labels of the part are right; None where nobody knows."""
    if dataset.true_labels is None:
        return None
    return dataset.labels[part.index] == dataset.true_labels[part.index]


class Fates(NamedTuple):
    """Masks over the same examples."""

    kept: np.ndarray
    issue: np.ndarray
    corrected: np.ndarray  # found wrong by hand: no longer likely wrong
    seen: np.ndarray
    right: np.ndarray | None  # None where nobody knows

    def of(self, members: np.ndarray) -> "Fates":
        return Fates(*(None if mask is None else mask[members] for mask in self))  # type: ignore[arg-type]


def fates_of(dataset: Dataset, parts: list[Part], pins: Mapping[int, int]) -> Fates:
    """What became of the examples of the parts, one part after the other."""
    chosen = [part.selection for part in parts]
    found = [row for row, true in pins.items() if true != dataset.labels[row]]
    corrected = np.isin(np.concatenate([part.index for part in parts]), found)
    right = [one for part in parts if (one := right_labels(dataset, part)) is not None]
    return Fates(
        np.concatenate([one.mask for one in chosen]),
        np.concatenate([one.is_label_issue for one in chosen]) & ~corrected,
        corrected,
        np.concatenate([one.rank_in_class > 0 for one in chosen]),
        np.concatenate(right) if right else None,
    )


def agreement(kept: np.ndarray, issue: np.ndarray, right: np.ndarray) -> Agreement:
    """Of masks over the same examples: a right label is the positive for the kept, a wrong one for the flags."""
    return Agreement(int((~right).sum()), *_shares(kept, right), *_shares(issue, ~right))


def _shares(chosen: np.ndarray, positive: np.ndarray) -> tuple[float | None, float | None]:
    precision, recall = (None if isnan(share) else share for share in precision_recall(chosen, positive))
    return precision, recall
