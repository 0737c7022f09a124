"""The verdict: unchecked, checked, or do not trust. Noisy labels may refute trust, never earn it; answers earn it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from smallloss.criterion.theory import NAMES_SHOWN, Theory, theory_of
from smallloss.criterion.transition import Matrix, column_dominance
from smallloss.errors import InputError
from smallloss.noise.answers import PROMISE, Interval, Labelled
from smallloss.noise.model import NoiseModel
from smallloss.words import counted, listed, percent, quoted

Word = Literal["unchecked", "checked", "do not trust"]

FEW = 20  # answers on the kept examples of a class, below which it is named as not checked
ONLY_ANSWERS = (
    "Noisy labels alone cannot show a class most of whose examples carry another's label, nor a mistake that follows a "
    "rule which the network learns; only answers by hand can."
)
CLASS_ALONE = "The theory holds for noise that depends on the true class alone, not on the individual example."
TELLS_NOTHING = (
    "the network's predictions agree with the labels no more than chance would, so that it cannot tell right ones from "
    "wrong ones"
)


@dataclass(frozen=True, eq=False)
class Checked:
    """What answers by hand prove of the kept labels."""

    precision: Interval  # the share of right ones among all kept
    right: int
    answered: int  # of these, unsure ones included
    of_class: np.ndarray  # how many of them per class
    more: int = 0  # answers that would settle it at the rate seen; 0 where none would


@dataclass(frozen=True)
class Judgement:
    """`str(verdict)` is the page for a terminal; `word` is one of three, `tone` the colour that says the same."""

    word: Word
    headline: str
    reasons: tuple[str, ...]  # what speaks against the kept labels, worst first
    limits: tuple[str, ...]  # what it cannot know
    counts: str = ""  # what the networks' predictions say, in a sentence
    promise: float = PROMISE
    precision: Interval | None = None  # of the kept labels, by answers
    theory: Theory | None = None  # of the T that was given

    @property
    def tone(self) -> Literal["green", "amber", "red"]:
        if self.word == "do not trust":
            return "red"
        return "green" if self.precision is not None and self.precision.low >= self.promise else "amber"

    @property
    def details(self) -> str:
        """What stands below the headline."""
        said = [*self.reasons, *filter(None, [self.counts]), *self.limits]
        return "\n\n".join(["\n".join(said), *([] if self.theory is None else [str(self.theory)])])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {
            **{name: getattr(self, name) for name in ("word", "tone", "headline", "counts", "promise")},
            **{name: list(getattr(self, name)) for name in ("reasons", "limits")},
            "precision": None if self.precision is None else self.precision.to_dict(),
            "theory": None if self.theory is None else self.theory.to_dict(),
        }

    @classmethod
    def from_saved(cls, facts: dict[str, Any], transition: ArrayLike | None, classes: Sequence[str]) -> "Judgement":
        """What `to_dict` gave; the theory is that of the T it was given of."""
        plain = {name: facts[name] for name in ("word", "headline", "counts", "promise")}
        plain |= {name: tuple(facts[name]) for name in ("reasons", "limits")}
        precision = None if facts["precision"] is None else Interval(**facts["precision"])
        theory = None if facts["theory"] is None or transition is None else theory_of(transition, classes)
        return cls(**plain, precision=precision, theory=theory)

    def __str__(self) -> str:
        return f"{self.headline}\n\n{self.details}"


def check(T: ArrayLike, classes: Sequence[str] | None = None) -> Judgement:
    """Theorems 1 and 2 and Lemma 2 on a matrix alone: whether the ranking works for it, never that it was checked."""
    theory = theory_of(T, classes)
    word: Word = "unchecked"
    headline = (
        "The ranking works for this matrix: under every label the right examples have smaller losses than the wrong "
        f"ones, as long as the network's outputs are less than {min(theory.tolerated_epsilon):.3f} from ideal."
    )
    if not all(theory.ranking_holds):
        word, broken = "do not trust", theory.named(theory.ranking_holds, "labels")
        headline = (
            f"Do not trust the ranking: under {broken} a wrongly labelled example can have as small a loss as a "
            "rightly labelled one."
        )
    return Judgement(word, headline, _errs(theory), (CLASS_ALONE,), theory=theory)


def judge(
    selection: Labelled, noise: NoiseModel | None = None, *, checked: Checked | None = None, promise: float = PROMISE,
    learnt_from: int = 0,
) -> Judgement:  # fmt: skip
    """One verdict on all kept labels together, by T as it was said or by an estimate, with answers or without.

    Red without answers: where the network tells nothing, or where more of the kept than the promise leaves room for
    carry labels whose ranking breaks (by the T given, or by the low ends of the estimated rates). Answers outrank that.
    learnt_from: how many answers chose what is kept.
    """
    require_promise(promise)
    names = [str(name) for name in selection.classes.tolist()]
    estimate = noise if noise is not None and noise.is_estimated else None
    T = None if noise is None or estimate is not None else noise.transition
    theory = None if T is None else theory_of(T, names)
    kept = np.bincount(selection.class_index[selection.mask], minlength=len(names))
    refuted, reasons = _refuted(kept, names, estimate, theory, promise)
    counts = estimate.evidence if estimate else ""
    if counts and (learnt_from or (checked is not None and checked.answered)):
        counts = f"Before any answer: {counts[0].lower()}{counts[1:]}"
    facts: dict[str, Any] = {"counts": counts, "promise": promise, "theory": theory}
    if checked is None or not checked.answered:
        word, headline = _unanswered(int(kept.sum()), refuted, learnt_from)
        limits = (ONLY_ANSWERS, *([] if theory is None else [CLASS_ALONE]))
        return Judgement(word, headline, tuple(reasons), limits, **facts)
    word, headline = _answered(checked, promise, refuted)
    few = [name for name, asked, of in zip(names, checked.of_class, kept, strict=True) if of and asked < min(FEW, of)]
    limits = (
        "It holds for all kept labels together, whatever the noise depends on, not for each class.",
        *([f"Not checked, with fewer than {FEW} answers each: {_some(few)}."] if few else []),
    )
    return Judgement(word, headline, tuple(reasons), limits, precision=checked.precision, **facts)


def require_promise(promise: float) -> None:
    if not 0 < promise < 1:
        raise InputError(f"The promise is {promise:g}: it is a share of right labels, between 0 and 1, such as 0.95.")


def _unanswered(kept: int, refuted: str, learnt_from: int) -> tuple[Word, str]:
    if refuted:
        return "do not trust", f"Do not trust the kept labels: {refuted}."
    if learnt_from:
        return "unchecked", (
            f"Unchecked: {counted(learnt_from, 'answer')} chose what is kept, so none judges it. How many of the "
            f"{kept:,} kept labels are right, only fresh answers can tell (smallloss audit)."
        )
    return "unchecked", (
        f"Unchecked: nobody has looked at these labels yet. How many of the {kept:,} kept ones are right, only answers "
        "by hand can tell (smallloss audit)."
    )


def _answered(checked: Checked, promise: float, refuted: str) -> tuple[Word, str]:
    """Green where the low end reaches the promise, red where the high end lies below it."""
    low, high = floor(1000 * checked.precision.low) / 1000, ceil(1000 * checked.precision.high) / 1000
    found = f"{checked.right:,} of {checked.answered:,} looked at were"
    if checked.precision.high < promise:
        return "do not trust", (
            f"Do not trust the kept labels: at most {percent(high)} of them are right, where {percent(promise)} are "
            f"asked for ({found})."
        )
    proved = f"Checked: at least {percent(low)} of the kept labels are right ({found})."
    if checked.precision.low >= promise:
        return "checked", proved
    if refuted:
        return (
            "do not trust",
            f"Do not trust the kept labels: {refuted}, and by hand at least {percent(low)} are right.",
        )
    more = f" About {checked.more:,} more answers would settle it." if checked.more else ""
    return "checked", f"{proved} That is less than the {percent(promise)} asked for.{more}"


def _refuted(
    kept: np.ndarray, names: list[str], estimate: NoiseModel | None, theory: Theory | None, promise: float
) -> tuple[str, list[str]]:
    """Why noisy labels alone forbid trust ("" if they do not), and what else speaks against the kept labels."""
    if not kept.any():
        return "nothing is kept, so there is nothing to rely on", []
    if estimate is not None and estimate.tells_nothing:
        return TELLS_NOTHING, []
    if theory is not None:
        holds = np.array(theory.ranking_holds)
    elif estimate is not None:
        holds = column_dominance(_at_low_end(estimate))
    else:
        return "", ["Only noise rates were given, not T, so the theory says nothing."]
    failing = _some([name for name, good in zip(names, holds, strict=True) if not good])
    errs = [] if theory is None else list(_errs(theory))
    share = kept[~holds].sum() / kept.sum()
    if share > 1 - promise:
        return f"{percent(share)} of them carry labels whose wrong examples are not ranked last ({failing})", errs
    broken = [f"The ranking breaks for {failing}; leave these out ({percent(share)} of the kept)."]
    return "", (broken if failing else []) + errs


def _at_low_end(estimate: NoiseModel) -> Matrix:
    """T as it would be if of every label no more were wrong than the low end of its rate says."""
    joint = estimate.prior[:, None] * estimate.transition
    labelled = joint.sum(axis=0)
    wrong = np.divide(estimate.low, estimate.noise_rate, out=np.zeros_like(labelled), where=estimate.noise_rate > 0)
    joint *= wrong
    np.fill_diagonal(joint, labelled * (1 - estimate.low))
    return joint / np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def _errs(theory: Theory) -> tuple[str, ...]:
    if all(theory.classifier_holds):
        return ()
    return (f"A classifier fitted to all labels errs on {theory.named(theory.classifier_holds, 'true classes')}.",)


def _some(names: list[str]) -> str:
    return listed(names, NAMES_SHOWN, quoted)
