"""How many labels are wrong, counted from what networks that never saw them predict.

Of each label k: M_k, the share that a network contradicts; d_k, the share on which two networks differ; both_k, the
share that two networks contradict naming the same class; s_k, the share contradicted among the surest predictions.
Able networks differ as often as they err. So where noise depends on the class alone low_k = (M_k - d_k) / (1 - d_k -
d_k / (c - 1)) is the rate, and where wrong labels sit on hard examples up to M_k is. Nothing sees mistakes they learn.
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
from smallloss.noise.probabilities import Codes, Matrix, matrices_of, named, predictions
from smallloss.words import counted, listed, one_line, percent

Vector = NDArray[np.float64]

SURE = 0.2  # of the predictions of each class, those with the widest margin
CHANCE = 0.001  # how rarely labels dealt out at random may look as if predictions told something of them
LARGEST = 1 - 1e-6  # rates stay below 1
SHOWN = 5
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
    size: Vector  # a share of so many examples is as well known as the rate
    overall: tuple[float, float, float]
    n: int
    tells_nothing: bool  # the predictions agree with the labels no more than chance would
    evidence: str
    notes: tuple[str, ...]
    level: float

    def __repr__(self) -> str:
        noisiest = np.argsort(-self.noise_rate, kind="stable")[:SHOWN]
        ends = [[percent(one[k], 0) for one in (self.noise_rate, self.low, self.high)] for k in noisiest]
        rates = [
            f"{one_line(str(self.classes[k]))} {a} ({b} to {c})" for k, (a, b, c) in zip(noisiest, ends, strict=True)
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
    """η_k is the median of s_k, both_k and the middle of low_k and M_k; its interval goes from min(s - d/2, low) to M.

    `probabilities` are out of sample: one (n, c) matrix or several, of networks that each left the example out; a row
    of NaN was not predicted by that network. `labels` are codes, or names, the columns being in their sorted order or
    in that of `classes`. Where nothing was predicted twice, M and s alone are known, and η_k is their middle.
    """
    tail, matrices = (1 - _checked(level)) / 2, matrices_of(probabilities)
    n, c = matrices[0].shape
    codes, names = named(labels, classes, n, c)
    predicted, margin = predictions(matrices)
    seen = (predicted >= 0).any(axis=0)
    predicted, codes = predicted[:, seen], codes[seen]
    counts, table = _counts(predicted, margin[:, seen], codes, c)
    q = np.bincount(codes, minlength=c) / len(codes)

    rate, size = _point(counts, c / (c - 1))
    rate[c] = q @ rate[:c]  # the overall rate is that of the labels together
    low, high = _ends(counts, c / (c - 1), tail)
    low, high = np.minimum(low, rate), np.maximum(high, rate)
    joint = _agreeing(table, q, rate[:c])
    prior, M, nothing = joint.sum(axis=1), counts.M.share, _is_chance(table)
    overall = (float(rate[c]), float(low[c]), float(high[c]))
    return Estimate(
        classes=names,
        noise_rate=rate[:c],
        low=low[:c],
        high=high[:c],
        transition=np.where(prior[:, None] > 0, joint / np.where(prior > 0, prior, 1)[:, None], np.eye(c)),
        prior=prior,
        contradicted=M[:c],
        differ=None if counts.d is None else counts.d.share[:c],
        sure=counts.s.share[:c],
        size=size[:c],
        overall=overall,
        n=len(codes),
        tells_nothing=nothing,
        evidence=_evidence(int((predicted >= 0).sum(axis=0).max()), float(M[c]), counts.d, overall),
        notes=_notes(names, q, float(M[c]), nothing, n - len(codes)),
        level=level,
    )


class _Count(NamedTuple):
    """A share for each label and, last, for all labels together; and of how many examples."""

    share: Vector
    size: Vector

    @property
    def leaning(self) -> Vector:
        """(n a_k + √n a) / (n + √n): drawn to the share of all as the minimax estimator of a share is to 1/2."""
        root = np.sqrt(self.size)
        return self.share[-1] + root / (root + 1) * (self.share - self.share[-1])

    @property
    def variance(self) -> Vector:
        return self.leaning * (1 - self.leaning) / np.maximum(self.size, 1)


class _Counts(NamedTuple):
    M: _Count
    s: _Count
    d: _Count | None  # None where no example was predicted twice
    agreed: _Count | None  # of what one of two networks contradicts, the share to which the other gives the same class


def _counts(predicted: Codes, margin: Matrix, codes: Codes, c: int) -> tuple[_Counts, Matrix]:
    """The counts; and in examples, how often class i (row) is predicted for label k."""
    there = predicted >= 0
    weight = there / there.sum(axis=0)  # the predictions of an example count as one
    wrong, index = there & (predicted != codes), np.where(there, predicted * c + codes, 0)

    def count(values: Vector, of: Vector) -> _Count:
        found, size = (np.append(np.bincount(codes, one, c), one.sum()) for one in (values, of))
        return _Count(np.divide(found, size, out=np.zeros(c + 1), where=size > 0), size)

    sure = weight * [_is_sure(of, lead, c) for of, lead in zip(predicted, margin, strict=True)]
    M, s = (count((wrong * among).sum(axis=0), among.sum(axis=0)) for among in (weight, sure))
    pairs, differ, same, either = np.zeros((4, len(codes)))
    for a, b in combinations(range(len(there)), 2):
        together, alike = there[a] & there[b], predicted[a] == predicted[b]
        pairs += together
        differ += together & ~alike
        same += together & alike & wrong[a]
        either += together * (wrong[a] * 0.5 + wrong[b] * 0.5)
    many, twice = np.maximum(pairs, 1), pairs.any()
    d, agreed = count(differ / many, pairs / many), count(same / many, either / many)
    table = np.bincount(index.ravel(), weight.ravel(), c * c).reshape(c, c)
    return _Counts(M, s, d if twice else None, agreed if twice else None), table.astype(np.float64)


def _is_sure(predicted: Codes, margin: Vector, c: int) -> NDArray[np.bool_]:
    """Is it among the share SURE of the predictions of its class with the widest margin? Ties stand together."""
    size = np.bincount(predicted + 1, minlength=c + 1)
    order = np.lexsort((-margin, predicted))
    last = np.cumsum(size) - size + np.ceil(SURE * size - 1e-9).astype(np.int64) - 1
    return (predicted >= 0) & (margin >= margin[order[last]][predicted + 1])


def _is_chance(table: Matrix) -> bool:
    """Would shuffled labels be agreed with as often? By the variance of Cohen's kappa under no agreement."""
    n = table.sum()
    p, q = table.sum(axis=1) / n, table.sum(axis=0) / n
    variance = (p @ q + (p @ q) ** 2 - (p * q) @ (p + q)) / max(n - 1, 1)
    return bool(np.trace(table) / n - p @ q <= norm.isf(CHANCE) * sqrt(max(variance, 0)) + 1e-9)


