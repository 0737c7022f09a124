"""Ranks by score (Algorithm 1, lines 9-10), for as many examples as fit into memory."""

import numpy as np


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
