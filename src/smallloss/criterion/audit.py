"""The audit: which examples to check by hand, exact intervals, and the answers back in the rates.

Two strata are drawn from, the kept examples and the dropped ones, each at random over all classes. A person says
of each label: right | wrong, it is X | none of the classes | unsure. Unsure answers are counted and are no evidence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, expit, logit
from scipy.stats import binom

from smallloss.criterion.estimate.audited import OWN, clopper_pearson
from smallloss.criterion.labels import listed
from smallloss.criterion.selection import LIKELY_WRONG, REASONS
from smallloss.errors import InputError

KEPT, DROPPED = 40, 20  # answers asked for in each stratum
LEVEL = 0.95
RATE_LEVEL = 0.90  # of the intervals of noise rates, the estimated and the audited alike
ANSWERS = ("right", "wrong", "none", "unsure")
NONE, UNSURE = -1, -2  # in the place of a true class

_TRIED = 101  # rates of the first stratum among which the worst is looked for
_SURE_OF_P = 0.001
_FACTORS = np.arange(1.25, 16.01, 0.25)


class Ranked(Protocol):
    """What an audit needs of a selection: a `Selection` has it, and so have the rows of a run."""

    @property
    def classes(self) -> np.ndarray: ...
    @property
    def class_index(self) -> np.ndarray: ...
    @property
    def rank_in_class(self) -> np.ndarray: ...
    @property
    def mask(self) -> np.ndarray: ...


class Interval(NamedTuple):
    value: float
    low: float
    high: float


# --- what to look at --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """Examples to look at, strata mixed, so that neither the order nor stopping early betrays or biases anything."""

    index: np.ndarray
    kept: np.ndarray  # whether it is of the kept stratum


def draw(
    selection: Ranked, *, kept: int = KEPT, dropped: int = DROPPED, seed: int = 0, answered: Sequence[int] = ()
) -> Sample:
    """`kept` and `dropped` examples at random over all classes, never one that was answered; a function of the seed.

    A larger sample of the same seed holds the smaller one, so drawing on is the same as having drawn more at once.
    """
    if min(kept, dropped) < 0 or kept + dropped == 0:
        raise InputError(f"An audit of {kept} kept and {dropped} dropped examples looks at nothing: ask for some.")
    key = np.random.default_rng([seed, *b"audit"]).permutation(len(selection.mask))
    free = selection.rank_in_class > 0
    free[np.asarray(answered, np.int64)] = False
    strata = ((free & selection.mask, kept), (free & ~selection.mask, dropped))
    index = np.concatenate([_first(np.flatnonzero(stratum), key, wanted) for stratum, wanted in strata])
    if not len(index):
        raise InputError("There is no example left to look at: none was ranked, or all of them have an answer.")
    index = index[np.argsort(key[index])]
    return Sample(index, selection.mask[index])


def _first(members: np.ndarray, key: np.ndarray, wanted: int) -> np.ndarray:
    return members[np.argsort(key[members])[:wanted]]


# --- what was answered ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answers:
    """What a person said of examples, one entry each."""

    index: np.ndarray
    kept: np.ndarray
    label: np.ndarray  # position of the given label among the classes
    true: np.ndarray  # position of the true class, NONE or UNSURE
    empty: int = 0  # rows left without an answer

    @property
    def decided(self) -> np.ndarray:
        return self.true != UNSURE

    @property
    def right(self) -> np.ndarray:
        return self.true == self.label

    @property
    def wrong(self) -> np.ndarray:
        return self.decided & ~self.right

    def counts(self, label: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Wrong labels and decided answers among (kept, dropped), perhaps under one label only."""
        of = self.decided if label is None else self.decided & (self.label == label)
        strata = (of & self.kept, of & ~self.kept)
        return (
            np.array([np.count_nonzero(stratum & self.wrong) for stratum in strata]),
            np.array([np.count_nonzero(stratum) for stratum in strata]),
        )


