"""T for a reader: a small matrix where it fits, otherwise the most frequent confusions in words."""

from typing import Any

import numpy as np

from smallloss.record.run import Run
from smallloss.words import one_line, percent

CLASSES_SHOWN = 20
PAIRS_SHOWN = 12
SHORT_NAME = 4
_WORTH_NAMING = 0.02


def confusions(run: Run) -> dict[str, Any] | None:
    """T[i, j], how often a true i is labelled j, from the estimate or from the T that was known; None without either.

    rows: of cells (share, shade in percent of colour), empty where there are too many classes for a matrix. pairs: true
    class, the label it got, how often. tall: the names are too long to stand side by side.
    """
    known = run.settings.get("noise", {}).get("transition")
    if run.estimate is None and known is None:
        return None
    T = np.asarray(known if run.estimate is None else run.estimate.transition, dtype=np.float64)
    names = [one_line(name) for name in run.examples.classes]
    rows = [[_cell(T, i, j) for j in range(len(T))] for i in range(len(T))] if len(T) <= CLASSES_SHOWN else []
    tall = any(len(name) > SHORT_NAME for name in names)
    return {
        "estimated": run.estimate is not None,
        "names": names,
        "tall": tall,
        "rows": rows,
        "pairs": _pairs(T, names),
    }


def _cell(T: np.ndarray, i: int, j: int) -> tuple[str, int]:
    if T[i, j] < 0.005:
        return "", 0
    # Flips by their square root: a rare one should not pass for none.
    shade = 55 * T[i, j] if i == j else 80 * np.sqrt(T[i, j])
    return f"{100 * T[i, j]:.0f}", round(shade)


def _pairs(T: np.ndarray, names: list[str]) -> list[tuple[str, str, str]]:
    flips = np.where(np.eye(len(T), dtype=bool), 0, T)
    order = np.argsort(-flips, axis=None, kind="stable")[:PAIRS_SHOWN]
    found = [(int(k) // len(T), int(k) % len(T)) for k in order]
    return [(names[i], names[j], percent(T[i, j], 0)) for i, j in found if flips[i, j] >= _WORTH_NAMING]
