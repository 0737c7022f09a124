"""Labels that the training on everything contradicts, though it saw them: what confident predictions leave open.

A training whose weights are averaged fits hard examples with right labels long before it fits wrong ones, so the labels
that it predicts otherwise at its end are mostly wrong, the hard examples' too. Before its end it has yet to come round
to many right ones, the more so in large steps. Two things can spoil that, and both show. A network that learns labels
by heart contradicts fewer of the hard examples than of the easy ones, though no noise is rarer where examples are
harder. One that is too weak contradicts what predictions out of sample contradict, and resolves nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smallloss.noise.estimate.counting import LATER, WIDE, Counts
from smallloss.noise.estimate.inputs import Codes, Vector, label_counts

RESOLVED = (0.55, 0.6)  # measured: small nets resolve .1 to .45 of class noise, human labels on CIFAR-10 are at .62
RESOLVED_SPREAD = 0.05  # how far that bound is from being sharp


@dataclass(frozen=True, eq=False)
class Contradicted:
    """count, of: contradicted labels and all, per label. unsettled: where out of sample and in sample disagree.

    by_heart: of the wrong labels, the share that was learnt by heart, taken from how far the examples fall behind the
    count among the confident; at_least: from how far the harder ones fall behind the easy ones alone, which no mistake
    of the network out of sample has a part in.
    resolved: of the disagreement out of sample that confident examples do not explain, the share that the training on
    everything no longer has. unfit: of the labels that predictions out of sample agree with, and which are right
    therefore, the share that it contradicts all the same. rise: by how much the contradicted share grows from the easy
    to the harder examples, as a share of the others.
    """

    count: Vector
    of: Vector
    unsettled: Vector
    by_heart: float
    at_least: float
    resolved: float
    resolved_error: float
    unfit: float
    rise: float
    rise_error: float

    @property
    def rate(self) -> Vector:
        """The share of contradicted labels; 0 for a label that nothing carries."""
        return self.count / np.maximum(self.of, 1)

    @property
    def weight(self) -> float:
        """From 0, the network is too weak to tell, to 1, believe it; in doubt it is believed."""
        return float(weight(self.resolved + self.resolved_error))


def weight(resolved: ArrayLike) -> NDArray[np.float64]:
    low, high = RESOLVED
    return np.clip((np.asarray(resolved) - low) / (high - low), 0.0, 1.0)


def contradictions(against: NDArray[np.bool_], labels: Codes, table: Counts) -> Contradicted:
    """m = P(prediction != label) in sample, d the same out of sample; between them a, the wrong share of the confident.

    resolved = (d - max(m, a)) / (d - a); by_heart = sum_b P(b) max(a - m_b, 0) / a over three bands b of confidence, a
    shortfall counted as far as it exceeds its standard error; at_least has m_0 in place of a.
    """
    c = table.labels.shape[1]
    disagrees = table.predicted != labels
    a, n = table.wrong_share(LATER)
    band = np.digitize(table.level, (LATER + 1, WIDE + 1))
    size = np.maximum(np.bincount(band, minlength=3), 1)
    share = np.bincount(band, weights=against, minlength=3) / size
    variance = np.maximum(share * (1 - share), 1 / size) / size
    of_confident = max(a * (1 - a), 1 / n) / n
    part = size / size.sum()
    excess, left = float(disagrees.mean()) - a, max(float(against.mean()) - a, 0.0)
    return Contradicted(
        count=label_counts(labels[against], c),
        of=label_counts(labels, c),
        unsettled=label_counts(labels[against != disagrees], c) / np.maximum(label_counts(labels, c), 1),
        by_heart=_fallen_behind(a, of_confident, share, variance, part),
        at_least=_fallen_behind(min(float(share[0]), a), float(variance[0]), share, variance, part),
        resolved=1 - left / excess if excess > 0 else 1.0,
        resolved_error=left / excess**2 * math.sqrt(of_confident) if excess > 0 else 0.0,
        unfit=float(against[~disagrees].mean()) if not disagrees.all() else 1.0,
        rise=float(share[1] - share[0]) / max(1 - float(share[0]), 1e-9),
        rise_error=math.sqrt(float(variance[:2].sum())) / max(1 - float(share[0]), 1e-9),
    )


def _fallen_behind(first: float, its_variance: float, share: Vector, variance: Vector, part: Vector) -> float:
    """sum_b P(b) max(first - m_b - standard error, 0) / first."""
    shortfall = np.maximum(first - share - np.sqrt(variance + its_variance), 0.0)
    return float(shortfall @ part) / first if first > 0 else 0.0
