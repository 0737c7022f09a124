"""What the answers of an audit prove: exact intervals, and the noise rates to select with next."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, expit, logit
from scipy.stats import binom

from smallloss.criterion.audit import Answers, Ranked
from smallloss.criterion.estimate.audited import OWN, clopper_pearson

LEVEL = 0.95
RATE_LEVEL = 0.90  # of the intervals of noise rates, the estimated and the audited alike

_TRIED = 101  # rates of the first stratum among which the worst is looked for
_SURE_OF_P = 0.001
_FACTORS = np.arange(1.25, 16.01, 0.25)


class Interval(NamedTuple):
    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float | None]:
        """As JSON can say it: a value that nothing is known of is None."""
        return {name: value if np.isfinite(value) else None for name, value in self._asdict().items()}


def stratified(wrong: Any, answered: Any, size: Any, level: float = LEVEL) -> Interval:
    """The share of wrong labels over two strata of known size, with an exact (conservative) interval.

    With W the strata's shares and S = sum_s W_s wrong_s / answered_s, the high end is the largest rate at which
    some pair of strata rates still gives an S as small as the one seen with probability (1 - level) / 2, the low
    end its mirror. A stratum nobody answered for may hold anything, and counts as half wrong in the value.
    """
    k, m, sizes = (np.asarray(x, np.int64) for x in (wrong, answered, size))
    if not sizes.all():
        k, m = k[sizes > 0].sum(), m[sizes > 0].sum()
        return Interval(float(k / m) if m else 0.5, *map(float, clopper_pearson(k, m, level)))
    W = sizes / sizes.sum()
    value = float(W @ np.where(m > 0, k / np.maximum(m, 1), 0.5))
    return Interval(value, 1 - _last_rate(m - k, m, W, level), _last_rate(k, m, W, level))


def _last_rate(k: np.ndarray, m: np.ndarray, W: np.ndarray, level: float) -> float:
    """The largest rate at which an S up to the one seen is not too rare, whatever the first stratum's rate p.

    Only p inside its own, nearly certain interval are tried; what is left of the tail pays for that (Berger and
    Boos 1994), so the bound stays exact, and is far closer than with p anywhere in [0, 1].
    """
    first, step = np.arange(m[0] + 1), W / np.maximum(m, 1)
    second = np.floor((step @ k - step[0] * first) / step[1] + 1e-9)  # the most that leaves S where it is
    second = np.minimum(second, m[1])
    least, most = clopper_pearson(k[0], m[0], 1 - _SURE_OF_P)

    def chance(rate: float) -> float:
        p = np.linspace(max(least, (rate - W[1]) / W[0]), min(most, rate / W[0]), _TRIED)[:, None].clip(0, 1)
        q = np.clip((rate - W[0] * p) / W[1], 0, 1)
        below = np.where(second >= 0, bdtr(np.maximum(second, 0), m[1], q), 0.0)
        return float((binom.pmf(first, m[0], p) * below).sum(1).max())

    tail, end = (1 - level) / 2 - _SURE_OF_P, float(W[0] * most + W[1])
    return end if chance(end) >= tail else float(brentq(lambda r: chance(r) - tail, W[0] * least, end, xtol=1e-6))


def sizes(selection: Ranked, label: int | None = None) -> np.ndarray:
    """How many examples (kept, dropped) there are to draw from, perhaps under one label only."""
    ranked = selection.rank_in_class > 0
    if label is not None:
        ranked = ranked & (selection.class_index == label)
    return np.array([np.count_nonzero(ranked & selection.mask), np.count_nonzero(ranked & ~selection.mask)])


def kept_precision(answers: Answers, level: float = LEVEL) -> Interval:
    """The share of right labels in the kept set (Clopper-Pearson); NaN in (0, 1) where no kept one was decided."""
    wrong, answered = answers.counts()
    right, of = answered[0] - wrong[0], answered[0]
    return Interval(float(right / of) if of else float("nan"), *map(float, clopper_pearson(right, of, level)))


def noise_rate(answers: Answers, selection: Ranked, label: int | None = None, level: float = LEVEL) -> Interval:
    """The share of wrong labels in the whole dataset, or under one label, from both strata."""
    return stratified(*answers.counts(label), sizes(selection, label), level)


def more_to_halve(answers: Answers, selection: Ranked) -> int:
    """About how many more answers, kept and dropped as before, halve the interval of the noise rate."""
    wrong, answered = answers.counts()
    now, of = noise_rate(answers, selection), sizes(selection)
    for factor in _FACTORS:
        trial = np.round(factor * answered).astype(np.int64)
        then = stratified(np.round(factor * wrong).astype(np.int64), trial, of)
        if then.high - then.low <= (now.high - now.low) / 2:
            return int((trial - answered).sum())
    return int((_FACTORS[-1] - 1) * answered.sum())


def uncertain_pair(answers: Answers, selection: Ranked, joint: np.ndarray | None = None) -> tuple[int, int] | None:
    """The two classes whose mix-ups leave the noise rate most uncertain: sum_s W_s^2 p_s (1 - p_s) / answered_s.

    p_s is the share of stratum s that the answers found mixed up between the two. Where no answer names a pair,
    the one with the most mass in `joint` (p_i T_ij, estimated) is taken; without that, None.
    """
    c = len(selection.classes)
    variance = np.zeros((c, c))
    of = sizes(selection)
    _, answered = answers.counts()
    for stratum, W, m in zip((answers.kept, ~answers.kept), of / of.sum(), answered, strict=True):
        named = stratum & answers.wrong & (answers.true >= 0)
        found = np.zeros((c, c))
        np.add.at(found, (answers.label[named], answers.true[named]), 1)
        share = (found + found.T) / max(m, 1)
        variance += W**2 * share * (1 - share) / max(m, 1)
    if not variance.any():
        if joint is None:
            return None
        variance = np.where(np.eye(c, dtype=bool), 0, joint + joint.T)
    i, j = np.unravel_index(np.argmax(np.triu(variance, 1)), (c, c))
    return int(i), int(j)


@dataclass(frozen=True, eq=False)
class Rates:
    """Noise rates per class, with intervals of RATE_LEVEL, after the audit."""

    noise_rate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    source: tuple[str, ...]  # per class: "as before", "shifted with all" or "its own answers"


def corrected(answers: Answers, selection: Ranked, rates: Any, low: Any = None, high: Any = None) -> Rates:
    """The noise rates to select with next. What the answers do not contradict stays as it was.

    Where they contradict the rates as a whole, all share one shift on the logit scale, with which they reach the
    audited rate of the whole dataset; its interval carries over to theirs. A class of OWN answers or more speaks
    for itself where it contradicts its rate, or knows it better than `low` and `high` do.
    """
    before = np.asarray(rates, np.float64)
    bounds = [before if bound is None else np.asarray(bound, np.float64) for bound in (low, high)]
    n = np.array([sizes(selection, k).sum() for k in range(len(before))])
    weight = n / n.sum()
    least = 0.5 / (n + 1)  # a rate of 0 has no logit
    odds = [logit(np.clip(values, least, 1 - least)) for values in (before, *bounds)]
    whole = noise_rate(answers, selection, level=RATE_LEVEL)
    source = ["as before"] * len(before)
    out = [before.copy(), bounds[0].copy(), bounds[1].copy()]
    if not whole.low <= weight @ before <= whole.high:
        source = ["shifted with all"] * len(before)
        out = [expit(x + _shift(odds[0], weight, target)) for x, target in zip(odds, whole, strict=True)]
    for k in range(len(before)):
        own = noise_rate(answers, selection, k, RATE_LEVEL) if answers.counts(k)[1].sum() >= OWN else None
        vague = bounds[1][k] - bounds[0][k]
        if own is not None and (not own.low <= before[k] <= own.high or own.high - own.low < vague):
            source[k] = "its own answers"
            for values, end in zip(out, own, strict=True):
                values[k] = end
    below_one = np.nextafter(1.0, 0.0)
    value, lower, upper = (np.clip(values, 0.0, below_one) for values in out)
    return Rates(value, np.minimum(lower, value), np.maximum(upper, value), tuple(source))


def _shift(odds: np.ndarray, weight: np.ndarray, target: float) -> float:
    """The common shift of all log odds with which the rates average to `target`."""
    target = float(np.clip(target, 1e-6, 1 - 1e-6))
    return float(brentq(lambda shift: weight @ expit(odds + shift) - target, -60, 60))
