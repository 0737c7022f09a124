"""What the answers of an audit prove: exact intervals, and the noise rates to select with next."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, betaincinv, expit, logit, ndtri
from scipy.stats import binom

from smallloss.criterion.selection import SAFETY_LEVEL
from smallloss.noise.answers import Answers, Ranked
from smallloss.noise.log_odds import common_shift

LEVEL = 0.95
OWN = 20  # answers from which a label is judged by its own; below, all labels move together
JEFFREYS = 0.5  # of an answer: what is believed of a rate before anybody is asked
ALIKE = 10  # answers: the most that what all labels say is worth for one of them
RATE_LEVEL = 0.90  # of the intervals of noise rates, the estimated and the audited alike

_EDGE = 1e-6  # a beta has no parameter 0
_MAY_BE = np.array([0.5, 0.0, 1.0])  # of examples that nobody could decide on: how many are wrong, at least, at most
_TRIED = 101  # rates of the first stratum among which the worst is looked for
_SURE_OF_P = 0.001
_NEARER = ndtri((1 + SAFETY_LEVEL) / 2) / ndtri((1 + RATE_LEVEL) / 2)  # of normal intervals, both ends
_FACTORS = np.arange(1.25, 16.01, 0.25)


class Interval(NamedTuple):
    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float | None]:
        """As JSON can say it: a value that nothing is known of is None."""
        return {name: value if np.isfinite(value) else None for name, value in self._asdict().items()}


def clopper_pearson(wrong: Any, answered: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Clopper-Pearson: the rates at which k or more, k or fewer of m wrong have probability (1 - level) / 2."""
    tail, right = (1 - level) / 2, answered - wrong
    low = np.where(wrong > 0, betaincinv(np.maximum(wrong, _EDGE), right + 1, tail), 0.0)
    high = np.where(right > 0, betaincinv(wrong + 1, np.maximum(right, _EDGE), 1 - tail), 1.0)
    return low, high


def stratified(wrong: Any, answered: Any, size: Any, level: float = LEVEL) -> Interval:
    """The share of wrong labels over two strata of known size, with an exact (conservative) interval.

    With W the strata's shares and S = sum_s W_s wrong_s / answered_s, the high end is the largest rate at which
    some pair of strata rates still gives an S as small as the one seen with probability (1 - level) / 2, the low
    end its mirror. A stratum nobody answered for may hold anything, and counts as half wrong in the value.

    A stratum answered in full is no sample: its wrong labels are counted, and the other has Clopper-Pearson's ends.
    Neither end gainsays what was counted: as many as were found wrong are wrong, as many as were right are right.
    """
    k, m, sizes = (np.asarray(x, np.int64) for x in (wrong, answered, np.maximum(size, answered)))
    n, sampled = sizes.sum(), m < sizes
    if not n:
        return Interval(0.5, 0.0, 1.0)
    W = sizes / n
    value = float(W @ np.where(m > 0, k / np.maximum(m, 1), 0.5))
    if sampled.all():
        low, high = 1 - _last_rate(m - k, m, W, level), _last_rate(k, m, W, level)
    else:
        ends = np.array(clopper_pearson(k[sampled].sum(), m[sampled].sum(), level))
        low, high = (ends * sizes[sampled].sum() + k[~sampled].sum()) / n
    return Interval(value, float(max(low, k.sum() / n)), float(min(high, (n - (m - k).sum()) / n)))


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


def sizes(selection: Ranked, label: int | None = None, known: Mapping[int, int] | None = None) -> np.ndarray:
    """How many examples (kept, dropped) there are to draw from, perhaps under one label only; none that is `known`."""
    ranked = selection.rank_in_class > 0
    ranked[list(known or ())] = False
    if label is not None:
        ranked = ranked & (selection.class_index == label)
    return np.array([np.count_nonzero(ranked & selection.mask), np.count_nonzero(ranked & ~selection.mask)])


def kept_precision(answers: Answers, level: float = LEVEL) -> Interval:
    """The share of right labels in the kept set (Clopper-Pearson); NaN in (0, 1) where no kept one was decided.

    What was known before is not counted: of the kept all of it is right, so the interval is on the careful side.
    """
    wrong, answered = answers.counts()
    right, of = answered[0] - wrong[0], answered[0]
    return Interval(float(right / of) if of else float("nan"), *map(float, clopper_pearson(right, of, level)))


def noise_rate(answers: Answers, selection: Ranked, label: int | None = None, level: float = LEVEL) -> Interval:
    """The share of wrong labels among all that were trained on, or under one label: both strata, and what is known."""
    size = sizes(selection, label, answers.known)
    return Interval(*_whole(np.array(stratified(*answers.counts(label), size, level)), size, answers, selection, label))


