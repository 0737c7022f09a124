"""What the sections of docs/results.md are made with: lines of results, tables, and where they come from."""

import json
from typing import Any

from common import RESULTS


def lines(name: str) -> list[dict[str, Any]]:
    path = RESULTS / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def latest(rows: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    """Of several measurements of one thing, the last; a file keeps them all."""
    return list({tuple(row[key] for key in keys): row for row in rows}.values())


def table(head: list[str], rows: list[list[str]]) -> str:
    body = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(body) + "\n"


def made(rows: list[dict[str, Any]]) -> str:
    """Where a table comes from."""
    commits = ", ".join(sorted({row["commit"][:12] for row in rows}))
    hardware = ", ".join(sorted({row["hardware"] for row in rows}))
    return f"Commit {commits}; {hardware}.\n"
