"""Neighbours: what lies nearest among the features of a run."""

import numpy as np

_FLOATS = 1 << 24  # of distances at a time


def nearest(x: np.ndarray, among: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each row of x the nearest `among` others and how far they are, the nearest first: both [n, count], or as many
    as there are."""
    squares, size = (among**2).sum(1), max(1, _FLOATS // len(among))
    places, far = [], []
    for start in range(0, len(x), size):
        some = x[start : start + size]
        apart = squares - 2 * (some @ among.T)
        part = np.sort(np.argpartition(apart, min(count, len(among) - 1), axis=1)[:, :count], axis=1)
        there = np.take_along_axis(apart, part, 1)
        order = there.argsort(1, kind="stable")  # of equally near ones the first
        places.append(np.take_along_axis(part, order, 1))
        far.append(np.sqrt(np.maximum(np.take_along_axis(there, order, 1) + (some**2).sum(1)[:, None], 0)))
    return np.concatenate(places), np.concatenate(far)