def _whole(rate: np.ndarray, size: np.ndarray, answers: Answers, selection: Ranked, label: int | None) -> np.ndarray:
    """A rate of the examples to draw from, and its least and most, as those of all examples.

    The known ones are no sample, they are counted. Those that nobody could decide on may be wrong or not.
    """
    wrong, undecided, known = answers.known_counts(selection.class_index, label)
    return (rate * size.sum() + wrong + undecided * _MAY_BE) / (size.sum() + known) if known else rate


def more_to_halve(answers: Answers, selection: Ranked) -> int:
    """About how many more answers, kept and dropped as before while there are any, halve the noise rate's interval.

    0 where no example is left to ask about.
    """
    wrong, answered = answers.counts()
    of = sizes(selection, known=answers.known)
    left = np.maximum(of - [np.count_nonzero(answers.kept), np.count_nonzero(~answers.kept)], 0)
    now, trial = stratified(wrong, answered, of), answered
    for factor in _FACTORS if left.any() else ():
        trial = np.minimum(np.round(factor * np.maximum(answered, 1)), answered + left).astype(np.int64)
        then = stratified(np.round(wrong * trial / np.maximum(answered, 1)), trial, of)
        if then.high - then.low <= (now.high - now.low) / 2:
            break
    return int((trial - answered).sum())


def uncertain_pair(answers: Answers, selection: Ranked, joint: np.ndarray | None = None) -> tuple[int, int] | None:
    """The two classes whose mix-ups leave the noise rate most uncertain: sum_s W_s^2 f_s p_s (1 - p_s) / answered_s.

    f_s is the share of stratum s without an answer, p_s the share that the answers found mixed up between the two.
    Where no answer names a pair, the one with the most mass in `joint` (p_i T_ij, estimated) is taken; without that,
    None.
    """
    c = len(selection.classes)
    variance = np.zeros((c, c))
    of = sizes(selection, known=answers.known)
    _, answered = answers.counts()
    weight = of * np.maximum(of - answered, 0) / max(of.sum(), 1) ** 2  # W^2 f
    for stratum, w, m in zip((answers.kept, ~answers.kept), weight, answered, strict=True):
        named = stratum & answers.wrong & (answers.true >= 0)
        found = np.zeros((c, c))
        np.add.at(found, (answers.label[named], answers.true[named]), 1)
        share = (found + found.T) / max(m, 1)
        variance += w * share * (1 - share) / max(m, 1)
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
    source: tuple[str, ...]  # per class, one of the words below
    contradicted: bool  # by the answers, as a whole

    @property
    def as_before(self) -> bool:
        """Did the answers change none of them?"""
        return set(self.source) == {AS_BEFORE}

    @property
    def upper(self) -> np.ndarray:
        """How high they may be for the next selection: the upper ends at SAFETY_LEVEL, where a normal one would be.

        NaN for a rate that was given as known and that no answer has moved.
        """
        return np.where(self.high > self.low, self.noise_rate + _NEARER * (self.high - self.noise_rate), np.nan)


