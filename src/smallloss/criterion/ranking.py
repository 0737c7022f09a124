"""Ranks by score (Algorithm 1, lines 9-10), for as many examples as fit into memory, and what follows from them."""

from typing import Any

import numpy as np

from smallloss.criterion.labels import CHUNK
from smallloss.errors import InputError
from smallloss.knobs import to_numpy


def rank_class_by_class(score: np.ndarray, class_index: np.ndarray, labelled: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Rank the examples of each class by score (Algorithm 1, lines 9-10): from 1, ties by index, NaN gets 0.

    `labelled` counts the examples of each class, `n` those that have a score. Grouping is one stable sort of
    small integers (a radix sort), then every class is sorted on its own, in the cache.
    """
    rank = np.zeros(len(score), np.int32)
    grouped = np.argsort(class_index, kind="stable")
    for stop, size, seen in zip(np.cumsum(labelled), labelled, n, strict=True):
        members = grouped[stop - size : stop]
        order = stable_argsort(score[members])[:seen]
        rank[members[order]] = np.arange(1, seen + 1, dtype=np.int32)
    return rank


def stable_argsort(values: np.ndarray) -> np.ndarray:
    """A stable argsort: numpy's fast one, then equal values put in order of their index."""
    order = np.argsort(values)
    ordered = values[order]
    rises = ordered[1:] != ordered[:-1]
    if not rises.all():
        run = np.append(0, np.cumsum(rises)) * len(values)
        order += run
        order.sort()
        order -= run
    return order


def check_scores(score: np.ndarray, class_index: np.ndarray, kappa: float, weight_max: str) -> None:
    """One finite or missing score for each label, and options that exist."""
    if score.shape != class_index.shape:
        hint = " Take the mean over the epochs first." if score.ndim == 2 else ""
        raise InputError(f"score has shape {score.shape}, but there are {len(class_index):,} labels.{hint}")
    infinite = np.isinf(score)
    if infinite.any():
        raise InputError(f"The score of index {infinite.argmax()} is infinite: a missing one is NaN.")
    if not 0 <= kappa < np.inf:
        raise InputError(f"kappa is {kappa!r}: it must be finite and at least 0 (equal weights).")
    if weight_max not in ("selected", "class"):
        raise InputError(f'weight_max is {weight_max!r}: use "selected" or "class".')


def known_last(
    score: np.ndarray, class_index: np.ndarray, known_wrong: Any, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scores to rank by, the labels found wrong beyond all others of their class, and their share of its n."""
    least = np.zeros(len(n))
    if known_wrong is None:
        return score, least
    score = score.copy()
    wrong = to_numpy(known_wrong)
    if wrong.shape != score.shape or wrong.dtype != bool:
        raise InputError(f"known_wrong is {wrong.dtype} of shape {wrong.shape}: give true or false for each label.")
    seen = ~np.isnan(score)
    for k in np.unique(class_index[wrong & seen]):
        found = wrong & seen & (class_index == k)
        score[found] = np.nextafter(score[seen & (class_index == k)].max(), np.inf)
        least[k] = np.count_nonzero(found) / n[k]
    return score, np.minimum(least, np.nextafter(1.0, 0.0))


def weights(
    score: np.ndarray, selected: np.ndarray, class_index: np.ndarray, lowest: np.ndarray, highest: np.ndarray,
    kappa: float,
) -> np.ndarray:  # fmt: skip
    """w = exp(-kappa (l - l_min(i)) / (l_max(i) - l_min(i))) for the selected, 0 for the others (Section 4).

    A class whose losses are all equal has weight 1: none of its examples is worse than another.
    """
    spread = highest - lowest
    slope = np.divide(-kappa, spread, out=np.zeros(len(spread)), where=spread > 0)
    weight = np.zeros(len(score), np.float32)
    for start in range(0, len(score), CHUNK):
        chunk = slice(start, start + CHUNK)
        kept = np.flatnonzero(selected[chunk])
        k = class_index[chunk][kept]
        weight[chunk][kept] = np.exp(slope[k] * (score[chunk][kept] - lowest[k]))
    return weight


def label_scores(rank: np.ndarray, class_index: np.ndarray, n: np.ndarray, trusted: np.ndarray) -> np.ndarray:
    """1 / (1 + exp((u - q) / w)), u = (rank - 1/2) / n_k: the chance that the label is right, by rank alone.

    q = trusted_k / n_k is the cut-off of is_label_issue: the curve is 1/2 there, and below it exactly for the
    examples that are likely wrong. The width w = max(min(q, 1 - q) / 4, 0.05) keeps the mean over the class
    near q = 1 - eta_k (within 0.007 for q in [.1, .9], within 0.035 at the ends), and is wide enough that no
    two ranks tie in float64. NaN where rank is 0.
    """
    size = np.maximum(n, 1)
    q = trusted / size
    width = np.maximum(np.minimum(q, 1 - q) / 4, 0.05)
    score = np.full(len(rank), np.nan)
    for start in range(0, len(rank), CHUNK):
        chunk = slice(start, start + CHUNK)
        seen = np.flatnonzero(rank[chunk])
        k = class_index[chunk][seen]
        u = (rank[chunk][seen] - 0.5) / size[k]
        score[chunk][seen] = 1 / (1 + np.exp((u - q[k]) / width[k]))
    return score
