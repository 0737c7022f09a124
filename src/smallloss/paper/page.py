"""One page for all tables and figures that were made so far in a folder, ours beside the paper's."""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from smallloss.files import write_text
from smallloss.paper.items import TABLES, Table
from smallloss.paper.tables import spread
from smallloss.report.templates import environment

NOT_RUN = "–"


def write_page(out: Path, asked: str) -> tuple[Path, str]:
    """OUT/paper.html, and in words what was asked for."""
    tables = [_shown(table, lines) for table, lines in _measured(out)]
    figures = list(_figures(out))
    page = environment(Path(__file__).parent).get_template("page.html.jinja").render(tables=tables, figures=figures)
    words = [_in_words(one) for one in tables if one["name"] == asked]
    words += [one["found"] for one in figures if one["name"] == asked]
    return write_text(out / "paper.html", page), "\n".join(words)


def _measured(out: Path) -> Iterator[tuple[Table, list[dict[str, Any]]]]:
    for table in TABLES.values():
        path = out / f"{table.name}.jsonl"
        if path.is_file():
            yield table, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _shown(table: Table, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """For each measure a grid: rows by cells, ours, the paper's and the difference. Not run is blank, never guessed."""
    cells = list(dict.fromkeys([*table.cells, *(line["cell"] for line in lines)]))
    grids: list[dict[str, Any]] = []
    for measure in table.measures:
        paper = table.printed.get(measure, {})
        rows = [
            (row.name, [_entry(spread(table, lines, measure, row.name, cell), paper.get(row.name, {}).get(cell))
                        for cell in cells])
            for row in table.rows
        ]  # fmt: skip
        grids.append({"measure": measure, "rows": rows})
    made = sorted({f"{line['hardware']}; {line['commit'] or line['version']}" for line in lines})
    reached = [entry["reached"] for grid in grids for _, entries in grid["rows"] for entry in entries]
    return {
        "name": table.name, "title": table.title, "claim": table.claim, "cells": cells, "grids": grids, "made": made,
        "reached": sum(one is True for one in reached), "compared": sum(one is not None for one in reached),
    }  # fmt: skip


def _entry(ours: list[float], paper: float | None) -> dict[str, Any]:
    if not ours:
        return {"ours": NOT_RUN, "paper": paper, "by": "", "reached": None}
    value = mean(ours)
    more = f" ± {stdev(ours):.2f}" if len(ours) > 1 else ""
    return {
        "ours": f"{value:.2f}{more}", "paper": paper, "by": "" if paper is None else f"{value - paper:+.2f}",
        "reached": None if paper is None else value >= paper,
    }  # fmt: skip


def _in_words(shown: Mapping[str, Any]) -> str:
    """For a terminal: what was measured, a line for each row and measure."""
    said = [
        f"{row} {grid['measure']}, {cell}: {entry['ours']}" + (f" (paper {entry['paper']})" if entry["paper"] else "")
        for grid in shown["grids"]
        for row, entries in grid["rows"]
        for cell, entry in zip(shown["cells"], entries, strict=True)
        if entry["ours"] != NOT_RUN
    ]
    reached = f"{shown['reached']} of {shown['compared']} entries reach the paper's."
    return "\n".join([*said, reached if shown["compared"] else "The paper has no figures for these."])


def _figures(out: Path) -> Iterator[dict[str, Any]]:
    from smallloss.paper.drawn import PLOTS

    for plot in PLOTS.values():
        picture, found = (out / "figures" / f"{plot.name}.{ending}" for ending in ("png", "json"))
        if picture.is_file() and found.is_file():
            inside = base64.b64encode(picture.read_bytes()).decode("ascii")
            said = json.loads(found.read_text(encoding="utf-8"))
            yield {"name": plot.name, "title": plot.title, "claim": plot.claim, "picture": inside, **said}
