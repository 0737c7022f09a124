"""The examples on a plane: neighbours among the features lie together, whatever they are labelled.

The layout of UMAP (McInnes, Healy, Melville 2018) with steps over all neighbours at once: deterministic, and seconds
where t-SNE takes minutes.
"""

import numpy as np

from smallloss.report.near import nearest

LAID_OUT = 5000  # the others lie in the middle of their nearest ones
NEIGHBOURS, NEAREST = 12, 3
_STEPS, _AWAY, _LONGEST = 150, 5, 4.0
_A, _B = 1.577, 0.895  # of 1 / (1 + a d^2b): how near is together
_SIDE = 1023


def places(features: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """[n, 2], whole numbers from 0 to 1023; of those that look wrong more are laid out than of others."""
    x = np.nan_to_num(np.asarray(features, np.float32))
    rng = np.random.default_rng(0)
    suspects, others = (rng.permutation(np.flatnonzero(some)) for some in (wrong, ~wrong))
    share = min(1.0, LAID_OUT / len(x))
    suspects = suspects[: max(round(share * len(suspects)), LAID_OUT // 2)]
    some = np.sort(np.concatenate([suspects, others[: LAID_OUT - len(suspects)]]))
    found = np.empty((len(x), 2))
    found[some] = _laid_out(x[some], rng)
    others = np.setdiff1d(np.arange(len(x)), some)
    if len(others):
        found[others] = found[some][nearest(x[others], x[some], NEAREST)].mean(1)
    low, high = found.min(0), found.max(0)
    return np.round(_SIDE * (found - low) / np.maximum((high - low).max(), 1e-12)).astype(np.int64)


def _laid_out(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y = _plane(x)
    if len(x) <= NEIGHBOURS:
        return y
    near = nearest(x, x, NEIGHBOURS, np.arange(len(x)))
    i, j = np.repeat(np.arange(len(x)), NEIGHBOURS), near.ravel()
    for step in range(_STEPS):
        rate = 1 - step / _STEPS
        moves = np.zeros_like(y)
        d = y[i] - y[j]
        square = np.maximum((d**2).sum(1), 1e-9)
        power = square**_B
        pull = -2 * _A * _B * power / (square * (1 + _A * power))
        pulled = np.clip(pull[:, None] * d, -_LONGEST, _LONGEST)
        for axis in (0, 1):
            moves[:, axis] += np.bincount(i, pulled[:, axis], len(y)) - np.bincount(j, pulled[:, axis], len(y))
        for _ in range(_AWAY):
            d = y - y[rng.permutation(len(y))]
            square = (d**2).sum(1)
            push = 2 * _B / ((0.001 + square) * (1 + _A * square**_B))
            moves += NEIGHBOURS * np.clip(push[:, None] * d, -_LONGEST, _LONGEST)
        y = y + 0.1 * rate * np.clip(moves, -10 * _LONGEST, 10 * _LONGEST)
    return y


def _plane(x: np.ndarray) -> np.ndarray:
    """Principal components, ten units wide, to begin with."""
    centred = np.asarray(x - x.mean(0), np.float64)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    y = centred @ vectors[:, ::-1][:, :2]
    y = np.pad(y, ((0, 0), (0, 2 - y.shape[1])))
    return np.asarray(10 * y / max(float(np.abs(y).max()), 1e-12))
