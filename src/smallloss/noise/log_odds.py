"""Rates on the logit scale, where they may all be shifted by the same amount and stay rates."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

Vector = NDArray[np.float64]

EDGE = 1e-6  # a rate of 0 has no logit
FARTHEST = 40  # half an example in 10^9 and a rate of 1 - EDGE are 35 apart


def common_shift(odds: Vector, weight: Vector, share: float) -> float:
    """The one δ with sum_k m_k expit(o_k + δ) = share of m, o the log odds of the rates and m their weights."""
    target = np.clip(share, EDGE, 1 - EDGE) * weight.sum()
    return float(brentq(lambda delta: float(weight @ expit(odds + delta)) - target, -FARTHEST, FARTHEST))


def shifted_to(rate: Vector, weight: Vector, share: float) -> Vector:
    """η moved by the common shift with which their weighted mean is `share`."""
    odds = logit(np.clip(rate, EDGE, 1 - EDGE))
    return expit(odds + common_shift(odds, weight, share))
