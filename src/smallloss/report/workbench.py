"""What the page has to be worked in: every example, and of the most suspicious what a person judges them by."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from smallloss.data.dataset import Dataset
from smallloss.data.table_files import as_cell, defuse
from smallloss.noise.answers import COLUMNS, SUSPICIOUS
from smallloss.record.run import Run
from smallloss.report.cells import Cells, Words
from smallloss.report.evidence import evidence
from smallloss.report.facts import printable, shortened
from smallloss.report.map import places
from smallloss.report.measures import TITLES
from smallloss.report.packed import BUDGET, Table, pack, readable, table
from smallloss.report.sheets import PER_SHEET, sheets

PAGE = 4_600_000  # characters, of which the rest of the page needs a few
TEXT_LENGTH = 3_000
FILE = "decisions.csv"


class Workbench(NamedTuple):
    """`data`: what the page's script reads. `shown` of the examples that look wrong have their picture, text or row."""

    data: str
    rows: int
    total: int
    suspects: int
    shown: int
    pictures: bool
    unreadable: int


def workbench(run: Run, *, served: bool = False) -> Workbench:
    """served: every picture can be asked for one by one."""
    e, data = run.examples, run.dataset
    every = table(run, BUDGET)
    there = np.array(_rows_of(every), np.int64)  # what is not in the list needs neither evidence nor a place
    suspects = there[e.likely_wrong[there]]
    suspects = suspects[np.argsort(e.label_score[suspects], kind="stable")]
    beside = evidence(run, suspects)
    facts: dict[str, Any] = {
        "run": run.key, "file": FILE, "fields": COLUMNS, "stratum": SUSPICIOUS,
        "classes": [printable(name) for name in e.classes], "cells": [defuse(as_cell(name)) for name in e.classes],
        "columns": every.columns, "evidence": {"rows": suspects.tolist(), **beside}, "served": served,
    }  # fmt: skip
    if run.features is not None and len(there):
        facts["map"] = dict(zip("xy", places(run.features[there], e.likely_wrong[there]).T.tolist(), strict=True))
    room = PAGE - every.size - len(pack({name: one for name, one in facts.items() if name != "columns"}))
    held = dict(zip(suspects.tolist(), _held_against(beside, len(suspects)), strict=True))
    wanted = _in_order(_listed(every.columns), held, _others(run))
    shown = {} if data is None else _shown(run, data, wanted, room, held)
    seen = int(np.isin(suspects, shown.get("rows", [])).sum())
    return Workbench(
        pack(facts | {"shown": shown}), every.rows, every.total, int(e.likely_wrong.sum()), seen, "sheets" in shown,
        len(e.unreadable),
    )  # fmt: skip


def _rows_of(every: Table) -> list[int]:
    """Those of the dataset that are in the list, in its order."""
    (rows,) = (column["values"] for column in every.columns if column["title"] == "row")
    return [row for row in rows if row is not None]


def _others(run: Run) -> list[int]:
    """What is not called likely wrong, the most suspicious first."""
    e = run.examples
    rows = np.flatnonzero((e.rank > 0) & ~e.likely_wrong)
    return rows[np.argsort(e.label_score[rows], kind="stable")].tolist()


def _listed(columns: list[dict[str, Any]]) -> list[int]:
    """The pictures that are odd whatever their label: a few, so that they have room."""
    values = {column["title"]: column["values"] for column in columns}
    odd = zip(*(values[title] for title in TITLES if title in values), strict=True)
    return [row for row, each in zip(values["row"], odd, strict=False) if any(one is not None for one in each)]


def _held_against(beside: dict[str, list[Any]], suspects: int) -> list[list[int]]:
    """The rows that stand beside each."""
    there = [beside[name] for name in ("given", "seen", "twins") if name in beside]
    return [list(dict.fromkeys(row for rows in there for row in rows[place])) for place in range(suspects)]


def _in_order(odd: list[int], held: dict[int, list[int]], others: list[int]) -> list[int]:
    """Each suspect with what stands beside it, then the others; the odd, behind a sheet of them."""
    worst = list(dict.fromkeys(row for suspect, beside in held.items() for row in (suspect, *beside)))
    return list(dict.fromkeys([*worst[:PER_SHEET], *odd, *worst, *others]))


def _shown(run: Run, data: Dataset, wanted: list[int], room: int, held: dict[int, list[int]]) -> dict[str, Any]:
    """Of as many of the wanted as there is room for: pictures, texts with the words that speak against the label, or
    the cells of rows that do, and the same cells of what the row is held against."""
    if data.pictures is not None:
        return sheets(data, wanted, room)
    if data.shown is not None and data.kind != "table":
        return _texts(run, data, wanted, room)
    cells = Cells(run)

    def odd(row: int) -> tuple[list[Any], dict[int, list[str]]]:
        mine = cells.of(row)
        each = ((other, cells.texts(other)) for other in held.get(row, []))
        return mine, {other: [texts[k] for k, _, _ in mine] for other, texts in each}

    found = _as_fit(((row, odd(row)) for row in wanted), room)
    mine, beside = ([each[k] for each in found.values()] for k in (0, 1))
    return {"rows": list(found), "names": cells.names, "cells": mine, "beside": beside}


def _texts(run: Run, data: Dataset, wanted: list[int], room: int) -> dict[str, Any]:
    assert data.shown is not None
    e, words = run.examples, Words(run, data.shown)

    def text(row: int) -> tuple[str, list[str]]:
        said = shortened(readable(data.shown[row]), TEXT_LENGTH)  # type: ignore[index]
        return said, words.of(said, int(e.label[row]), int(e.seen[row]))

    found = _as_fit(((row, text(row)) for row in wanted), room)
    return {"rows": list(found), "texts": [said for said, _ in found.values()], "words": [w for _, w in found.values()]}


def _as_fit(each: Iterable[tuple[int, Any]], room: int) -> dict[int, Any]:
    """The first of them, until `room` characters are full."""
    found: dict[int, Any] = {}
    for row, what in each:
        room -= len(json.dumps(what))
        if room < 0:
            break
        found[row] = what
    return found