def bounds_of(rate: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(low, high) of rates with such upper ends as `Rates.upper` has; the low ends as far below as the high above."""
    beyond = np.maximum(upper - rate, 0) / _NEARER
    return np.maximum(rate - beyond, 0), np.minimum(rate + beyond, np.nextafter(1.0, 0.0))


AS_BEFORE, SHIFTED, OWN_ANSWERS, COMBINED = "as before", "shifted with all", "its own answers", "estimate and answers"


def corrected(answers: Answers, selection: Ranked, rates: Any, low: Any = None, high: Any = None) -> Rates:
    """The noise rates to select with next; finite answers never make one 0 or 1.

    Where the answers contradict the rates as a whole, all share one shift on the logit scale, with which they reach
    the audited rate of the whole dataset; its interval carries over to theirs. Where kept or dropped ones were not
    sampled, they reach the nearest rate that is not contradicted. Then, shifted or not, the answers of a
    class of OWN or more are counted together with as many as its estimate is worth (a Beta of its mean and spread).
    They speak alone where the two intervals have nothing in common, and where a rate was given without an interval
    and all are shifted: then it is worth nothing. Such a rate stays as it was where nothing contradicts it.
    """
    before = np.asarray(rates, np.float64)
    bounds = [before if bound is None else np.asarray(bound, np.float64) for bound in (low, high)]
    known = [answers.known_counts(selection.class_index, k)[-1] for k in range(len(before))]
    n = np.array([sizes(selection, k, answers.known).sum() + known[k] for k in range(len(before))])
    weight = n / n.sum()
    least = 0.5 / (n + 1)  # a rate of 0 has no logit
    odds = [logit(np.clip(values, least, 1 - least)) for values in (before, *bounds)]
    whole = noise_rate(answers, selection, level=RATE_LEVEL)
    source = [AS_BEFORE] * len(before)
    out = np.array([before, *bounds])
    contradicted = not whole.low <= weight @ before <= whole.high
    if contradicted:
        source = [SHIFTED] * len(before)
        targets = [_mean(believed(answers, selection), whole), whole.low, whole.high]
        if ((answers.counts()[1] == 0) & (sizes(selection, known=answers.known) > 0)).any():
            # Of what nobody sampled nothing is known: no farther than what was counted proves, intervals and all.
            targets = [float(np.clip(weight @ before, whole.low, whole.high))] * 3
        out = np.array(
            [expit(x + common_shift(odds[0], weight, target)) for x, target in zip(odds, targets, strict=True)]
        )
    for k in [k for k in range(len(before)) if answers.counts(k)[1].sum() >= OWN]:
        own, belief = noise_rate(answers, selection, k, RATE_LEVEL), believed(answers, selection, k)
        now, lowest, highest = out[:, k]
        apart, estimated = own.high < lowest or highest < own.low, bounds[1][k] > bounds[0][k]
        if apart or (contradicted and not estimated):
            value = np.clip(_mean(belief, own), least[k], 1 - least[k])  # though all were answered, and none is wrong
            source[k], out[:, k] = OWN_ANSWERS, (value, own.low, own.high)
        elif estimated:
            worth = _worth(float(np.clip(now, least[k], 1 - least[k])), highest - lowest)
            wrong, right = worth + np.maximum(belief - JEFFREYS, 0)
            ends = betaincinv(wrong, right, [(1 - RATE_LEVEL) / 2, (1 + RATE_LEVEL) / 2])
            source[k], out[:, k] = COMBINED, (wrong / (wrong + right), *ends)
    value, lower, upper = np.clip(out, 0.0, np.nextafter(1.0, 0.0))
    return Rates(value, np.minimum(lower, value), np.maximum(upper, value), tuple(source), contradicted)


def believed(answers: Answers, selection: Ranked, label: int | None = None) -> np.ndarray:
    """(a, b) of the Beta that the answers alone make of a noise rate.

    In each stratum those without an answer are wrong as often as Jeffreys' posterior Beta(wrong + 1/2, right + 1/2)
    says; under one label, one from a Beta around what all labels say, for of its own kept ones few are answered. Over
    both strata it is the Beta with the mean and the variance of the sum (beta-binomial), in which all that was
    answered is certain; what is left open is half an example at least.
    """
    wrong, answered = answers.counts(label)
    before, worth = (JEFFREYS, 2 * JEFFREYS) if label is None else _said_of_all(answers, len(selection.classes))
    size = np.maximum(sizes(selection, label, answers.known), answered)
    rest, n, after = size - answered, max(size.sum(), 1), answered + worth
    rate = (wrong + worth * before) / after
    variance = (rest * (after + rest)) @ (rate * (1 - rate) / (after + 1))
    mean, _, _ = _whole(np.array([(wrong + rest * rate).sum() / n, 0, 1]), size, answers, selection, label)
    _, undecided, known = answers.known_counts(selection.class_index, label)
    variance = (variance + undecided**2 / 12) / (size.sum() + known) ** 2  # any share of the undecided may be wrong
    least = JEFFREYS / (n + 1)
    mean, variance = np.clip(mean, least, 1 - least), max(variance, least**2)
    return np.array([mean, 1 - mean]) * (mean * (1 - mean) / variance - 1)


def _said_of_all(answers: Answers, c: int) -> tuple[np.ndarray, np.ndarray]:
    """The rate p of each stratum over all labels, and how many answers that is worth for one of them: 1 to ALIKE.

    The farther the labels are apart, the fewer: p (1 - p) / tau^2 - 1 for a variance tau^2 between them, by moments.
    """
    strata = (answers.decided & answers.kept, answers.decided & ~answers.kept)
    asked = np.array([np.bincount(answers.label[of], minlength=c) for of in strata])
    wrong = np.array([np.bincount(answers.label[of & answers.wrong], minlength=c) for of in strata])
    m = asked.sum(1)
    p = (wrong.sum(1) + JEFFREYS) / (m + 2 * JEFFREYS)
    chi2 = ((wrong - asked * p[:, None]) ** 2 / np.maximum(asked, 1)).sum(1) / (p * (1 - p))
    spread = m - (asked**2).sum(1) / np.maximum(m, 1)  # 0 where there are not two labels to compare
    apart = np.where(spread > 0, (chi2 - (asked > 0).sum(1) + 1) / np.maximum(spread, 1), 1)
    return p, 1 / np.clip(apart, 1 / (ALIKE + 1), 0.5) - 1


def _mean(belief: np.ndarray, inside: Interval) -> float:
    return float(np.clip(belief[0] / belief.sum(), inside.low, inside.high))


def _worth(rate: float, width: float) -> np.ndarray:
    """(wrong, right) answers that leave a rate as uncertain as an estimate with an interval of this width is."""
    deviation = width / (2 * ndtri((1 + RATE_LEVEL) / 2))
    return np.array([rate, 1 - rate]) * max(rate * (1 - rate) / deviation**2 - 1, 1.0)
