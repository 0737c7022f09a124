"""Counting labels among the confident: of the surest predictions of class i, the shares of labels are T[i, :].

The predictions are out of sample, so they were chosen without looking at the labels that are counted. When noise
depends on the class alone the shares hardly move with the share q of predictions taken, but for the network's own
mistakes; when it depends on the example, confident means easy and the wrong share climbs from the very first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smallloss.noise.estimate.inputs import Codes, Matrix, Vector, top_two

LEVELS = (0.1, 0.15, 0.2, 0.3, 0.9)  # the shares q
CONFIDENT = (0, 2, 3)  # the levels whose mean is believed when noise depends on the class alone
EARLY, LATER = 1, 3  # (0, .15] against (.15, .3]: before the network's own mistakes set in
WIDE = 4  # nearly all, short of the predictions that are mostly the network's mistakes
LEAST = 30  # predictions of a class that are always taken, as far as there are so many
PSEUDO = 5.0  # examples' worth of belief in the pooled row
LEAST_SPREAD = 0.02  # classes are never taken to be more alike than this
PRIOR_SPREAD = 0.25  # how far true class frequencies lie from label frequencies, relatively, before any evidence


@dataclass(frozen=True, eq=False)
class Counts:
    """labels[l, i, j]: label j among the level-l surest predictions of i; level: the first that holds an example.

    ahead: of the predictions of the same class, the share that is surer.
    """

    labels: NDArray[np.float64]
    predicted: Codes
    level: Codes
    ahead: Vector

    @property
    def confident(self) -> Codes:
        """The members of the level .2."""
        return np.flatnonzero(self.level <= CONFIDENT[1])

    def wrong_share(self, level: int) -> tuple[float, float]:
        """How many of the labels differ from the prediction, up to a level; and of how many."""
        total = float(self.labels[level].sum())
        return 1 - float(np.trace(self.labels[level])) / total, total


def count(probabilities: Matrix, labels: Codes, c: int, margin: Vector | None = None) -> Counts:
    """N[l, i, j] = #{predicted i, among the share q_l with the widest margin, label j}; ties stand together.

    `margin` by default is that of the probabilities; that of the logits does not saturate.
    """
    predicted, lead = top_two(probabilities)
    ahead, size = _ahead(predicted, lead if margin is None else margin, c)
    cut = np.maximum(np.multiply.outer(LEVELS, size), LEAST)
    level = np.zeros(len(labels), dtype=np.int64)
    for row in cut:
        level += ahead >= row[predicted]
    cells = (level * c + predicted) * c + labels
    table = np.bincount(cells, minlength=(len(LEVELS) + 1) * c * c).reshape(-1, c, c)[:-1]
    return Counts(table.cumsum(axis=0).astype(np.float64), predicted, level, ahead / size[predicted])


def posterior(counts: Matrix, frequencies: Vector) -> Matrix:
    """Dirichlet parameters of each row of T: its counts, a few pooled ones, and its diagonal drawn to the others'.

    The diagonals are beta-binomial across classes: with the between-class variance τ^2 left after sampling error, a
    row leans on the pooled share a with the weight of a (1 - a) / τ^2 - 1 examples (empirical Bayes). Its off-diagonal
    entries keep their own proportions.
    """
    agreed = (np.trace(counts) + 1) / (counts.sum() + 2)
    rows = counts + _pooled(agreed, frequencies)
    size = rows.sum(axis=1)
    own = rows.diagonal() / size
    weight = max(agreed * (1 - agreed) / _between(own, agreed, size) - 1, 0.0)
    drawn = (size * own + weight * agreed) / (size + weight)
    scaled = rows * ((1 - drawn) / (1 - own))[:, None]
    np.fill_diagonal(scaled, drawn * size)
    return scaled * (1 + weight / size)[:, None]


def confident_rows(table: Counts, frequencies: Vector) -> Matrix:
    """T[i, j] = share of label j among the q surest predictions of i, the mean over q = .1, .2, .3 (measured)."""
    return np.mean([level_rows(table, level, frequencies) for level in CONFIDENT], axis=0)


def level_rows(table: Counts, level: int, frequencies: Vector) -> Matrix:
    rows = posterior(table.labels[level], frequencies)
    return rows / rows.sum(axis=1, keepdims=True)


def prior(T: Matrix, frequencies: Vector, counted: float, centre: Vector | None = None) -> Vector:
    """p that makes ||T^t p - q||^2 + λ ||p - centre||^2 least, q the label frequencies, λ = c / (m ρ^2).

    Least squares alone multiplies the sampling error of T by its condition number. λ is the ratio of that error's
    variance, about 1 / (m c) when m examples were `counted` for T, to the variance (ρ / c)^2 of what is believed of p
    beforehand: near the label frequencies, with the spread ρ. It vanishes as m grows. T may be a stack of matrices.
    """
    c = len(frequencies)
    ridge = c / (counted * PRIOR_SPREAD**2)
    centre = frequencies if centre is None else centre
    right = T @ frequencies + ridge * centre
    p = np.linalg.solve(T @ T.swapaxes(-1, -2) + ridge * np.eye(c), right[..., None])[..., 0]
    p = np.maximum(p, 0.0)
    return p / p.sum(axis=-1, keepdims=True)


def bridge(T: Matrix, p: Vector) -> Vector:
    """η_k = 1 - p_k T_kk / sum_i p_i T_ik (Bayes' rule); 0 for a label that nothing carries. T may be a stack.

    Apart from `transition.noise_rate`, which makes c^2 products of each matrix, too many of hundreds of them; and
    truncated quotas hang on the last bit of that one.
    """
    right = p * np.diagonal(T, axis1=-2, axis2=-1)
    labelled = (p[..., None, :] @ T)[..., 0, :]
    return 1 - np.divide(right, labelled, out=np.ones_like(right), where=labelled > 0)


def _pooled(agreed: float, frequencies: Vector) -> Matrix:
    """PSEUDO examples a row: the pooled share of labels that agree, the rest spread as the labels are."""
    off = np.tile(frequencies + 1e-9, (len(frequencies), 1))
    np.fill_diagonal(off, 0.0)
    rows = (1 - agreed) * off / off.sum(axis=1, keepdims=True)
    np.fill_diagonal(rows, agreed)
    return PSEUDO * rows


def _between(own: Vector, agreed: float, size: Vector) -> float:
    """τ^2 by moments, never below LEAST_SPREAD^2."""
    seen = size > LEAST
    if seen.sum() < 2:
        return agreed * (1 - agreed)  # nothing to learn from: every row stands alone
    sampling = float(np.mean(agreed * (1 - agreed) / size[seen]))
    return max(float(own[seen].var(ddof=1)) - sampling, 0.0) + LEAST_SPREAD**2


def _ahead(predicted: Codes, margin: Vector, c: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many predictions of the same class have a strictly wider margin; and how many there are of each class."""
    order = np.lexsort((-margin, predicted))
    size = np.bincount(predicted, minlength=c)
    first = np.concatenate([[True], (np.diff(margin[order]) != 0) | (np.diff(predicted[order]) != 0)])
    start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    begin = np.cumsum(size) - size
    ahead = np.empty(len(order), dtype=np.int64)
    ahead[order] = start - begin[predicted[order]]
    return ahead, size
