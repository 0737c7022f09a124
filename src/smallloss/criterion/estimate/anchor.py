"""Anchor points (Patrini et al. 2017) and dual-T (Yao et al. 2020)."""

import numpy as np

from smallloss.criterion.estimate.inputs import Codes, Matrix

PERCENTILE = 97.0


def anchor(probabilities: Matrix, percentile: float = PERCENTILE) -> Matrix:
    """T[i] = g(x*), x* the example whose g_i is at the percentile: an anchor point of class i (Patrini et al. 2017)."""
    rank = round(percentile / 100 * (len(probabilities) - 1))
    x = np.argpartition(probabilities, rank, axis=0)[rank]
    T = probabilities[x]
    return T / T.sum(axis=1, keepdims=True)


def dual_t(probabilities: Matrix, labels: Codes, c: int, percentile: float = PERCENTILE) -> Matrix:
    """T = T♣ T♠, T♣ from anchor points, T♠[l, j] the share of label j among the examples predicted l.

    A class that is never predicted keeps its own label in T♠.
    """
    counts = np.bincount(probabilities.argmax(axis=1) * c + labels, minlength=c * c).reshape(c, c)
    predicted = counts.sum(axis=1, keepdims=True)
    spade = np.divide(counts, predicted, out=np.eye(c), where=predicted > 0)
    return anchor(probabilities, percentile) @ spade
