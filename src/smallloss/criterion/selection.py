"""Rank class by class, select, weigh, and give the reason (Algorithm 1, lines 8-14)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from smallloss.criterion import ranking
from smallloss.criterion.quota import Quota, quotas, whole_part
from smallloss.criterion.settings import Criterion
from smallloss.errors import InputError
from smallloss.knobs import to_numpy
from smallloss.words import counted, listed

SAFETY_LEVEL = 0.8  # where rates are estimated, prop(i) stays below 1 minus the upper end of this interval
FEW = 10  # of so many one is a tenth, as much as that interval leaves beyond its end
DOUBT = 0.2  # of those that an estimated rate calls right, the share that its interval puts in doubt: vague from here
MANY = 5  # examples that are called wrong by rounding alone: from here on it is said
REASONS = (
    "kept",
    "likely wrong",
    "set aside for safety",
    "set aside for balance",
    "unreadable",
    "never seen",
    "corrected by hand",
    "none of the classes, by hand",
)
KEPT, LIKELY_WRONG, SAFETY, BALANCE, UNREADABLE, NEVER_SEEN, CORRECTED, NO_CLASS = range(len(REASONS))


@dataclass(frozen=True, eq=False)
class Selection:
    """What became of each example. Vectors are in input order, or in the order of `classes`.

    Only the ranks are stored; what follows from them is computed when first asked for.
    """

    score: np.ndarray  # higher = more suspicious; NaN = never seen
    classes: np.ndarray  # the sorted labels, or as they were given
    class_index: np.ndarray  # position of each example's label in classes
    rank_in_class: np.ndarray  # from 1, the smallest score; 0 = never seen
    quota: Quota
    trusted: np.ndarray  # per class: how many are not likely wrong, (1 - eta_k) n_k in whole examples
    kappa: float
    weight_max: str
    notes: tuple[str, ...]  # what a reader must know, in words
    probability: np.ndarray | None = None  # of the given label, out of sample, where somebody supplied it
    transition: np.ndarray | None = None  # T, where it was given
    estimated: Any = None  # the `NoiseModel` of the rates, where nobody knew them
    verdict: Any = None  # the `Judgement`: of T, or of the estimate; None of a selection that nobody judged

    def __repr__(self) -> str:
        kept, wrong, seen = map(np.count_nonzero, (self.mask, self.is_label_issue, self.rank_in_class))
        fates = [f"{kept:,} kept", f"{wrong:,} likely wrong", f"{seen - kept - wrong:,} set aside"]
        unseen = [f"{len(self.score) - seen:,} never seen"] if seen < len(self.score) else []
        return (
            f"<Selection of {len(self.score):,} examples in {len(self.classes):,} classes: {', '.join(fates + unseen)}>"
        )

    @cached_property
    def mask(self) -> np.ndarray:
        """D_sel: rank_in_class <= num(k) (Algorithm 1, lines 12-14)."""
        return (self.rank_in_class <= self._of_class(self.quota.num)) & (self.rank_in_class > 0)

    @cached_property
    def is_label_issue(self) -> np.ndarray:
        """Likely wrong: rank_in_class > (1 - eta_k) n_k. Not the opposite of `mask`."""
        return self.rank_in_class > self._of_class(self.trusted)

    @cached_property
    def weight(self) -> np.ndarray:
        """kappa's weight of the selected, 0 for the others (Section 4, Weighted_MixMatch)."""
        last = self.quota.num if self.weight_max == "selected" else self.quota.n
        lowest, highest = self._score_at(np.minimum(self.quota.num, 1)), self._score_at(last)
        return ranking.weights(self.score, self.mask, self.class_index, lowest, highest, self.kappa)

    @cached_property
    def reason_code(self) -> np.ndarray:
        """Position of each example's reason in REASONS."""
        rank = self.rank_in_class
        code = np.full(len(rank), KEPT, np.int8)
        code[rank > self._of_class(self.quota.num)] = BALANCE
        code[rank > self._of_class(self.quota.available)] = SAFETY
        code[self.is_label_issue] = LIKELY_WRONG
        code[rank == 0] = NEVER_SEEN
        return code

    @property
    def reason(self) -> np.ndarray:
        return np.array(REASONS)[self.reason_code]

    @cached_property
    def label_score(self) -> np.ndarray:
        """In [0, 1], low = suspicious: the probability of the label if given, else `label_scores`."""
        if self.probability is not None:
            return self.probability
        return ranking.label_scores(self.rank_in_class, self.class_index, self.quota.n, self.trusted)

    @cached_property
    def cutoff(self) -> np.ndarray:
        """The score of the last example kept in each class; NaN where none is."""
        return self._score_at(self.quota.num)

    def table(self) -> dict[str, np.ndarray]:
        """One row per example, in input order, for pandas.DataFrame or pyarrow.table."""
        return {
            "is_label_issue": self.is_label_issue,
            "label_score": self.label_score,
            "given_label": self.classes[self.class_index],
            "score": self.score,
            "rank_in_class": self.rank_in_class,
            "quota": self._of_class(self.quota.num),
            "cutoff": self.cutoff[self.class_index],
            "weight": self.weight,
            "selected": self.mask,
            "reason": self.reason,
        }

    def class_table(self) -> dict[str, np.ndarray]:
        """One row per class."""
        return {
            "label": self.classes,
            "n": self.quota.n,
            "noise_rate": self.quota.noise_rate,
            "proportion": self.quota.proportion,
            "kept": self.quota.num,
            "likely_wrong": self.quota.n - self.trusted,
            "set_aside": self.trusted - self.quota.num,
            "cutoff": self.cutoff,
        }

    def _of_class(self, values: np.ndarray) -> np.ndarray:
        return values.astype(np.int32)[self.class_index]

    def _score_at(self, rank: np.ndarray) -> np.ndarray:
        """The score of the example with the given rank in each class; NaN for rank 0."""
        at = np.flatnonzero((self.rank_in_class == self._of_class(rank)) & (self.rank_in_class > 0))
        found = np.full(len(self.classes), np.nan)
        found[self.class_index[at]] = self.score[at]
        return found


