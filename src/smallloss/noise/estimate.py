"""How many labels are wrong, counted from what networks that never saw them predict.

Of each label k: M_k, the share that a network contradicts; d_k, the share on which two networks differ; both_k, the
share that two networks contradict naming the same class; s_k, the share contradicted among the surest predictions.
Able networks differ as often as they err. So where noise depends on the class alone (M_k - d_k) / (1 - d_k - d_k/(c-1))
is the rate, and where wrong labels sit on hard examples it goes up to M_k. No count sees a mistake that networks learn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from smallloss.errors import InputError
from smallloss.noise.probabilities import Codes, chunks, matrices_of, named
from smallloss.words import counted, listed, one_line, percent

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

SURE = 0.2  # of the predictions of each class, those with the widest margin
CHANCE = 0.001  # how rarely labels dealt out at random may look as if predictions told something of them
LARGEST = 1 - 1e-6  # rates stay below 1
RATES_SHOWN = 5
_VECTORS = ("noise_rate", "low", "high", "transition", "prior", "contradicted", "differ", "sure", "size")


@dataclass(frozen=True, eq=False)
class Estimate:
    """noise_rate[k], the share of wrong ones among the examples labelled k, with the `level` interval low, high.

    transition has a row for each true class, prior is the true class distribution; with the rates they agree exactly
    through the bridge η_k = 1 - p_k T_kk / sum_i p_i T_ik. overall: rate, low and high of all labels together.
    """

    classes: Sequence[Any]
    noise_rate: Vector
    low: Vector
    high: Vector
    transition: Matrix
    prior: Vector
    contradicted: Vector  # M_k
    differ: Vector | None  # d_k; None where no example was predicted twice
    sure: Vector  # s_k
    size: Vector  # of how many examples each rate is a share, to be as sure of it as the counts are
    overall: tuple[float, float, float]
    n: int
    tells_nothing: bool  # the predictions agree with the labels no more than chance would
    evidence: str
    notes: tuple[str, ...]
    level: float

    def __repr__(self) -> str:
        noisiest = np.argsort(-self.noise_rate, kind="stable")[:RATES_SHOWN]
        rates = [
            f"{one_line(str(self.classes[k]))} {percent(self.noise_rate[k], 0)} "
            f"({percent(self.low[k], 0)} to {percent(self.high[k], 0)})"
            for k in noisiest
        ]
        rest = len(self.classes) - len(rates)
        more = [f"{rest:,} more with smaller rates"] if rest else []
        return f"<Estimate of noise rates, {percent(self.level, 0)} intervals: {', '.join(rates + more)}>"

    def upper(self, level: float) -> Vector:
        """The best guess and its sampling error alone: what a selection stays below."""
        return np.maximum(_quantile(self.noise_rate, self.size, (1 + _checked(level)) / 2), self.noise_rate)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}
        return plain | {name: list(plain[name]) for name in ("classes", "overall", "notes")}

    @classmethod
    def from_saved(cls, facts: dict[str, Any]) -> "Estimate":
        """What `to_dict` gave, as it was."""
        vectors = {name: None if facts[name] is None else np.array(facts[name], np.float64) for name in _VECTORS}
        return cls(**facts | vectors | {name: tuple(facts[name]) for name in ("overall", "notes")})


def estimate(probabilities: Any, labels: Any, *, classes: Any = None, level: float = 0.9) -> Estimate:
    """η_k is the median of s_k, both_k and M_k; its interval goes from min(s - d/2, low) to M (measured).

    `probabilities` are out of sample: one (n, c) matrix or several, of networks that each left the example out; a row
    of NaN was not predicted by that network. `labels` are codes, or names, the columns being in their sorted order or
    in that of `classes`. Where nothing was predicted twice, M and s alone are known.
    """
    tail, matrices = (1 - _checked(level)) / 2, matrices_of(probabilities)
    n, c = matrices[0].shape
    codes, names = named(labels, classes, n, c)
    predicted, margin = _votes(matrices)
    seen = (predicted >= 0).any(axis=0)
    votes = _Votes(predicted[:, seen], margin[:, seen], codes[seen], c)
    counts, q = votes.counts(), np.bincount(votes.codes, minlength=c) / len(votes.codes)

    rate, size = _point(counts)
    rate[c] = q @ rate[:c]  # the overall rate is that of the labels together
    low, high = _ends(counts, c, tail)
    low, high = np.minimum(low, rate), np.maximum(high, rate)
    joint = _agreeing(votes.table(), q, rate[:c])
    prior = joint.sum(axis=1)
    M, d, overall = counts.M.share, counts.d, (float(rate[c]), float(low[c]), float(high[c]))
    nothing = votes.are_chance(q)
    return Estimate(
        classes=names,
        noise_rate=rate[:c],
        low=low[:c],
        high=high[:c],
        transition=np.where(prior[:, None] > 0, joint / np.where(prior > 0, prior, 1)[:, None], np.eye(c)),
        prior=prior,
        contradicted=M[:c],
        differ=None if d is None else d.share[:c],
        sure=counts.s.share[:c],
        size=size[:c],
        overall=overall,
        n=len(votes.codes),
        tells_nothing=nothing,
        evidence=_evidence(int(votes.times.max()), M[c], None if d is None else d.share[c], overall),
        notes=_notes(names, q, M[c], nothing, n - len(votes.codes)),
        level=level,
    )


class _Count(NamedTuple):
    """A share for each label and, last, for all labels together; and of how many examples."""

    share: Vector
    size: Vector

    @property
    def leaning(self) -> Vector:
        """(n a_k + √n a) / (n + √n): drawn to the share of all as the minimax estimator of a share is to 1/2."""
        own = np.sqrt(self.size) / (np.sqrt(self.size) + 1)
        return self.share[-1] + own * (self.share - self.share[-1])


class _Counts(NamedTuple):
    M: _Count
    s: _Count
    d: _Count | None
    agreed: _Count | None  # of what one of two networks contradicts, the share to which the other gives the same class


class _Votes:
    """What networks predict, for each network and example, -1 for nothing; the margins, and the labels."""

    def __init__(self, predicted: Codes, margin: Vector, codes: Codes, c: int) -> None:
        self.predicted, self.margin, self.codes, self.c = predicted, margin, codes, c
        self.there = predicted >= 0
        self.times = self.there.sum(axis=0)
        self.weight = self.there / self.times  # those of an example make one

    def counts(self) -> _Counts:
        wrong, alone = self.there & (self.predicted != self.codes), np.ones(len(self.codes))
        sure = np.array([self._sure(of, lead) for of, lead in zip(self.predicted, self.margin, strict=True)])
        M = self._count(wrong * self.weight, alone)
        s = self._count(wrong * sure * self.weight, sure * self.weight)
        pairs, differ, same, either = np.zeros((4, len(self.codes)))
        for a, b in combinations(range(len(wrong)), 2):
            together, alike = self.there[a] & self.there[b], self.predicted[a] == self.predicted[b]
            pairs += together
            differ += together & ~alike
            same += together & alike & wrong[a]
            either += together * (wrong[a] * 0.5 + wrong[b] * 0.5)
        if not pairs.any():
            return _Counts(M, s, None, None)
        many = np.maximum(pairs, 1)
        return _Counts(M, s, self._count(differ / many, pairs / many), self._count(same / many, either / many))

    def _count(self, values: Vector, of: Vector) -> _Count:
        """For each label and for all, the sum of values as a share of the sum of `of`."""
        rows = [one if one.ndim == 1 else one.sum(axis=0) for one in (values, of)]
        found, size = (np.append(np.bincount(self.codes, one, minlength=self.c), one.sum()) for one in rows)
        return _Count(np.divide(found, size, out=np.zeros(self.c + 1), where=size > 0), size)

    def _sure(self, predicted: Codes, margin: Vector) -> NDArray[np.bool_]:
        """Is it among the share SURE of the predictions of its class with the widest margin? Ties stand together."""
        size = np.bincount(predicted + 1, minlength=self.c + 1)
        order = np.lexsort((-margin, predicted))
        last = np.cumsum(size) - size + np.ceil(SURE * size - 1e-9).astype(np.int64) - 1
        return (predicted >= 0) & (margin >= margin[order[last]][predicted + 1])

    def table(self) -> Matrix:
        """In examples, how often class i is predicted for label k."""
        cells = np.where(self.there, self.predicted * self.c + self.codes, 0).ravel()
        return np.bincount(cells, self.weight.ravel(), self.c**2).reshape(self.c, self.c)

    def are_chance(self, q: Vector) -> bool:
        """Would shuffled labels be agreed with as often? A permutation test, its variance exact (Hoeffding 1951)."""
        n, w = len(self.codes), self.weight
        p = self.table().sum(axis=1) / n
        agreed = float((w * (self.predicted == self.codes)).sum())
        squares = sum(
            w[a] * w[b] * (of == self.predicted[b]) * q[of]
            for a, of in enumerate(self.predicted)
            for b in range(len(w))
        )
        lines = (w * q[self.predicted] * (2 * p[self.predicted])).sum(axis=0)
        variance = (squares - lines + q @ p**2 - ((w * q[self.predicted]).sum(axis=0) - p @ q) ** 2).sum()
        deviation = sqrt(max(variance, 0) * n / max(n - 1, 1))
        return bool(agreed - n * (p @ q) <= norm.isf(CHANCE) * deviation + 1e-9 * n)


def _votes(matrices: list[np.ndarray]) -> tuple[Codes, Vector]:
    """For each network and example the predicted class, -1 for none, and its margin over the second."""
    shape = (len(matrices), len(matrices[0]))
    predicted, margin = np.full(shape, -1, np.int64), np.zeros(shape)
    for a, P in enumerate(matrices):
        for at, rows in chunks(P):
            there = ~np.isnan(rows[:, 0])
            second, first = np.partition(rows[there], -2, axis=1)[:, -2:].T
            predicted[a, at][there] = rows[there].argmax(axis=1)
            margin[a, at][there] = (first - second) / rows[there].sum(axis=1)
    return predicted, margin


def _point(counts: _Counts) -> tuple[Vector, Vector]:
    """The median of s, both = agreed x M, and M; and of how many examples it is a share."""
    M, s = counts.M.leaning, counts.s.leaning
    if counts.agreed is None:
        return _alone(M, s), counts.s.size
    R = counts.agreed.leaning
    both = R * M
    error = _variance(R, counts.agreed.size) * M**2 + _variance(M, counts.M.size) * R**2
    sizes = (
        counts.s.size,
        np.divide(both * (1 - both), error, out=counts.M.size.copy(), where=error > 0),
        counts.M.size,
    )
    shares = np.array([s, both, M])
    middle = np.argsort(shares, axis=0, kind="stable")[1:2]
    return np.take_along_axis(shares, middle, 0)[0], np.take_along_axis(np.array(sizes), middle, 0)[0]


def _variance(share: Vector, size: Vector) -> Vector:
    return share * (1 - share) / np.maximum(size, 1)


def _alone(M, s):
    return (s + M) / 2


def _ends(counts: _Counts, c: int, tail: float) -> tuple[Vector, Vector]:
    """min(s - d/2, low) and M, each with its sampling error, the lower one where it is above 0.

    low = (M - d) / (1 - d - d / (c - 1)). Where nothing was predicted twice, d is the error that M and s imply.
    """
    M, s, chance = counts.M.share, counts.s.leaning, c / (c - 1)
    d = _floor(M, s, chance) if counts.d is None else counts.d.leaning
    low = np.minimum(s - d / 2, _floor(M, d, chance))
    least = np.where(low > 0, _quantile(np.maximum(low, 0), counts.M.size, tail), 0)
    return least, _quantile(M, counts.M.size, 1 - tail)


def _floor(M: Vector, d: Vector, chance: float) -> Vector:
    left = 1 - d * chance
    return np.maximum(np.divide(M - d, left, out=np.zeros(len(M)), where=left > 0), 0)


def _quantile(share: Vector, size: Vector, at: float) -> Vector:
    """Of a share counted among so many (Jeffreys' beta)."""
    return np.minimum(beta.ppf(at, share * size + 0.5, (1 - share) * size + 0.5), LARGEST)


def _agreeing(table: Matrix, q: Vector, rate: Vector) -> Matrix:
    """P(true i, label k) with exactly these rates: the wrong ones spread over classes as what contradicts the label."""
    wrong = table + 1e-9 * (table.sum(axis=1, keepdims=True) + 1)  # where nothing contradicts it, as all predictions
    np.fill_diagonal(wrong, 0)
    joint = wrong / wrong.sum(axis=0) * (q * rate)
    np.fill_diagonal(joint, q * (1 - rate))
    return joint


def _checked(level: float) -> float:
    if not 0 < level < 1:
        raise InputError(f"level is the share of intervals that hold the truth, between 0 and 1; it was {level}.")
    return level


def _evidence(networks: int, M: float, d: float | None, overall: tuple[float, float, float]) -> str:
    """The counts as a sentence, and what they mean."""
    learnt, who = (
        "they have",
        f"{('Two', 'Three')[networks - 2] if networks in (2, 3) else networks} networks contradict",
    )
    if networks == 1:
        learnt, who = "it has", "A network that never saw them contradicts"
    said = f"{who} {percent(M, 0)} of the labels"
    if d is not None:
        said += f" and {'differ from each other' if networks == 2 else 'two of them differ'} on {percent(d, 0)}"
    low, high = percent(overall[1], 0).removesuffix(" %"), percent(overall[2], 0)
    return f"{said}. If {learnt} not learnt the mistakes themselves, {low} to {high} are wrong; only answers can tell."


def _notes(names: list[Any], q: Vector, M: float, nothing: bool, unseen: int) -> tuple[str, ...]:
    """What the reader should know before believing the numbers."""
    said = []
    if nothing:
        said.append("The predictions agree with the labels no more often than chance would: they tell nothing of them.")
    if M < 0.005:
        said.append(
            f"Hardly any label is contradicted ({percent(M)}). If the predictions were made by networks that had seen "
            "these labels, that says nothing: each must be made by one that had not."
        )
    if not q.all():
        said.append(f"No example is labelled {listed([names[k] for k in np.flatnonzero(q == 0)])}.")
    if unseen:
        said.append(f"Left out: {counted(unseen, 'example')} without out-of-sample probabilities.")
    return tuple(said)
