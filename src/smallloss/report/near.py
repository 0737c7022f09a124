"""Nearest neighbours among features, exactly: what stands beside a suspicion, and what lies together on the map."""

import numpy as np

_FLOATS = 1 << 22  # of distances at a time: they stay in the cache


def nearest(x: np.ndarray, among: np.ndarray, count: int, itself: np.ndarray | None = None) -> np.ndarray:
    """[len(x), up to count]: places in `among`, the nearest first; -1 where there is no other.

    itself: the place in `among` of each row of x, not to be found, or -1.
    """
    count = min(count, len(among))
    found = np.full((len(x), count), -1)
    # |a|^2 - 2 a x orders as the distance does; its smallest, so many times, takes far less than a sort.
    weights = np.column_stack([-2 * among, (among**2).sum(1)]).astype(np.float32).T
    size = max(1, _FLOATS // max(1, len(among)))
    for start in range(0, len(x), size):
        rows = x[start : start + size].astype(np.float32)
        apart = rows @ weights[:-1] + weights[-1]
        each = np.arange(len(rows))
        if itself is not None:
            own = itself[start : start + size]
            apart[each[own >= 0], own[own >= 0]] = np.inf
        for place in range(count):
            best = apart.argmin(1)
            found[start : start + size, place] = np.where(np.isfinite(apart[each, best]), best, -1)
            apart[each, best] = np.inf
    return found
