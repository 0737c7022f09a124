"""Does the noise depend on the class alone, or on the example? Two signs, both among confident predictions."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smallloss.noise.estimate.counting import EARLY, LATER, Counts
from smallloss.noise.estimate.inputs import Codes, Matrix

CLIMB = (0.02, 0.035)  # measured: noise of the class alone stays below the first, noise of hard examples beyond both
BLUNT = 0.02  # a standard error above this settles nothing
FOLLOWS, SHIFT = 0.65, 0.045  # measured: beyond both, labels follow the predictions as noise of the example makes them


@dataclass(frozen=True)
class Slope:
    """climb: by how much the wrong share grows in q, as a share of the right ones, and its standard error.

    follows: the regression slope of the labels on the probabilities within a class (0: not at all; 1: in full), its
    standard error, and shift: how much the labels' chances typically move with it.
    """

    climb: float
    climb_error: float
    follows: float
    follows_error: float
    shift: float
    rise: float = 0.0  # of the labels contradicted in sample, beyond the confident, where that is believed
    rise_error: float = 0.0

    @property
    def blend(self) -> float:
        """From 0, count among the confident alone, to 1, count among nearly all."""
        return float(blend(self.climb - self.climb_error))

    @property
    def depends_on_example(self) -> bool | None:
        if self.climb_error > BLUNT:
            return None
        return self.blend > 0.5 or self.followed or self.risen

    @property
    def risen(self) -> bool:
        """Whether the training on everything finds more wrong labels among the harder examples."""
        return self.rise - 2 * self.rise_error > CLIMB[1]

    @property
    def followed(self) -> bool:
        """Whether labels follow the probabilities even among the confident."""
        return self.follows - 2 * self.follows_error > FOLLOWS and self.shift > SHIFT


def blend(climb: ArrayLike) -> NDArray[np.float64]:
    """How far a climb that is surely this large lies between the two bounds of CLIMB, cut to [0, 1]."""
    low, high = CLIMB
    return np.clip((np.asarray(climb) - low) / (high - low), 0.0, 1.0)


def slope(probabilities: Matrix, labels: Codes, c: int, table: Counts) -> Slope:
    """climb = (w(.15, .3] - w(0, .15]) / (1 - w(0, .15]), w the wrong share among predictions of that confidence.

    Noise of the class alone is equal in both, but for the network's mistakes, which come later (measured).
    """
    early, n = table.wrong_share(EARLY)
    both, m = table.wrong_share(LATER)
    if m <= n or early >= 1:
        return Slope(0.0, math.inf, 0.0, math.inf, 0.0)
    later = (both * m - early * n) / (m - n)
    error = math.sqrt(_variance(early, n) + _variance(later, m - n)) / (1 - early)
    return Slope((later - early) / (1 - early), error, *_following(probabilities, labels, c, table))


def _following(P: Matrix, labels: Codes, c: int, table: Counts) -> tuple[float, float, float]:
    """b = sum (g - ḡ)·(y - ȳ) / sum |g - ḡ|^2 over the confident, means taken per predicted class.

    Under class-conditional noise labels are independent of the example given the class, so b = 0 where predictions
    are pure.
    """
    chosen = table.confident
    i, G = table.predicted[chosen], P[chosen]
    size = np.maximum(np.bincount(i, minlength=c), 1)[:, None]
    mean = np.zeros((c, c))
    np.add.at(mean, i, G)
    shares = np.bincount(i * c + labels[chosen], minlength=c * c).reshape(c, c) / size
    G = G - (mean / size)[i]
    together = G[np.arange(len(i)), labels[chosen]] - np.einsum("nj,nj->n", G, shares[i])
    own = float((G**2).sum())
    if own <= 1e-12 * len(i):
        return 0.0, math.inf, 0.0
    error = float(together.std()) * math.sqrt(len(i)) / own
    return float(together.sum()) / own, error, math.sqrt(max(float(together.mean()), 0.0))


def _variance(share: float, n: float) -> float:
    return max(share * (1 - share), 1 / (n + 2)) / n
