"""What the sections of docs/results.md are made with: lines of results, tables, and where they come from."""

import json
from collections.abc import Iterable
from typing import Any

from common import RESULTS

NOT_COUNTED = ("shuffled", "function of the input")  # in the coverage of intervals: nothing can be known of them

Row = dict[str, Any]


def lines(name: str) -> list[Row]:
    return [json.loads(line) for line in (RESULTS / name).read_text().splitlines()]


def latest(rows: Iterable[Row], *keys: str) -> list[Row]:
    """Of several measurements of one thing, the last; a file keeps them all."""
    return list({tuple(row[key] for key in keys): row for row in rows}.values())


def part(name: str, *more: str, file: str = "trust.jsonl") -> list[Row]:
    """The lines of one part of trust.py, one of each set and seed."""
    return latest([row for row in lines(file) if row["part"] == name], "name", "noise", "seed", *more)


def mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    said, *body = ["|" + "|".join(row) + "|" for row in [head, *rows]]
    return "\n".join([said, "|---" * len(head) + "|", *body]) + "\n"


def made(name: str, rows: list[Row]) -> str:
    """Where a table comes from."""
    processors = {row["hardware"].split(",")[0] for row in rows}
    return f"\n`{name}`; {', '.join(sorted(processors))}.\n"
