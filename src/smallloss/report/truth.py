"""Where a benchmark knows the true labels: how far the selection and the flags agree with them."""

from dataclasses import dataclass
from math import isnan

import numpy as np

from smallloss.criterion.selection import Selection, precision_recall
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
    trusted_precision: float | None  # right labels among the (1 - eta_k) n_k that are not called likely wrong


def right_labels(dataset: Dataset, part: Part) -> np.ndarray | None:
    """Which labels of the part are right; None where nobody knows."""
    if dataset.true_labels is None:
        return None
    return dataset.labels[part.index] == dataset.true_labels[part.index]


def agreement(selection: Selection, is_right: np.ndarray, members: np.ndarray | slice) -> Agreement:
    """Over the `members`: a right label is the positive for the kept, a wrong one for the flags."""
    right, issue = is_right[members], selection.is_label_issue[members]
    trusted = (selection.rank_in_class[members] > 0) & ~issue
    return Agreement(
        int((~right).sum()),
        *_shares(selection.mask[members], right),
        *_shares(issue, ~right),
        trusted_precision=_shares(trusted, right)[0],
    )


def _shares(chosen: np.ndarray, positive: np.ndarray) -> tuple[float | None, float | None]:
    precision, recall = (None if isnan(share) else share for share in precision_recall(chosen, positive))
    return precision, recall