def select_codes(
    score: np.ndarray, codes: np.ndarray, noise_rate: Any, prior: np.ndarray | None, upper: Any, how: Criterion, *,
    known_wrong: Any = None, classes: np.ndarray,
) -> Selection:  # fmt: skip
    """Algorithm 1, lines 8-14: rank class by class, take the quotas of Eq. 2. Labels are codes, rates one per class."""
    ranking.check_scores(score, codes, how.kappa, how.weight_max)
    names, c = classes.tolist(), len(classes)
    notes: list[str] = []
    codes = codes.astype(np.min_scalar_type(max(c - 1, 0)), copy=False)
    labelled = np.bincount(codes, minlength=c)
    never_seen = np.flatnonzero(np.isnan(score))
    n = labelled - np.bincount(codes[never_seen], minlength=c)
    ranked, least = ranking.known_last(score, codes, known_wrong, n)
    quota = quotas(
        n, noise_rate, prior, upper=upper, least=least, beta=how.beta, gamma=how.gamma, rounding=how.rounding,
        class_size=how.class_size, classes=names,
    )  # fmt: skip
    # A nominal class size may allow more than (1 - eta_k) n_k; what is selected is never called likely wrong.
    trusted = np.maximum(whole_part((1 - quota.noise_rate) * n), quota.num)
    if upper is not None:
        trusted = _spare(trusted, n, quota.noise_rate, np.asarray(upper), names, notes)
    rank = ranking.rank_class_by_class(ranked, codes, labelled, n)
    notes += _remarks(quota, trusted, names, len(never_seen))
    return Selection(score, classes, codes, rank, quota, trusted, how.kappa, how.weight_max, tuple(notes))


def _spare(
    trusted: np.ndarray, n: np.ndarray, rate: np.ndarray, upper: np.ndarray, names: list[Any], notes: list[str]
) -> np.ndarray:
    """Where the rate is an estimate, a class too small for it to be evidence has nothing that is likely wrong.

    By the letter of rank > (1 - eta_k) n_k the only example of a class is wrong at any rate above 0. But there is
    nothing to rank it against; and of two or three, one is wrong only if the rate makes for half an example at least.
    A network hardly learns a class of ten: its rate is then high because little is known, and the interval shows it.
    """
    vague = (n <= FEW) & (upper - rate >= DOUBT * (1 - rate))
    too_few = ((n == 1) | (rate * n < 0.5) | vague) & (trusted < n)
    if too_few.any():
        spared = [name for name, few in zip(names, too_few, strict=True) if few]
        few = f"Too few examples are labelled {listed(spared)}"
        notes.append(f"{few} to call any of them likely wrong at the estimated rate.")
    return np.where(too_few, n, trusted)


def _remarks(quota: Quota, trusted: np.ndarray, names: list[Any], never_seen: int) -> list[str]:
    """What a reader must know: which classes stay out of the balance or empty, what has no rank.

    `trusted` counts the examples of each class that are not likely wrong.
    """
    said = [
        _left_out(why, [name for name in names if quota.left_out.get(name) == why])
        for why in dict.fromkeys(quota.left_out.values())
    ]
    empty = [name for name, num in zip(names, quota.num, strict=True) if num == 0]
    if empty:
        said.append(f"No example labelled {listed(empty)} is kept.")
    wrong, expected = int((quota.n - trusted).sum()), float(quota.noise_rate @ quota.n)
    if wrong - expected >= max(MANY, expected / 2):
        said.append(
            f"{counted(wrong, 'label')} called likely wrong, where the rates make for about {expected:,.0f}: in a "
            "small class a rate is rounded up to a whole example."
        )
    if never_seen:
        said.append(f"{counted(never_seen, 'example')} never seen, and so not ranked.")
    return said


def _left_out(why: str, names: list[Any]) -> str:
    if len(names) == 1:
        return f"Class {names[0]!r} is left out of the balance: {why}."
    return f"Classes {listed(names)} are left out of the balance, each because {why}."


def select_globally(score: Any, share: float) -> np.ndarray:
    """ "Only Mean Loss" of Table 1: the `share` of all examples with the smallest scores, classes ignored."""
    values = to_numpy(score)
    if not 0 <= share <= 1:
        raise InputError(f"share is {share!r}: it must lie between 0 and 1.")
    mask = np.zeros(len(values), dtype=bool)
    seen = np.count_nonzero(~np.isnan(values))
    mask[ranking.stable_argsort(values)[: int(whole_part(share * seen))]] = True
    return mask


class PrecisionRecall(NamedTuple):
    precision: float  # right ones among the selected; NaN if nothing is selected
    recall: float  # selected ones among the right; NaN if nothing is right


def precision_recall(mask: Any, is_right: Any) -> PrecisionRecall:
    """How clean a selection is, where a benchmark knows which labels are right."""
    chosen, right = to_numpy(mask).astype(bool), to_numpy(is_right).astype(bool)
    if chosen.shape != right.shape:
        raise InputError(f"mask has shape {chosen.shape}, is_right {right.shape}: one for each.")
    both = np.count_nonzero(chosen & right)
    return PrecisionRecall(*(both / total if total else float("nan") for total in (chosen.sum(), right.sum())))
