"""What speaks against a label where examples are no pictures: cells of a row that its class rarely has, words of a text
that another class uses."""

import re
from collections import Counter
from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np

from smallloss.data.columns import Rows
from smallloss.record.run import Run
from smallloss.report.facts import printable, shortened

CELLS_SHOWN, CELL_LENGTH = 8, 80
_ODD = 2  # standard deviations
WORDS_SHOWN, _TWICE, _OFTEN = 6, log(2), 3  # words that the other class uses twice as often, in as many of its texts
_LEARNT_FROM = 20_000  # texts
_WORD = re.compile(r"\w{2,}")


class Cells:
    """Of a row of a table, or of features, the cells that deviate most from what is kept under its label."""

    def __init__(self, run: Run) -> None:
        assert run.dataset is not None
        self._e, shown = run.examples, run.dataset.shown
        self._shown = shown if isinstance(shown, Rows) else None
        x = np.asarray(run.dataset.as_they_came)
        self._x = x if self._shown is None else None
        self.names = [f"feature {k}" for k in range(x.shape[1])] if shown is None else self._columns(shown)
        self._known: dict[int, list[Any]] = {}

    def _columns(self, shown: Any) -> list[str]:
        self._values = [_numbers(shown.table.column(name)) for name in shown.table.column_names]
        return [printable(name) for name in shown.table.column_names]

    def of(self, row: int) -> list[tuple[int, str, str]]:
        """(column, cell, what is odd about it: too high ↑, too low ↓ or rare !)."""
        texts = self.texts(row)
        usual = self._usual(int(self._e.label[row]))
        found = []
        for k, how in enumerate(usual):
            value: Any = self._x[row, k] if self._x is not None else self._values[k][row]
            far = _far(value, how)
            sign = "!" if isinstance(how, Counter) else "↑" if far > 0 else "↓"
            found.append((abs(far), (k, texts[k], sign if abs(far) >= _ODD else "")))
        return [one for _, one in sorted(found, key=lambda one: -one[0])[:CELLS_SHOWN]]

    def texts(self, row: int) -> list[str]:
        """All cells of a row."""
        if self._shown is None:
            assert self._x is not None
            return [f"{value:.6g}" for value in self._x[row].tolist()]
        return [shortened(printable(cell), CELL_LENGTH) for _, cell in self._shown.cells(row)]

    def _usual(self, label: int) -> list[Any]:
        """Of each column, middle and spread of its numbers among the kept, or how often each value occurs there."""
        if label not in self._known:
            mine = (self._e.label == label) & self._e.kept
            rows = np.flatnonzero(mine if mine.any() else self._e.label == label)
            columns = self._values if self._x is None else self._x[rows].T
            self._known[label] = [_middle(one if self._x is not None else one[rows]) for one in columns]
        return self._known[label]


def _numbers(column: Any) -> np.ndarray:
    """As numbers where they are; else as objects."""
    cells = column.to_pylist()
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError):
        return np.array([None if cell is None else str(cell) for cell in cells], dtype=object)


def _middle(values: np.ndarray) -> Any:
    if values.dtype == object:
        return Counter(values.tolist())
    known = values[np.isfinite(values)].astype(np.float64)
    if not len(known):
        return 0.0, np.inf
    middle = float(np.median(known))
    spread = 1.4826 * float(np.median(np.abs(known - middle))) or float(known.std())
    return middle, spread or np.inf


def _far(value: Any, usual: Any) -> float:
    """In standard deviations; a value that is as rare as such a number counts as much."""
    if isinstance(usual, Counter):
        return sqrt(2 * log((usual.total() + 1) / (usual[value] + 1)))
    middle, spread = usual
    return float(np.clip((value - middle) / spread, -99, 99)) if np.isfinite(value) else 0.0


class Words:
    """Which words of a text speak for one class against another, by how many of their kept texts have them."""

    def __init__(self, run: Run, texts: Sequence[str]) -> None:
        e = run.examples
        rows = np.flatnonzero(e.kept)
        rows = rows[:: -(-len(rows) // _LEARNT_FROM) or 1]
        self._used = [Counter[str]() for _ in e.classes]
        self._texts = np.bincount(e.label[rows], minlength=len(e.classes)).tolist()
        for row in rows.tolist():
            self._used[e.label[row]].update(words_in(texts[row]))

    def of(self, text: str, given: int, other: int) -> list[str]:
        """The strongest first."""
        if given == other or other < 0:
            return []
        used, (n, m) = self._used[other], (self._texts[other], self._texts[given])
        speaks = {
            word: log((used[word] + 0.5) / (n + 1)) - log((self._used[given][word] + 0.5) / (m + 1))
            for word in words_in(text) if used[word] >= _OFTEN
        }  # fmt: skip
        strong = sorted((word for word, how in speaks.items() if how > _TWICE), key=lambda word: (-speaks[word], word))
        return strong[:WORDS_SHOWN]


def words_in(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
