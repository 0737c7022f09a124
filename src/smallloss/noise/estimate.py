"""How many labels are wrong, counted from what networks that never saw them predict.

Per label k: M_k, the share that a network contradicts; d_k, the share on which two networks differ; both_k, the share
that two networks contradict naming the same class; s_k, the rate counted among the surest predictions. Able networks
differ as often as they err. So where noise depends on the class alone (M_k - d_k) / (1 - d_k - d_k / (c - 1)) is the
rate, and where wrong labels sit on hard examples up to M_k is. Nothing here sees a mistake that networks learn.
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
PSEUDO = 5.0  # examples' worth of the pooled row in each row that is counted among the sure
PRIOR_SPREAD = 0.25  # how far true class frequencies lie from label frequencies, relatively, before any evidence
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
    size: Vector  # how many examples the best guess of each label was counted among
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
        return np.maximum(_quantile(self.noise_rate, self.size, (1 + _level(level)) / 2), self.noise_rate)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}
        return plain | {name: list(plain[name]) for name in ("classes", "overall", "notes")}

    @classmethod
    def from_saved(cls, facts: dict[str, Any]) -> "Estimate":
        """What `to_dict` gave, as it was."""
        vectors = {name: None if facts[name] is None else np.array(facts[name], np.float64) for name in _VECTORS}
        return cls(**facts | vectors | {name: tuple(facts[name]) for name in ("overall", "notes")})


class _Count(NamedTuple):
    """A share for each label and, last, for all labels together; and how many examples it was counted among."""

    share: Vector
    size: Vector


def estimate(probabilities: Any, labels: Any, *, classes: Any = None, level: float = 0.9) -> Estimate:
    """The rates are the median of s, both and M; the interval goes from min(s - d/2, low) to M (measured).

    `probabilities` are out of sample: one (n, c) matrix or several, of networks that each left the example out; a row
    of NaN was not predicted by that network. `labels` are codes, or names, the columns being in their sorted order or
    in that of `classes`. Of one matrix M and s alone are known.
    """
    matrices = matrices_of(probabilities)
    n, c = matrices[0].shape
    codes, names = named(labels, classes, n, c)
    tail = (1 - _level(level)) / 2
    predicted, margin = _votes(matrices)
    times = (predicted >= 0).sum(axis=0)
    seen = times > 0
    predicted, margin, codes, times = predicted[:, seen], margin[:, seen], codes[seen], times[seen]
    q = np.bincount(codes, minlength=c) / len(codes)

    M = _count(((predicted != codes) & (predicted >= 0)).sum(axis=0) / times, codes, c)
    joint, counted_sure = _joint(predicted, margin, codes, times, q)
    s = _bridged(joint, q, counted_sure)
    twice, both, d = _pairs(predicted, codes, c)
    leant = _Count(_leaning(M), M.size)
    rate, size = _median(s, both if twice else s, leant)
    low, high = _ends(M, s, d if twice else None, tail, c)
    rate = np.append(rate[:c], q @ rate[:c])  # the overall rate is that of the labels together
    low, high = np.minimum(low, rate), np.maximum(high, rate)
    joint = _agreeing(joint, q, rate[:c])
    prior = joint.sum(axis=1)
    nothing = _is_chance(predicted, codes, times, q)
    overall = (float(rate[c]), float(low[c]), float(high[c]))
    return Estimate(
        classes=names,
        noise_rate=rate[:c],
        low=low[:c],
        high=high[:c],
        transition=np.where(prior[:, None] > 0, joint / np.where(prior > 0, prior, 1)[:, None], np.eye(c)),
        prior=prior,
        contradicted=M.share[:c],
        differ=d.share[:c] if twice else None,
        sure=s.share[:c],
        size=size[:c],
        overall=overall,
        n=len(codes),
        tells_nothing=nothing,
        evidence=_evidence(int(times.max()), float(M.share[c]), float(d.share[c]) if twice else None, overall),
        notes=_notes(names, q * len(codes), float(M.share[c]), nothing, n - len(codes)),
        level=level,
    )


def _votes(matrices: list[np.ndarray]) -> tuple[Codes, Vector]:
    """For each network and example the predicted class, -1 for none, and its margin over the second."""
    predicted = np.full((len(matrices), len(matrices[0])), -1, np.int64)
    margin = np.zeros(predicted.shape)
    for a, P in enumerate(matrices):
        for at, rows in chunks(P):
            there = ~np.isnan(rows[:, 0])
            second, first = np.partition(rows, -2, axis=1)[:, -2:].T
            predicted[a, at] = np.where(there, rows.argmax(axis=1), -1)
            margin[a, at] = np.where(there, (first - second) / rows.sum(axis=1), 0)
    return predicted, margin


def _count(values: Vector, codes: Codes, c: int) -> _Count:
    """The mean of values for each label and for all; 0 for a label that nothing carries."""
    size = np.append(np.bincount(codes, minlength=c), len(codes)).astype(np.float64)
    total = np.append(np.bincount(codes, values, minlength=c), values.sum())
    return _Count(total / np.maximum(size, 1), size)


def _leaning(count: _Count) -> Vector:
    """Shares of labels drawn to that of all, as far as they differ by no more than chance (empirical Bayes).

    A label's own share has the weight τ^2 against a (1 - a) / n_k of sampling, τ^2 being the variance between labels
    that sampling leaves unexplained (by moments): few rows say little where labels are alike.
    """
    share, size, a = count.share[:-1], count.size[:-1], count.share[-1]
    n = max(size.sum(), 1)
    unexplained = size @ (share - a) ** 2 - (np.count_nonzero(size) - 1) * a * (1 - a)
    between = max(unexplained / max(n - size @ size / n, 1), 0)
    own = np.divide(between * size, between * size + a * (1 - a), out=np.zeros(len(size)), where=size * between > 0)
    return np.append(a + own * (share - a), a)


def _pairs(predicted: Codes, codes: Codes, c: int) -> tuple[int, _Count, _Count]:
    """both and d, over the examples that two networks or more predicted; how many these are."""
    twice = (predicted >= 0).sum(axis=0) > 1
    predicted, codes = predicted[:, twice], codes[twice]
    pairs, differ, both = (np.zeros(len(codes)) for _ in range(3))
    for one, other in combinations(predicted, 2):
        together = (one >= 0) & (other >= 0)
        pairs += together
        differ += together & (one != other)
        both += together & (one == other) & (one != codes)
    counts = [_count(values / np.maximum(pairs, 1), codes, c) for values in (both, differ)]
    drawn = [_Count(_leaning(count), count.size) for count in counts]
    return len(codes), drawn[0], drawn[1]


def _joint(predicted: Codes, margin: Vector, codes: Codes, times: Codes, q: Vector) -> tuple[Matrix, Vector]:
    """P(true i, label k): T's rows are the labels of the surest predictions of i, p is near the label frequencies.

    p makes ||T^t p - q||^2 + λ ||p - q||^2 least: λ is the sampling variance of T over that of what is believed of p.
    """
    c = len(q)
    N = np.zeros((c, c))
    for of, lead in zip(predicted, margin, strict=True):
        rows = np.flatnonzero(of >= 0)
        sure = rows[_is_sure(of[rows], lead[rows], c)]
        np.add.at(N, (of[sure], codes[sure]), 1 / times[sure])
    agreed = (np.trace(N) + 1) / (N.sum() + 2)
    off = np.tile(q + 1e-9, (c, 1))
    np.fill_diagonal(off, 0)
    pooled = (1 - agreed) * off / off.sum(axis=1, keepdims=True) + agreed * np.eye(c)
    T = N + PSEUDO * pooled
    T /= T.sum(axis=1, keepdims=True)
    ridge = c / (N.sum() * PRIOR_SPREAD**2)
    p = np.maximum(np.linalg.solve(T @ T.T + ridge * np.eye(c), T @ q + ridge * q), 0)
    return (p / p.sum())[:, None] * T, np.append(N.sum(axis=0), N.sum())


def _is_sure(predicted: Codes, margin: Vector, c: int) -> NDArray[np.bool_]:
    """Among the share SURE of the predictions of a class with the widest margin; ties stand together."""
    size = np.bincount(predicted, minlength=c)
    order = np.lexsort((-margin, predicted))
    last = np.cumsum(size) - size + np.maximum(np.ceil(SURE * size), 1).astype(np.int64) - 1
    edge = np.where(size > 0, margin[order[np.minimum(last, len(order) - 1)]], np.inf)
    return margin >= edge[predicted]


def _bridged(joint: Matrix, q: Vector, size: Vector) -> _Count:
    """η_k = 1 - p_k T_kk / sum_i p_i T_ik (Bayes' rule)."""
    labelled = joint.sum(axis=0)
    rate = 1 - np.divide(joint.diagonal(), labelled, out=np.ones(len(q)), where=labelled > 0)
    return _Count(np.append(rate, q @ rate), size)


def _median(*counts: _Count) -> tuple[Vector, Vector]:
    """The median of three shares, and the size of the one that it is."""
    share, size = (np.array([one[part] for one in counts]) for part in (0, 1))
    middle = np.argsort(share, axis=0, kind="stable")[1:2]
    return np.take_along_axis(share, middle, 0)[0], np.take_along_axis(size, middle, 0)[0]


def _ends(M: _Count, s: _Count, d: _Count | None, tail: float, c: int) -> tuple[Vector, Vector]:
    """min(s - d/2, low) and M, each with its sampling error.

    Without a second network d is what M and s imply: the error with which M would be found at the rate s.
    """
    chance = c / (c - 1)
    if d is None:
        differ, low = np.maximum(_floor(M.share, s.share, chance), 0), s.share
    else:
        differ, low = d.share, _floor(M.share, d.share, chance)
    low = np.minimum(s.share - differ / 2, low)
    low = np.where(low > 0, _quantile(np.maximum(low, 0), M.size, tail), 0)
    return low, _quantile(M.share, M.size, 1 - tail)


def _floor(M: Vector, d: Vector, chance: float) -> Vector:
    """(M - d) / (1 - d - d / (c - 1)), exact where noise depends on the class alone; 0 where d is chance."""
    left = 1 - d * chance
    return np.divide(M - d, left, out=np.zeros(len(M)), where=left > 0)


def _quantile(share: Vector, size: Vector, at: float) -> Vector:
    """Of a share counted among so many (Jeffreys' beta)."""
    return np.minimum(beta.ppf(at, share * size + 0.5, (1 - share) * size + 0.5), LARGEST)


def _agreeing(joint: Matrix, q: Vector, rate: Vector) -> Matrix:
    """P(true i, label k) with exactly these rates: the wrong ones spread over the true classes as counted."""
    wrong = joint * (1 - np.eye(len(q))) + 1e-300
    np.fill_diagonal(wrong, 0)
    J = wrong / wrong.sum(axis=0) * (q * rate)
    np.fill_diagonal(J, q * (1 - rate))
    return J


def _is_chance(predicted: Codes, codes: Codes, times: Codes, q: Vector) -> bool:
    """Whether shuffled labels would agree as often: a permutation test, its variance exact (Hoeffding, 1951)."""
    c, n = len(q), len(codes)
    votes = np.zeros((n, c))
    for of in predicted:
        rows = np.flatnonzero(of >= 0)
        votes[rows, of[rows]] += 1 / times[rows]
    agreed = votes[np.arange(n), codes].sum()
    centred = votes - votes.mean(axis=0)
    centred -= (centred @ q)[:, None]
    variance = (centred**2).sum(axis=0) @ q * n / max(n - 1, 1)
    expected = n * votes.mean(axis=0) @ q
    return bool(agreed - expected <= norm.isf(CHANCE) * sqrt(variance) + 1e-9 * n)


def _level(level: float) -> float:
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


def _notes(names: list[Any], counts: Vector, M: float, nothing: bool, unseen: int) -> tuple[str, ...]:
    """What the reader should know before believing the numbers."""
    said = []
    if nothing:
        said.append("The predictions agree with the labels no more often than chance would: they tell nothing of them.")
    if M < 0.005:
        said.append(
            f"Hardly any label is contradicted ({percent(M)}). If the predictions were made by networks that had seen "
            "these labels, that says nothing: each must be made by one that had not."
        )
    absent = [names[k] for k in np.flatnonzero(counts == 0)]
    if absent:
        said.append(f"No example is labelled {listed(absent)}.")
    if unseen:
        said.append(f"Left out: {counted(unseen, 'example')} without out-of-sample probabilities.")
    return tuple(said)
