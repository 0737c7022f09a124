"""The audit: which examples to check by hand, what was answered, and the answers back in the selection.

Two strata are drawn from, the kept examples and the dropped ones, each at random over all classes. Instead, the most
suspicious of what was not kept may be gone through, the worst first: that corrects more labels, but measures nothing.

A person says of each label: right | wrong, it is X | none of the classes | unsure. Unsure answers are counted and are
no evidence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from smallloss.errors import InputError
from smallloss.words import counted, listed

KEPT, DROPPED = 40, 20  # answers asked for in each stratum
ANSWERS = ("right", "wrong", "none", "unsure")
NONE, UNSURE = -1, -2  # in the place of a true class


class Labelled(Protocol):
    """Labels that can be answered for, and which of them are kept."""

    @property
    def classes(self) -> np.ndarray: ...
    @property
    def class_index(self) -> np.ndarray: ...
    @property
    def mask(self) -> np.ndarray: ...


class Ranked(Labelled, Protocol):
    """What an audit needs of a selection: a `Selection` has it, and so has the training part of a run."""

    @property
    def rank_in_class(self) -> np.ndarray: ...


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
        raise InputError(f"An audit of {kept} kept and {dropped} dropped examples checks nothing: ask for some.")
    key = np.random.default_rng([seed, *b"audit"]).permutation(len(selection.mask))
    free = selection.rank_in_class > 0
    free[np.asarray(answered, np.int64)] = False
    strata = ((free & selection.mask, kept), (free & ~selection.mask, dropped))
    index = np.concatenate([_first(np.flatnonzero(stratum), key, wanted) for stratum, wanted in strata])
    if not len(index):
        asked = " or ".join(name for name, wanted in (("kept", kept), ("dropped", dropped)) if wanted)
        raise InputError(f"There is no {asked} example left to check: all that were trained on have an answer.")
    index = index[np.argsort(key[index])]
    return Sample(index, selection.mask[index])


def _first(members: np.ndarray, key: np.ndarray, wanted: int) -> np.ndarray:
    return members[np.argsort(key[members], kind="stable")[:wanted]]


def most_suspicious(
    label_score: np.ndarray, kept: np.ndarray, count: int, *, answered: Sequence[int] = ()
) -> np.ndarray:
    """Up to `count` examples that are not kept, those of the lowest label scores first, never one that was answered."""
    if count < 1:
        raise InputError(f"The {count} most suspicious examples are none: ask for some.")
    free = ~np.isnan(label_score) & ~kept
    free[np.asarray(answered, np.int64)] = False
    if not free.any():
        raise InputError("No suspicious example is left to check: all that were not kept have an answer.")
    return _first(np.flatnonzero(free), label_score, count)


# --- what was answered ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answers:
    """What a person said of examples, one entry each."""

    index: np.ndarray
    kept: np.ndarray
    label: np.ndarray  # position of the given label among the classes
    true: np.ndarray  # position of the true class, NONE or UNSURE
    empty: int = 0  # rows left without an answer
    known: Mapping[int, int] = field(default_factory=dict)  # example that is no sample -> its true class, or UNSURE

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

    def known_counts(self, class_index: np.ndarray, label: int | None = None) -> tuple[int, int, int]:
        """Of the known examples, perhaps under one label only: those with wrong labels, the undecided, and all."""
        known = [(true, class_index[i]) for i, true in self.known.items() if label in (None, class_index[i])]
        undecided = sum(true == UNSURE for true, _ in known)
        return sum(true not in (given, UNSURE) for true, given in known), undecided, len(known)


def read_answers(
    selection: Labelled,
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
        rows[i] = true_class(word or "", name or "", int(selection.class_index[i]), code, place)
    if not rows:
        raise InputError(f"None of the {empty:,} examples has an answer yet: write right, wrong, none or unsure.")
    if all(true == UNSURE for true in rows.values()):
        raise InputError(f"Every answer ({len(rows):,}) is unsure, so nothing follows: check more examples.")
    at = np.array(list(rows), np.int64)
    label, true = selection.class_index[at].astype(np.int64), np.array(list(rows.values()), np.int64)
    return Answers(at, selection.mask[at], label, true, empty)


def true_class(word: str, name: str, label: int, code: Mapping[str, int], place: str) -> int:
    """The true class that an answer tells of an example with this label, NONE or UNSURE; a contradiction is refused."""
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


def sample_of(answers: Answers, suspicious: np.ndarray, selection: Ranked, label_score: np.ndarray) -> Answers:
    """The answers that are a sample: those on the most `suspicious` are not, and become known, as if from before.

    So does every dropped example down to the last of them: what was drawn there by its answer, what was passed over as
    one that may be wrong or not. The other draws are a sample of the rest, whatever was asked first.
    """
    if not suspicious.any():
        return answers
    last = label_score[answers.index[suspicious]].max()
    above = (selection.rank_in_class > 0) & ~selection.mask & (label_score <= last)
    apart = above[answers.index]
    known = dict.fromkeys(np.flatnonzero(above).tolist(), UNSURE) | dict(answers.known)
    known |= dict(zip(answers.index[apart].tolist(), answers.true[apart].tolist(), strict=True))
    columns = {name: getattr(answers, name)[~apart] for name in ("index", "kept", "label", "true")}
    return replace(answers, known=known, **columns)


# --- back into the selection --------------------------------------------------------------------------------


def pins(answers: Answers) -> dict[int, int]:
    """Example -> its true class by hand (or NONE): what every later selection and export must respect."""
    return dict(zip(answers.index[answers.decided].tolist(), answers.true[answers.decided].tolist(), strict=True))


def pin(score: Any, class_index: np.ndarray, pinned: Mapping[int, int]) -> np.ndarray:
    """Scores that make `select` respect what was answered right: it comes first in its class."""
    scores = np.array(score, np.float64)
    right = np.array([i for i, true in pinned.items() if true == class_index[i]], np.int64)
    for k in np.unique(class_index[right]):
        members = scores[class_index == k]
        if not np.isnan(members).all():
            scores[right[class_index[right] == k]] = np.nextafter(np.nanmin(members), -np.inf)
    return scores


def found_wrong(class_index: np.ndarray, pinned: Mapping[int, int]) -> np.ndarray:
    """Which were answered wrong, or as none of the classes: `known_wrong` of `select`."""
    wrong = np.zeros(len(class_index), bool)
    wrong[[i for i, true in pinned.items() if true != class_index[i]]] = True
    return wrong


def in_words(class_index: np.ndarray, pinned: Mapping[int, int]) -> str:
    """What became of the answers, for the notes of a run."""
    right = sum(true == class_index[i] for i, true in pinned.items())
    none = sum(true == NONE for true in pinned.values())
    return (
        f"{counted(len(pinned), 'answer')} by hand respected: {right:,} right (ranked first in their class), "
        f"{len(pinned) - right - none:,} wrong (ranked last, but learnt with the class that was named) and {none:,} in "
        "none of the classes (ranked last)."
    )