def _point(counts: _Counts, chance: float) -> tuple[Vector, Vector]:
    """The rate, and of how many examples a share is as well known (by the delta method)."""
    M, s, d, agreed = counts
    if d is None or agreed is None:
        rate, error = (M.leaning + s.leaning) / 2, (M.variance + s.variance) / 4
    else:
        low, slope = _low(M.leaning, d.leaning, chance)
        rates = np.array([s.leaning, agreed.leaning * M.leaning, (low + M.leaning) / 2])
        both = agreed.leaning**2 * M.variance + M.leaning**2 * agreed.variance
        middle = ((1 + slope) ** 2 * M.variance + (slope**2 * (M.leaning * chance - 1)) ** 2 * d.variance) / 4
        which = np.argsort(rates, axis=0, kind="stable")[1:2]
        rate = np.take_along_axis(rates, which, 0)[0]
        error = np.take_along_axis(np.array([s.variance, both, middle]), which, 0)[0]
    rate = np.minimum(rate, LARGEST)
    return rate, np.divide(rate * (1 - rate), error, out=M.size.copy(), where=error > 0)


def _ends(counts: _Counts, chance: float, tail: float) -> tuple[Vector, Vector]:
    """min(s - d/2, low) and M with their sampling error; without d, the error that M and s imply stands for it.

    M of all labels is as it was counted: it is what is wrong among these very labels if no right one is contradicted.
    """
    M, s, d, _ = counts
    differ = _low(M.share, s.leaning, chance)[0] if d is None else d.leaning
    least = np.minimum(s.leaning - differ / 2, _low(M.share, differ, chance)[0])
    low = np.where(least > 0, _quantile(np.maximum(least, 0), M.size, tail), 0)
    return low, np.append(_quantile(M.share, M.size, 1 - tail)[:-1], M.share[-1])


def _low(M: Vector, d: Vector, chance: float) -> tuple[Vector, Vector]:
    """(M - d) / (1 - d - d / (c - 1)), 0 where that is below it or d is all that chance is; and its slope in M."""
    exact = (d * chance < 1) & (d < M)
    slope = np.divide(1, 1 - d * chance, out=np.zeros(len(M)), where=exact)
    return np.minimum((M - d) * slope, M), slope


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


def _evidence(networks: int, M: float, d: _Count | None, overall: tuple[float, float, float]) -> str:
    """The counts as a sentence, and what they mean."""
    who, has = f"{('Two', 'Three')[networks - 2] if networks in (2, 3) else networks} networks contradict", "they have"
    if networks == 1:
        who, has = "A network that never saw them contradicts", "it has"
    differ = "differ from each other" if networks == 2 else "two of them differ"
    also = "" if d is None else f" and {differ} on {percent(float(d.share[-1]), 0)}"
    wrong = f"{percent(overall[1], 0).removesuffix(' %')} to {percent(overall[2], 0)}"
    said = f"{who} {percent(M, 0)} of the labels{also}. If {has} not learnt the mistakes themselves, {wrong} are wrong;"
    return f"{said} only answers can tell."


def _notes(names: list[Any], q: Vector, M: float, nothing: bool, unseen: int) -> tuple[str, ...]:
    """What the reader should know before believing the numbers."""
    said = {
        "The predictions agree with the labels no more often than chance would: they tell nothing of them.": nothing,
        f"Hardly any label is contradicted ({percent(M)}). If the predictions are of networks that had seen these "
        "labels, that says nothing: each must be of one that had not.": M < 0.005,
        f"No example is labelled {listed([names[k] for k in np.flatnonzero(q == 0)])}.": not q.all(),
        f"Left out: {counted(unseen, 'example')} without out-of-sample probabilities.": unseen > 0,
    }
    return tuple(note for note, holds in said.items() if holds)
