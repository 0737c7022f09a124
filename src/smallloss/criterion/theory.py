"""What Lemma 2 and Theorems 1 and 2 say of a transition matrix, class by class, in words."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from smallloss.criterion import transition
from smallloss.errors import InputError
from smallloss.words import listed, one_line, quoted

ROWS_SHOWN = 20
NAMES_SHOWN = 3
_MARGIN = (
    "The margin is how much more often a class gets its own label than any other class gets it; right examples keep "
    "the smaller losses while the network's outputs are off by less than half of it."
)


@dataclass(frozen=True)
class Break:
    """A pair that breaks a condition: true class `true` gets `label` with probability `flipped`.

    `kept` is what it should stay below: in a column break the T_kk of the label, in a row break the T_ii of
    the true class.
    """

    true: str
    label: str
    flipped: float
    kept: float


@dataclass(frozen=True)
class Theory:
    """Facts per class in the order of `classes`; `str(theory)` is the table for a terminal."""

    classes: tuple[str, ...]
    ranking_holds: tuple[bool, ...]
    """Theorem 1, per label: the right examples have a smaller loss than the wrong ones."""
    classifier_holds: tuple[bool, ...]
    """Lemma 2, per true class: a network that fits the noisy labels predicts it rightly."""
    margin: tuple[float, ...]
    tolerated_epsilon: tuple[float, ...]
    """Theorem 2, per label: how far a network may be from ideal before its ranking can break."""
    column_breaks: tuple[Break, ...]
    row_breaks: tuple[Break, ...]

    def named(self, holds: Sequence[bool], noun: str) -> str:
        """Those that do not hold, as "2 of 10 labels ('cat', 'dog')"."""
        failing = [name for name, good in zip(self.classes, holds, strict=True) if not good]
        return f"{len(failing):,} of {len(self.classes):,} {noun} ({listed(failing, NAMES_SHOWN, quoted)})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {key: list(value) for key, value in asdict(self).items()}

    def __str__(self) -> str:
        ranking = _section("Where the ranking breaks:", self.column_breaks, _column_sentence)
        errors = _section("Where a classifier fitted to all labels errs:", self.row_breaks, _row_sentence)
        return "\n".join([*self._table(), *ranking, *errors, "", _MARGIN])

    def _table(self) -> list[str]:
        order = sorted(range(len(self.classes)), key=lambda k: (round(self.margin[k], 9), self.classifier_holds[k]))
        shown, rest = order[:ROWS_SHOWN], order[ROWS_SHOWN:]
        names = [one_line(self.classes[k]) for k in shown]
        width = max(len("class"), *map(len, names))
        lines = [f"{'class':<{width}}  margin  may be off by  ranking  classifier"]
        for k, name in zip(shown, names, strict=True):
            ranking = "works" if self.ranking_holds[k] else "BREAKS"
            classifier = "works" if self.classifier_holds[k] else "ERRS"
            numbers = f"{self.margin[k]:6.3f}  {self.tolerated_epsilon[k]:13.3f}"
            lines.append(f"{name:<{width}}  {numbers}  {ranking:<7}  {classifier}")
        if rest:
            lines.append(
                f"and {len(rest):,} more, with margins of {self.margin[rest[0]]:.3f} or above: the ranking works for "
                f"{sum(self.ranking_holds[k] for k in rest)} of them, the classifier for "
                f"{sum(self.classifier_holds[k] for k in rest)}."
            )
        return lines


def theory_of(T: ArrayLike, classes: Sequence[str] | None = None) -> Theory:
    """Lemma 2 and Theorems 1 and 2 on T, class by class; `classes` are the names, in the order of T."""
    T = transition.validate(T)
    names = tuple(map(str, range(len(T)) if classes is None else classes))
    if len(names) != len(T):
        raise InputError(f"{len(names)} class names were given for a transition matrix of {len(T)} classes.")
    each = (transition.column_dominance, transition.row_dominance, transition.margin, transition.tolerated_epsilon)
    kept = np.broadcast_to(T.diagonal(), T.shape)
    ranking, classifier, margin, epsilon = (tuple(fact(T).tolist()) for fact in each)
    breaks = _breaks(T, kept, names), _breaks(T, kept.T, names)
    return Theory(names, ranking, classifier, margin, epsilon, *breaks)


def _breaks(T: transition.Matrix, kept: transition.Matrix, names: Sequence[str]) -> tuple[Break, ...]:
    """The pairs i != j with T_ij >= kept_ij, worst first; ties within rounding count, as in dominance."""
    excess = np.where(np.eye(len(T), dtype=bool), -np.inf, T - kept)
    pairs = np.argwhere(excess >= -transition.TIE_TOLERANCE).tolist()
    pairs.sort(key=lambda pair: -round(excess[pair[0], pair[1]], 9))
    return tuple(Break(names[i], names[j], float(T[i, j]), float(kept[i, j])) for i, j in pairs)


def _section(title: str, breaks: Sequence[Break], sentence: Callable[[Break], str]) -> list[str]:
    if not breaks:
        return []
    lines = ["", title, *(f"  {sentence(pair)}" for pair in breaks[:ROWS_SHOWN])]
    if len(breaks) > ROWS_SHOWN:
        lines.append(f"  and {len(breaks) - ROWS_SHOWN:,} more such pairs.")
    return lines


def _column_sentence(pair: Break) -> str:
    true, label = quoted(pair.true), quoted(pair.label)
    return (
        f"label {label}: true {true} examples get it with probability {pair.flipped:.2f}, true {label} ones "
        f"with {pair.kept:.2f}, so a wrong {label} that is truly {true} has no larger loss than a right one."
    )


def _row_sentence(pair: Break) -> str:
    true, label = quoted(pair.true), quoted(pair.label)
    return (
        f"true {true}: labelled {label} ({pair.flipped:.2f}) at least as often as {true} ({pair.kept:.2f}), "
        f"so the classifier may call it {label}."
    )
