"""Our figures in the paper's tables: a comparison for each cell and setting, and what it found, by row and cell."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smallloss.comparing.compare import Comparison, compare
from smallloss.comparing.facts import percent_of, precision_at_share
from smallloss.comparing.jobs import Results, run_of
from smallloss.criterion.selection import precision_recall, select_globally
from smallloss.paper.cells import Cell
from smallloss.paper.items import Row, Table
from smallloss.paper.webvision import WebVision, at_best
from smallloss.record.examples import TRAIN
from smallloss.record.run import Run


class Work(NamedTuple):
    """What one comparison has to run: the methods of all rows that are trained alike."""

    cell: Cell | WebVision
    variant: str
    rows: tuple[Row, ...]

    def folder(self, out: Path) -> Path:
        return folder_of(out, self.cell.name, self.variant)

    @property
    def methods(self) -> str:
        return ",".join(dict.fromkeys(row.method for row in self.rows))

    def run(self, out: Path, how: Mapping[str, Any], seeds: int, say: Callable[[str], None]) -> Comparison:
        """Whatever of it is not done yet."""
        first = self.rows[0]
        options = dict(how) | self.cell.told(first.off)
        options["settings"] = {**(options.get("settings") or {}), **first.settings}
        return compare(self.cell, self.folder(out), methods=self.methods, seeds=seeds, say=say, beside=(), **options)


def folder_of(out: Path, cell: str, variant: str) -> Path:
    return out / "cells" / cell.replace("/", "-") / variant.replace(" ", "-")


def work_of(table: Table, cells: Sequence[Cell | WebVision], methods: Sequence[str] | None) -> Iterator[Work]:
    """All that a table needs, a piece for each comparison; `methods` leaves others out."""
    rows = [row for row in table.rows if methods is None or row.method in methods]
    for cell in cells:
        for variant in dict.fromkeys(row.variant for row in rows):
            yield Work(cell, variant, tuple(row for row in rows if row.variant == variant))


def ours(table: Table, out: Path, cells: Sequence[str]) -> list[dict[str, Any]]:
    """What was measured so far: a line for each row, cell and seed, with all that a result has to say of itself."""
    return [
        {"item": table.name, "cell": cell, "row": row.name, **line, **_measured(table, row, line, folder, cell)}
        for cell in cells
        for row in table.rows
        for folder in [folder_of(out, table.measured_on or cell, row.variant)]
        for line in Results(folder).rows()
        if line["method"] == row.method
    ]


def _measured(
    table: Table, row: Row, line: Mapping[str, Any], folder: Path, cell: str
) -> dict[str, float | None]:  # fmt: skip
    run = run_of(folder, row.method, line["seed"])
    if row.ranked:
        return {"precision": _ranked(run, row.ranked)}
    if table.measured_on:
        return {"best": at_best(run, row.method, cell)}
    return {measure: line[measure] for measure in table.measures}


@cache  # of a finished run: its table is written after each that follows
def _ranked(folder: Path, how: str) -> float | None:
    """Table 1: the share 1 - eta of the training part with the smallest scores, all together or class by class;
    or with the smallest losses after the last epoch."""
    run = Run.read(folder)
    e, rows = run.examples, run.examples.rows(TRAIN)
    assert e.true is not None
    assert run.ledger is not None
    score = (run.ledger.last_loss if how == "last" else e.score)[rows]
    right = (e.label == e.true)[rows]
    if how == "class":
        return precision_at_share(score, e.label[rows], right, len(e.classes))
    mask = select_globally(score, float(right.mean()))
    return percent_of(precision_recall(mask, right).precision)


def spread(table: Table, lines: Sequence[Mapping[str, Any]], measure: str, row: str, cell: str) -> list[float]:
    """Our figures of one entry, a number for each seed that was run."""
    found = [line[measure] for line in lines if (line["row"], line["cell"]) == (row, cell)]
    return [float(value) for value in found if value is not None and np.isfinite(value)]