def read_answers(
    selection: Ranked,
    index: Sequence[int],
    answer: Sequence[str | None],
    true_label: Sequence[str | None],
    where: Sequence[str] | None = None,
) -> Answers:
    """Answers as they were written, checked; `where` names the rows in sentences. Empty cells are no answer."""
    names = [str(name) for name in selection.classes.tolist()]
    code = {name: k for k, name in enumerate(names)}
    places = [f"The answer for index {i}" for i in index] if where is None else where
    rows: dict[int, int] = {}
    empty = 0
    for i, word, name, place in zip(index, answer, true_label, places, strict=True):
        if i in rows:
            raise InputError(f"{place} comes twice: keep one of the two.")
        if not (word or "").strip() and not (name or "").strip():
            empty += 1
            continue
        rows[i] = _true_class(word or "", name or "", int(selection.class_index[i]), code, place)
    if not rows:
        raise InputError(f"None of the {empty} examples has an answer yet: write right, wrong, none or unsure.")
    if all(true == UNSURE for true in rows.values()):
        raise InputError(f"Every answer ({len(rows)}) is unsure, so nothing follows: look at more examples.")
    at = np.array(list(rows), np.int64)
    label, true = selection.class_index[at].astype(np.int64), np.array(list(rows.values()), np.int64)
    return Answers(at, selection.mask[at], label, true, empty)


def _true_class(word: str, name: str, label: int, code: Mapping[str, int], place: str) -> int:
    word = word.strip().lower()
    if word not in ANSWERS:
        said = f"is {word!r}" if word else "is empty, though a true label is given"
        raise InputError(f"{place} {said}: write right, wrong, none or unsure.")
    if name and name not in code:
        raise InputError(f"{place} names {name!r}, which is none of the classes {listed(list(code))}.")
    if word == "wrong" and (not name or code[name] == label):
        said = "does not say what it is" if not name else f"names {name!r}, the label it has"
        raise InputError(f"{place} is wrong, but {said}: give the class as true_label, or answer none.")
    if (word == "right" and name and code[name] != label) or (word in ("none", "unsure") and name):
        raise InputError(f"{place} is {word}, but names {name!r} as well: keep one of the two.")
    return {"right": label, "none": NONE, "unsure": UNSURE}.get(word, code.get(name, NONE))


# --- exact intervals --------------------------------------------------------------------------------------


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


# --- back into the rates and the selection ----------------------------------------------------------------


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


def pins(answers: Answers) -> dict[int, int]:
    """Example -> its true class by hand (or NONE): what every later selection and export must respect."""
    return dict(zip(answers.index[answers.decided].tolist(), answers.true[answers.decided].tolist(), strict=True))


def pin(score: Any, class_index: np.ndarray, pinned: Mapping[int, int]) -> np.ndarray:
    """Scores that make `select` respect the answers: the right first in their class, the wrong never ranked (NaN)."""
    scores = np.array(score, np.float64)
    right = np.array([i for i, true in pinned.items() if true == class_index[i]], np.int64)
    scores[[i for i, true in pinned.items() if true != class_index[i]]] = np.nan
    for k in np.unique(class_index[right]):
        members = scores[class_index == k]
        if not np.isnan(members).all():
            scores[right[class_index[right] == k]] = np.nextafter(np.nanmin(members), -np.inf)
    return scores


def mark(table: dict[str, Any], class_index: np.ndarray, classes: Sequence[Any], pinned: Mapping[int, int]) -> None:
    """Write the answers into a table of examples: the wrong flagged with their new label, the right cleared."""
    table["audit_answer"] = np.full(len(class_index), None, object)
    table["audited_label"] = np.full(len(class_index), None, object)
    for i, true in pinned.items():
        right = true == class_index[i]
        table["is_label_issue"][i] = not right
        table["label_score"][i] = float(right)
        table["audit_answer"][i] = "right" if right else "none" if true == NONE else "wrong"
        table["audited_label"][i] = None if true == NONE else classes[true]
        if not right:
            table["selected"][i], table["weight"][i], table["reason"][i] = False, 0.0, REASONS[LIKELY_WRONG]
