"""The lines of trust.py, by part and by the kind of set."""

from collections.abc import Iterable
from typing import Any

from results_tools import latest, lines

NOT_COUNTED = ("shuffled", "function of the input")  # in the coverage of intervals: nothing can be known of them

Row = dict[str, Any]


def part(name: str, *more: str, file: str = "trust.jsonl") -> list[Row]:
    rows = [row for row in lines(file) if row["part"] == name]
    return latest(rows, "name", "noise", "seed", *more)


def grouped(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """By the kind of set and whether its networks are able; what nothing can be known of comes last."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["kind"] in NOT_COUNTED, row["group"])):
        found.setdefault(row["group"], []).append(row)
    return found


def mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else float("nan")
