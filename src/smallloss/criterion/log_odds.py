"""Rates on the logit scale, where they may all be shifted by the same amount and stay rates."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

Vector = NDArray[np.float64]

EDGE = 1e-6  # a rate of 0 has no logit


def shifted_to(rate: Vector, weight: Vector, share: float) -> Vector:
    """η moved by the one δ with sum_k m_k expit(logit η_k + δ) = share of m, m the weights."""
    odds = logit(np.clip(rate, EDGE, 1 - EDGE))
    target = np.clip(share, EDGE, 1 - EDGE) * weight.sum()
    delta = brentq(lambda d: float(weight @ expit(odds + d)) - target, -40, 40)
    return expit(odds + delta)
