"""Agreement with the labels of a held-out half (Chen et al. 2019, INCV)."""

import math

from smallloss.criterion.estimate.inputs import Codes, Matrix


def agreement(probabilities: Matrix, labels: Codes, c: int) -> float:
    """The overall ε that solves (1 - ε)^2 + ε^2 / (c - 1) = a, a the share of labels equal to the prediction.

    The smaller root: labels are more often right than not. Where a is below its least value 1 / c, ε = (c - 1) / c.
    It supposes uniform noise, and a network that has learned the noise itself.
    """
    a = float((probabilities.argmax(axis=1) == labels).mean())
    return (c - 1) / c * (1 - math.sqrt(max(0.0, 1 - c * (1 - a) / (c - 1))))
