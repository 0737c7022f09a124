"""A hand-checked sample: of each label, how many were found wrong (exact binomial intervals)."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, logit

from smallloss.criterion.estimate.inputs import Codes, Vector

OWN = 20  # answers from which a label's rate is its own; below, all labels move together
EDGE = 1e-6


class Interval(NamedTuple):
    low: Vector
    high: Vector


def clopper_pearson(wrong: Vector, answers: Vector, level: float) -> Interval:
    """Clopper-Pearson: the rates at which k or more, k or fewer of m wrong have probability (1 - level) / 2."""
    tail = (1 - level) / 2
    right = answers - wrong
    low = np.where(wrong > 0, betaincinv(np.maximum(wrong, EDGE), right + 1, tail), 0.0)
    high = np.where(right > 0, betaincinv(wrong + 1, np.maximum(right, EDGE), 1 - tail), 1.0)
    return Interval(low, high)


def answers_per_label(labels: Codes, right: np.ndarray, c: int) -> tuple[Vector, Vector]:
    """Wrong answers and all answers, per label."""
    asked = np.bincount(labels, minlength=c).astype(np.float64)
    return asked - np.bincount(labels[right], minlength=c), asked


def audited_draws(draws: Vector, wrong: Vector, answers: Vector, rng: np.random.Generator) -> Vector:
    """Draws of η after the audit: exact for labels with OWN answers, all others by one common shift on the logit.

    A draw of an exact rate is from Beta(k, m - k + 1) or Beta(k + 1, m - k), the two ends of Clopper-Pearson. The
    common shift of a draw makes the expected number of wrong answers equal to one drawn in the same way.
    """
    shares = _exact(wrong.sum(keepdims=True), answers.sum(keepdims=True), len(draws), rng)[:, 0]
    shifted = np.array([shifted_to(eta, answers, share) for eta, share in zip(draws, shares, strict=True)])
    own = answers >= OWN
    shifted[:, own] = _exact(wrong[own], answers[own], len(draws), rng)
    return shifted


def _exact(wrong: Vector, answers: Vector, size: int, rng: np.random.Generator) -> Vector:
    upper = rng.integers(0, 2, (size, len(wrong)))
    return rng.beta(np.maximum(wrong + upper, EDGE), np.maximum(answers - wrong + 1 - upper, EDGE))


def shifted_to(eta: Vector, weight: Vector, share: float) -> Vector:
    """η moved by the one δ with sum_k m_k expit(logit η_k + δ) = share of m, m the weights."""
    at = logit(np.clip(eta, EDGE, 1 - EDGE))
    target = np.clip(share, EDGE, 1 - EDGE) * weight.sum()
    delta = brentq(lambda d: float(weight @ expit(at + d)) - target, -40, 40)
    return expit(at + delta)
