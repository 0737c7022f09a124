"""Noise rates after answers: rate_k = (wrong found + unanswered_k θ_k) / n_k, with θ_k a Beta from answers at random.

Answers were drawn from streams, what is kept and what is not, and speak for the unanswered of their own stream alone.
Whatever else was answered is counted one by one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, logit

from smallloss.criterion.selection import SAFETY_LEVEL
from smallloss.noise.answers import UNSURE, Interval
from smallloss.noise.model import NoiseModel

Codes = NDArray[np.int64]
Vector = NDArray[np.float64]
Table = NDArray[np.float64]  # [stream, class]

LEVEL = 0.9  # of the intervals of noise rates
WORTH = 10  # answers: what is known of a label beforehand, from the estimate or from all labels together
STREAMS = KEPT, OTHERS = 0, 1
_EDGE = 1e-4  # a rate of 0 has no log odds
CONTRADICTED = "The answers contradict the noise rates that the run used."  # the rate of all is outside their interval


def rates_from(
    labels: Codes, answers: Mapping[int, int], sampled: Collection[int], stream: NDArray[np.integer], before: Vector,
    estimate: NoiseModel | None = None,
) -> NoiseModel:  # fmt: skip
    """Rates with intervals of LEVEL. answers: row -> true class, NONE or UNSURE; sampled: which were drawn at random.
    Without any of these the rates are what they were, as far as what was found allows.

    stream: of each row KEPT, OTHERS or -1, where no draw speaks for it; such rows and UNSURE ones may be wrong or not.
    before: what was known of each class, with the intervals of `estimate`, if that is where it is from.
    """
    said = _Said.of(labels, answers, sampled, stream, len(before))
    if not said.asked.any():
        return _as_it_was(said, before, estimate)
    expected = _expected(before, said.size)
    asked = said.asked.sum(1)
    guess = (expected * said.size).sum(1) / np.maximum(said.size.sum(1), 1)  # of a stream of which nobody was asked
    wrong = np.where(asked > 0, said.wrong.sum(1), WORTH * guess)[:, None]
    least, worth = np.where(asked > 0, said.wrong.sum(1), 0)[:, None], np.where(asked > 0, asked, WORTH)[:, None]
    overall = said.together.shares(wrong, worth, least)[:, 0]
    alone = said.nothing_found.together.shares(wrong, worth, least)[:, 0]
    known = said.size.sum(0) @ before / max(said.size.sum(), 1)
    contradicted = bool(asked.all() and not alone[1] <= known <= alone[2])
    prior = WORTH * _moved(expected, said, contradicted)
    rate, *ends = said.shares(prior + said.wrong, WORTH + said.asked, prior + said.wrong)
    low, high, upper = (np.clip(end, 0.0, np.nextafter(1.0, 0.0)) for end in ends)
    rate = np.minimum(rate, np.nextafter(1.0, 0.0))
    return NoiseModel(
        noise_rate=rate, low=np.minimum(low, rate), high=np.maximum(high, rate), upper=np.maximum(upper, rate),
        overall=Interval(*overall[:3].tolist()), sampled=int(asked.sum()), notes=(CONTRADICTED,) * contradicted,
        level=LEVEL, source="audited",
    )  # fmt: skip


def _as_it_was(said: "_Said", before: Vector, estimate: NoiseModel | None) -> NoiseModel:
    """Nobody was asked at random: what was found bounds what was known, and moves nothing else."""
    known, least, share = estimate or NoiseModel(), said.found / said.n, said.n / said.n.sum()
    most = np.maximum(1 - said.right / said.n, least)
    ends = [before if end is None else end for end in (known.low, known.high, known.upper)]
    rate, low, high, upper = (np.clip(end, least, most).clip(0, np.nextafter(1.0, 0.0)) for end in (before, *ends))
    _, *overall = known.overall or [share @ before] * 3
    value, (first, last) = float(share @ rate), np.clip(overall, share @ least, share @ most).tolist()
    return NoiseModel(
        noise_rate=rate, low=np.minimum(low, rate), high=np.maximum(high, rate), upper=np.maximum(upper, rate),
        overall=Interval(value, min(first, value), max(last, value)), level=LEVEL, source="audited",
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Said:
    """What was answered, in numbers per class, and what is left in each stream."""

    n: Vector
    found: Vector  # wrong
    right: Vector
    either: Vector  # may be wrong or not
    size: Table
    left: Table  # unanswered
    asked: Table  # at random, and decided
    wrong: Table  # of these

    @classmethod
    def of(
        cls, labels: Codes, answers: Mapping[int, int], sampled: Collection[int], stream: NDArray[np.integer], c: int
    ) -> "_Said":
        rows, true = np.array(list(answers), np.int64), np.array(list(answers.values()), np.int64)
        open_, unsure, wrong, drawn = np.ones(len(labels), bool), *np.zeros((3, len(labels)), bool)
        open_[rows], unsure[rows], drawn[list(sampled)] = False, true == UNSURE, True
        wrong[rows] = (true != labels[rows]) & (true != UNSURE)
        drawn &= ~unsure

        def count(some: NDArray[np.bool_]) -> Vector:
            return np.bincount(labels[some], minlength=c).astype(np.float64)

        def both(some: NDArray[np.bool_]) -> Table:
            return np.array([count(some & (stream == s)) for s in STREAMS])

        every = np.ones(len(labels), bool)
        return cls(
            n=np.maximum(count(every), 1), found=count(wrong), right=count(~open_ & ~wrong & ~unsure),
            either=count(unsure | (open_ & (stream < 0))), size=both(every), left=both(open_), asked=both(drawn),
            wrong=both(drawn & wrong),
        )  # fmt: skip

    @property
    def together(self) -> "_Said":
        """All classes as one."""
        return _Said(**{name: value.sum(-1, keepdims=True) for name, value in vars(self).items()})

    @property
    def nothing_found(self) -> "_Said":
        """As if nothing were answered but what was drawn at random, which speaks for its whole stream."""
        none = np.zeros_like(self.found)
        return _Said(np.maximum(self.size.sum(0), 1e-9), none, none, none, self.size, self.size, self.asked, self.wrong)

    def shares(self, wrong: Table, asked: Table, least: Table) -> Table:
        """(rate, low, high, upper) of found + either x U + sum_s left_s θ_s. θ_s has half an answer more of each kind
        in the middle and for the next selection; at each end an answer more that speaks for that end, as has U."""
        return np.clip([
            self._share(wrong + 0.5, asked + 1, 0.5, None),
            self._share(least, asked + 1, 0, (1 - LEVEL) / 2),
            self._share(wrong + 1, asked + 1, 1, (1 + LEVEL) / 2),
            self._share(wrong + 0.5, asked + 1, 0.5, (1 + SAFETY_LEVEL) / 2),
        ], self.found / self.n, 1 - self.right / self.n)  # fmt: skip

    def _share(self, alpha: Table, size: Table, either: float, quantile: float | None) -> Vector:
        """Its mean, or a quantile by the Beta of its mean and variance: of how many of those left are wrong, and θ."""
        theta = alpha / size
        mean = (self.found + either * self.either + (self.left * theta).sum(0)) / self.n
        variance = (self.left * (self.left + size) * theta * (1 - theta) / (size + 1)).sum(0) / self.n**2
        inside = (variance > 0) & (mean > 0) & (mean < 1)
        if quantile is None or not inside.any():
            return mean
        m, v = np.where(inside, mean, 0.5), np.where(inside, variance, 1.0)
        size = np.maximum(m * (1 - m) / v - 1, _EDGE)
        return np.where(inside, betaincinv(m * size, (1 - m) * size, quantile), mean)


def _expected(before: Vector, size: Table) -> Table:
    """The rates of both streams, if the wrong ones of each label are ranked last."""
    wrong = before * size.sum(0)
    others = np.minimum(wrong / np.maximum(size[OTHERS], 1), 1)
    kept = (wrong - others * size[OTHERS]) / np.maximum(size[KEPT], 1)
    return np.clip(np.array([kept, others]), _EDGE, 1 - _EDGE)


def _moved(expected: Table, said: _Said, contradicted: bool) -> Table:
    """The same, moved together on the logit scale to what all labels of a stream say; where the answers contradict
    them, what all labels say."""
    out = expected.copy()
    for s in np.flatnonzero(said.asked.sum(1)):
        all_labels = (said.wrong[s].sum() + 0.5) / (said.asked[s].sum() + 1)
        weight, odds = said.size[s] / max(said.size[s].sum(), 1), logit(expected[s])
        shift = brentq(lambda x, w=weight, o=odds, p=all_labels: w @ expit(o + x) - p, -40, 40)
        out[s] = all_labels if contradicted else expit(odds + shift)
    return out
