"""Answers by hand: what a person says of a label, and what every later selection must respect.

Of each label: right | wrong, it is X | none of the classes | unsure.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from smallloss.errors import InputError
from smallloss.words import counted, listed

ANSWERS = ("right", "wrong", "none", "unsure")
COLUMNS = ("id", "index", "given_label", "predicted_label", "stratum", "answer", "true_label", "run")  # of their file
SUSPICIOUS = "suspicious"  # the stratum of what is looked at because it looks wrong, and not drawn at random
PROMISE = 0.95  # the share of right labels that the kept ones are asked to reach, if nobody asks for another
NONE, UNSURE = -1, -2  # in the place of a true class


class Interval(NamedTuple):
    """A share, and how far it can be told."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float | None]:
        """As JSON can say it: a value that nothing is known of is None."""
        return {name: value if np.isfinite(value) else None for name, value in self._asdict().items()}


class Labelled(Protocol):
    """Labels that can be answered for, and which of them are kept: a `Selection` has it."""

    @property
    def classes(self) -> np.ndarray: ...
    @property
    def class_index(self) -> np.ndarray: ...
    @property
    def mask(self) -> np.ndarray: ...


def most_suspicious(
    label_score: np.ndarray, kept: np.ndarray, count: int, *, answered: Sequence[int] = ()
) -> np.ndarray:
    """Up to `count` rows that are not kept, those of the lowest label scores first, never one that was answered."""
    free = ~np.isnan(label_score) & ~kept
    free[np.asarray(answered, np.int64)] = False
    if not free.any():
        raise InputError("No suspicious example is left to check: all that were not kept have an answer.")
    members = np.flatnonzero(free)
    return members[np.argsort(label_score[members], kind="stable")[:count]]


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


def decided(answers: Mapping[int, int]) -> dict[int, int]:
    """Row -> its true class by hand (or NONE): what every later selection and export must respect."""
    return {row: true for row, true in answers.items() if true != UNSURE}


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
