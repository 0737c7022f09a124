"""T for a reader: a small matrix where it fits, otherwise the most frequent confusions in words."""

from dataclasses import dataclass

import numpy as np

from smallloss.record.run import Run
from smallloss.words import one_line, percent

CLASSES_SHOWN = 20
PAIRS_SHOWN = 12
SHORT_NAME = 4
_WORTH_NAMING = 0.02


@dataclass(frozen=True)
class Cell:
    share: str
    shade: int  # percent of colour; the diagonal has one of its own
    diagonal: bool


@dataclass(frozen=True)
class Confusions:
    """T[i, j]: how often a true i is labelled j."""

    estimated: bool
    names: list[str]
    tall: bool  # the names are too long to stand side by side
    rows: list[list[Cell]]  # empty where there are too many classes for a matrix
    pairs: list[tuple[str, str, str]]  # true class, the label it got, how often


def confusions(run: Run) -> Confusions | None:
    """From the estimate, or from the T that was known; None where there is neither."""
    known = run.settings.get("noise", {}).get("transition")
    if run.estimate is None and known is None:
        return None
    T = np.asarray(known if run.estimate is None else run.estimate.transition, dtype=np.float64)
    names = [one_line(name) for name in run.examples.classes]
    rows = [[_cell(T, i, j) for j in range(len(T))] for i in range(len(T))] if len(T) <= CLASSES_SHOWN else []
    tall = any(len(name) > SHORT_NAME for name in names)
    return Confusions(run.estimate is not None, names, tall, rows, _pairs(T, names))


def _cell(T: np.ndarray, i: int, j: int) -> Cell:
    if T[i, j] < 0.005:
        return Cell("", 0, i == j)
    # Flips by their square root: a rare one should not pass for none.
    shade = 55 * T[i, j] if i == j else 80 * np.sqrt(T[i, j])
    return Cell(f"{100 * T[i, j]:.0f}", round(shade), i == j)


def _pairs(T: np.ndarray, names: list[str]) -> list[tuple[str, str, str]]:
    flips = np.where(np.eye(len(T), dtype=bool), 0, T)
    order = np.argsort(-flips, axis=None, kind="stable")[:PAIRS_SHOWN]
    found = [(int(k) // len(T), int(k) % len(T)) for k in order]
    return [(names[i], names[j], percent(T[i, j], 0)) for i, j in found if flips[i, j] >= _WORTH_NAMING]
