"""Is the network able to tell its own mistakes from wrong labels? Where it is not, both are counted as noise.

Under noise of the class alone the surest predictions agree with as many labels as T has on its diagonal, and of that
all predictions keep the share that the network gets right. An able one keeps most of it, and agrees with no more labels
where it is surer still. One that is too weak keeps little and agrees with ever more, so that even its surest are
partly its own mistakes. Noise that falls on hard examples looks much alike: then neither is ruled out.
"""

import math
from dataclasses import dataclass

import numpy as np

from smallloss.noise.estimate.contradiction import Contradicted
from smallloss.noise.estimate.counting import Counts
from smallloss.noise.estimate.dependence import SHIFT, Slope
from smallloss.noise.estimate.inputs import Codes, label_counts

SUREST = 0.15  # of the predictions of a class: fewer are too few to count, more hold mistakes of a weak network
DOUBTED = (0.87, 0.79)  # measured: of the agreement networks of 85 % accuracy keep more than the first, of 72 % .8
WEAK = (0.79, 0.74)  # measured: networks of 78 % keep .82, those of 35 to 65 % keep .6 to .72
FLAT = 0.05  # measured: the climb of an able network stays below, that of the weak ones is .07 to .21
BLIND, ERRORS = 0.05, 3  # the surest agree with no more labels than chance, but for this and for so many errors
LEARNT = 0.05  # measured: of the wrong labels an able network learns at most .03 by heart, few examples .05 to .7
FEW = 0.02  # standard error of the agreement of the surest, about that of 3,000 examples
UNFIT = 0.05  # measured: small nets on few photos contradict .04 to .23 of what is right, able ones at most .015
SAID = 0.25  # the doubt from which on it is said; from twice that on, no label need be wrong


@dataclass(frozen=True)
class Ability:
    """surest, overall: shares of labels that the surest predictions, and all, agree with; error: of the first.

    chance: what the surest would agree with, were they dealt out among the labels blindly. resolved: how far the
    training on everything is believed; learnt: whether it knows labels by heart. climbs: whether agreement may still
    grow among the surest; follows: whether labels differ from predictions as these expect it, as the network's own
    mistakes do. unfit: the share of right labels that the training on everything contradicts (0 where nobody looked);
    fits: from 0 to 1, whether it fits even wrong labels, and hard ones more than easy ones.
    """

    surest: float
    overall: float
    error: float
    chance: float
    resolved: float
    learnt: bool
    climbs: bool
    follows: bool
    unfit: float
    fits: float

    @property
    def kept(self) -> float:
        """The share of the agreement that all predictions keep, less a standard error; 0 where there is but chance."""
        if self.surest - self.chance <= max(BLIND, ERRORS * self.error):
            return 0.0
        return self.overall / self.surest * (1 - self.error / self.surest)

    @property
    def weak(self) -> float:
        """From 0 to 1: so little is kept, with a climb, that even the surest predictions are partly mistakes."""
        return _below(self.kept, WEAK) if self.climbs else 0.0

    @property
    def unsure(self) -> float:
        """From 0 to 1: so little is kept that even the count among the confident may hold mistakes of the network."""
        return _below(self.kept, DOUBTED)

    @property
    def doubt(self) -> float:
        """From 0 to 1: how far the rates may be the network's own mistakes.

        A training that resolves its mistakes takes the doubt away, except from a weak network that learnt labels by
        heart, or whose own mistakes they look like, or where there are too few examples to see either. What is known
        by chance alone is always doubted.
        """
        if self.kept == 0:
            return 1.0
        spoilt = self.weak if self.learnt or self.follows or self.error > FEW else 0.0
        return self.unsure * (1 - self.resolved * (1 - spoilt))

    @property
    def pull(self) -> float:
        """How far the low end of a rate goes down towards 0."""
        return min(max(self.doubt / SAID - 1, 0.0), 1.0)

    @property
    def believed(self) -> float:
        """The share of the counted rates that is believed: all, or down to half where they are doubted.

        A training that contradicts labels which are right cannot tell wrong ones either. The truth then lies anywhere
        between no wrong label and all that were counted, and the middle is the safest guess. But where harder examples
        are contradicted less often than easy ones, even wrong labels were learnt, and hardly a right one was missed:
        what is contradicted then, though predictions out of sample agree with it, is noise that they learnt too.
        """
        return 1 - self.pull * (1 - self.fits) * min(self.unfit / UNFIT, 1.0) / 2

    @property
    def misled(self) -> float:
        """How far the climb is the network's own, so that what is counted among the less sure is believed the less."""
        return self.weak if self.follows else 0.0

    @property
    def is_misled(self) -> bool:
        return self.misled > 0.5

    @property
    def doubted(self) -> bool:
        return self.doubt > SAID


def ability(table: Counts, labels: Codes, found: Slope, against: Contradicted | None) -> Ability:
    """kept = P(prediction = label) / P(prediction = label | among the surest SUREST of its class)."""
    agrees, c = table.predicted == labels, table.labels.shape[1]
    first = table.ahead < SUREST
    surest, n = float(agrees[first].mean()), int(first.sum())
    return Ability(
        surest=surest,
        overall=float(agrees.mean()),
        error=math.sqrt(max(surest * (1 - surest), 1 / (n + 2)) / n),
        chance=float(label_counts(table.predicted[first], c) @ label_counts(labels, c)) / (n * len(labels)),
        resolved=0.0 if against is None else against.weight,
        learnt=against is not None and against.by_heart > LEARNT,
        climbs=max(found.climb, 0.0) + found.climb_error > FLAT,
        follows=found.shift > SHIFT,
        unfit=0.0 if against is None else against.unfit,
        fits=0.0 if against is None else min(against.at_least / LEARNT, 1.0),
    )


def _below(value: float, bounds: tuple[float, float]) -> float:
    """0 from the first bound upwards, 1 from the second downwards."""
    high, low = bounds
    return float(np.clip((high - value) / (high - low), 0.0, 1.0))
