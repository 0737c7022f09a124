"""Rank class by class, select, weigh, and give the reason (Algorithm 1, lines 8-14)."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from smallloss.criterion.estimate import Estimate, estimate
from smallloss.criterion.known import check_scores, known_last, prior_of, probability_of_label, rates_of
from smallloss.criterion.labels import by_class, encode, encode_among, require_one_order
from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.quota import ClassSize, Gamma, Quota, Rounding, quotas, whole_part
from smallloss.criterion.ranking import rank_class_by_class, stable_argsort
from smallloss.criterion.remarks import remarks
from smallloss.criterion.transition import validate
from smallloss.criterion.verdict import Verdict, check
from smallloss.criterion.weights import label_scores, weights
from smallloss.errors import InputError
from smallloss.values import to_numpy
from smallloss.words import listed

if TYPE_CHECKING:
    from smallloss.criterion.data_verdict import DataVerdict

SAFETY_LEVEL = 0.8  # where rates are estimated, prop(i) stays below 1 minus the upper end of this interval
FEW = 10  # of so many one is a tenth, as much as that interval leaves beyond its end
DOUBT = 0.2  # of those that an estimated rate calls right, the share that its interval puts in doubt: vague from here
KAPPA = -float(np.log(0.7))
REASONS = (
    "kept",
    "likely wrong",
    "set aside for safety",
    "set aside for balance",
    "unreadable",
    "never seen",
)
KEPT, LIKELY_WRONG, SAFETY, BALANCE, UNREADABLE, NEVER_SEEN = range(len(REASONS))


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
    estimated: Estimate | None = None  # the rates, where nobody knew them
    probabilities: np.ndarray | None = None  # what they were estimated from

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
        return weights(self.score, self.mask, self.class_index, lowest, highest, self.kappa)

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
        return label_scores(self.rank_in_class, self.class_index, self.quota.n, self.trusted)

    @cached_property
    def cutoff(self) -> np.ndarray:
        """The score of the last example kept in each class; NaN where none is."""
        return self._score_at(self.quota.num)

    @cached_property
    def verdict(self) -> "Verdict | DataVerdict | None":
        """What the theory says (Theorems 1 and 2), of T or of the estimate; None where only rates were given."""
        if self.transition is not None:
            return check(self.transition, [str(name) for name in self.classes.tolist()])
        if self.estimated is None:
            return None
        from smallloss.criterion.trust import judge  # which judges selections

        return judge(self.estimated, self, self.probabilities, self.classes[self.class_index])

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


def select(
    score: Any,
    labels: Any,
    noise_rate: Any = None,
    *,
    classes: Any = None,
    upper: Any = None,
    transition: Any = None,
    probabilities: Any = None,
    prior: Any = None,
    known_wrong: Any = None,
    beta: float = 0.2,
    gamma: Gamma = "middle",
    kappa: float = KAPPA,
    weight_max: Literal["selected", "class"] = "selected",
    rounding: Rounding = "safe",
    class_size: ClassSize = "observed",
) -> Selection:
    """RSL's selection (Algorithm 1, lines 8-14, with Eq. 2): the smallest scores of each class.

    selection = select(ledger, labels, noise_rate=0.2) has a vector over the examples for each question: `mask` (safe to
    learn from), `weight`, `is_label_issue` (likely wrong), `label_score`, `reason`; and `table()`, `verdict`, `notes`.

    score: a vector, higher = more suspicious, NaN = never seen; or a ledger, whose mean loss is taken.
    classes: all there are, in the order that vectors and T follow; left out, the sorted labels.
    noise_rate: share of wrong labels among those that carry label k: a number, {label: rate}, or a vector in
    the order of the classes; without it, `transition` (T[i, j] = P(label j | true class i)) gives it.
    upper: the upper ends of the rates' intervals, where they were estimated (see `quotas`).
    prior: distribution of the true classes: a vector, {label: share}, "uniform", or None: taken from
    `transition` and the label counts, and where there is no transition, unknown: then nothing is balanced.
    probabilities: (n, classes), out of sample; label_score is then the probability of the given label, and noise
    rates that nobody knows are estimated from them.
    known_wrong: a mask of labels that somebody found wrong. They come last in their class and count in its rate, which
    is at least their share: none of them is ever selected.
    weight_max: whether l_max of the weights is over the "selected" (the paper) or the "class" (its code).
    beta: safety, from 0 to 1: how much less than the 1 - noise_rate that should be right is kept.
    gamma: balance: "none" keeps all that is safe of every class, 1 keeps classes in proportion to the prior, "middle"
    (the paper's) lies half-way.
    kappa: the smallest weight is exp(-kappa). rounding, class_size: how whole numbers come about, see `quotas`.
    """
    notes: list[str] = []
    values = _mean_loss(score, notes) if isinstance(score, LossLedger) else np.array(to_numpy(score), np.float64)
    if classes is None:
        classes, class_index = encode(labels)
        if transition is not None:
            require_one_order(classes)
    else:
        classes, class_index = encode_among(labels, classes)
    check_scores(values, class_index, kappa, weight_max)
    names, c = classes.tolist(), len(classes)
    labelled = np.bincount(class_index, minlength=c)
    never_seen = np.flatnonzero(np.isnan(values))
    n = labelled - np.bincount(class_index[never_seen], minlength=c)
    ranked, least = known_last(values, class_index, known_wrong, n)
    found = None
    if noise_rate is None and transition is None and probabilities is not None:
        found = estimate(probabilities, classes[class_index], classes=names)
        noise_rate, upper = found.noise_rate, found.upper(SAFETY_LEVEL)
        prior = found.prior if prior is None else prior
        notes += [f"The noise rates are estimated: {found.evidence}", *found.notes]
    p = prior_of(prior, transition, labelled, names, notes)
    high = by_class("upper", upper, names, notes)
    quota = quotas(
        n,
        rates_of(noise_rate, transition, p, names, notes),
        p,
        upper=high,
        least=least,
        beta=beta,
        gamma=gamma,
        rounding=rounding,
        class_size=class_size,
        classes=names,
    )
    # A nominal class size may allow more than (1 - eta_k) n_k; what is selected is never called likely wrong.
    trusted = np.maximum(whole_part((1 - quota.noise_rate) * n), quota.num)
    if high is not None:
        trusted = _spare(trusted, n, quota.noise_rate, np.asarray(high), names, notes)
    return Selection(
        score=values,
        classes=classes,
        class_index=class_index,
        rank_in_class=rank_class_by_class(ranked, class_index, labelled, n),
        quota=quota,
        trusted=trusted,
        kappa=kappa,
        weight_max=weight_max,
        notes=(*notes, *remarks(quota, trusted, names, len(never_seen))),
        probability=probability_of_label(probabilities, class_index, c),
        transition=None if transition is None else validate(transition),
        estimated=found,
        probabilities=None if found is None else to_numpy(probabilities),
    )


def _mean_loss(ledger: LossLedger, notes: list[str]) -> np.ndarray:
    """The mean loss (Algorithm 1, line 7), where there is one to rank by."""
    opened = ledger.has_open_epoch
    if not ledger.count.any():
        what = f"no epoch of its window {ledger.window} was" if ledger.epochs else "no epoch was"
        raise InputError(f"The ledger has nothing to rank by: {what} closed.{' Call end_epoch() first.' * opened}")
    if opened:
        notes.append("The epoch that is still open is not counted; end_epoch() closes it.")
    return ledger.mean_loss


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


def select_globally(score: Any, share: float) -> np.ndarray:
    """ "Only Mean Loss" of Table 1: the `share` of all examples with the smallest scores, classes ignored."""
    values = to_numpy(score)
    if not 0 <= share <= 1:
        raise InputError(f"share is {share!r}: it must lie between 0 and 1.")
    mask = np.zeros(len(values), dtype=bool)
    seen = np.count_nonzero(~np.isnan(values))
    mask[stable_argsort(values)[: int(whole_part(share * seen))]] = True
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
