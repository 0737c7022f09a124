"""The usual estimators of noise rates, to be compared with ours; none of them moves it.

From out-of-sample probabilities and labels: the confident joint, anchor points and dual-T. From the score in sample:
mixtures of two components, label by label, of which the wrong ones are the bump of high loss: Gaussians as in DivideMix
(Li et al. 2020), betas as in Arazo et al. 2019.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

Codes = NDArray[np.int64]
Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

PERCENTILE = 97.0  # of anchor points, as both papers take it: the very surest example is often an outlier
CUT = (5.0, 95.0)  # percentiles: the tails of a loss are not the shape of its bump
EDGE = 1e-4
ROUNDS = 10
POOL = 100.0  # a label with this many examples believes its own fit and the pooled one equally
LEAST = 10  # fewer distinct examples have no two bumps
Weights = Callable[[Vector, Vector], Vector]  # (x, weight of each x) -> log density at x


def joint_noise_rate(Q: Matrix) -> Vector:
    """η_i = 1 - Q_ii / sum_j Q_ij; 0 for a label that nothing carries."""
    labelled = Q.sum(axis=1)
    return 1 - np.divide(Q.diagonal(), labelled, out=np.ones(len(Q)), where=labelled > 0)


def anchor(probabilities: Matrix, percentile: float = PERCENTILE) -> Matrix:
    """T[i] = g(x*), x* the example whose g_i is at the percentile: an anchor point of class i (Patrini et al. 2017)."""
    rank = round(percentile / 100 * (len(probabilities) - 1))
    x = np.argpartition(probabilities, rank, axis=0)[rank]
    T = probabilities[x]
    return T / T.sum(axis=1, keepdims=True)


def dual_t(probabilities: Matrix, labels: Codes, c: int, percentile: float = PERCENTILE) -> Matrix:
    """T = T♣ T♠, T♣ from anchor points, T♠[l, j] the share of label j among those predicted l (Yao et al. 2020).

    A class that is never predicted keeps its own label in T♠.
    """
    counts = np.bincount(probabilities.argmax(axis=1) * c + labels, minlength=c * c).reshape(c, c)
    predicted = counts.sum(axis=1, keepdims=True)
    spade = np.divide(counts, predicted, out=np.eye(c), where=predicted > 0)
    return anchor(probabilities, percentile) @ spade


def gaussian_mixture(score: Vector, labels: Codes, c: int) -> Vector:
    """η_k = weight of the high component of π_0 N(μ_0, σ_0^2) + π_1 N(μ_1, σ_1^2), fitted by EM (Li et al. 2020)."""
    return _per_label(score, labels, c, _log_gaussian)


def beta_mixture(score: Vector, labels: Codes, c: int) -> Vector:
    """η_k = weight of the high component of two betas, α = x̄(x̄(1 - x̄)/s^2 - 1), β = α(1 - x̄)/x̄ (Arazo et al. 2019)."""
    return _per_label(score, labels, c, _log_beta)


def _per_label(score: Vector, labels: Codes, c: int, density: Weights) -> Vector:
    """Each label's own fit, drawn towards that of all labels (each centred on its median) where it is small."""
    centred = np.empty(len(score))
    members = [np.flatnonzero(labels == k) for k in range(c)]
    for k in range(c):
        if members[k].size:
            centred[members[k]] = score[members[k]] - np.median(score[members[k]])
    pooled = _high_weight(centred, density)
    own = np.array([_high_weight(score[m], density) if m.size >= LEAST else pooled for m in members])
    n = np.array([m.size for m in members], dtype=np.float64)
    return (n * own + POOL * pooled) / (n + POOL)


def _high_weight(values: Vector, density: Weights) -> float:
    low, high = np.percentile(values, CUT)
    if not high - low > 1e-12 * max(1.0, abs(high)):
        return 0.0  # all alike: nothing stands apart
    x = np.clip((np.clip(values, low, high) - low) / (high - low), EDGE, 1 - EDGE)
    share = x  # the responsibility of the high component, to begin with
    for _ in range(ROUNDS):
        with np.errstate(divide="ignore"):
            upper = np.log(share.mean()) + density(x, share)
            lower = np.log1p(-share.mean()) + density(x, 1 - share)
        share = 1 / (1 + np.exp(np.clip(lower - upper, -500, 500)))
    weight = float(share.mean())
    if weight in (0.0, 1.0):
        return 0.0
    high_mean, low_mean = (share @ x) / share.sum(), ((1 - share) @ x) / (1 - share).sum()
    return min(weight if high_mean > low_mean else 1 - weight, 1 - EDGE)


def _moments(x: Vector, weight: Vector) -> tuple[float, float]:
    total = max(float(weight.sum()), 1e-12)
    mean = float(weight @ x) / total
    return mean, max(float(weight @ (x - mean) ** 2) / total, 1e-6)


def _log_gaussian(x: Vector, weight: Vector) -> Vector:
    mean, variance = _moments(x, weight)
    return -0.5 * ((x - mean) ** 2 / variance + np.log(variance))


def _log_beta(x: Vector, weight: Vector) -> Vector:
    mean, variance = _moments(x, weight)
    mean = min(max(mean, EDGE), 1 - EDGE)
    alpha = mean * max(mean * (1 - mean) / variance - 1, EDGE)
    beta = alpha * (1 - mean) / mean
    return (alpha - 1) * np.log(x) + (beta - 1) * np.log1p(-x) - betaln(alpha, beta)
