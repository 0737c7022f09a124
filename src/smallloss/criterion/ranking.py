"""Ranks by score (Algorithm 1, lines 9-10), for as many examples as fit into memory."""

from typing import Any

import numpy as np

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
