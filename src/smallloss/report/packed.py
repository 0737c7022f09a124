"""Every example inside the page: columns, compressed, for the page's own script to search, filter and sort."""

import base64
import json
import zlib
from typing import Any, NamedTuple

import numpy as np

from smallloss.criterion.selection import REASONS, UNREADABLE
from smallloss.record.examples import SPLITS, Examples
from smallloss.record.run import Run
from smallloss.report.facts import FATE_OF, printable, shortened

BUDGET = 2_000_000  # characters
TEXT_LENGTH = 120
_DIGITS = 3


class Packed(NamedTuple):
    """The table as a text that can stand in a page: base64 of deflated JSON."""

    data: str
    rows: int
    total: int


def packed(run: Run, budget: int = BUDGET) -> Packed:
    """All examples; where they would not fit, those with the lowest label scores: likely wrong, then borderline."""
    columns = _columns(run)
    _add_unreadable(columns, run.examples)
    total = len(columns[0]["values"])
    rows = np.arange(total)
    data = _pack(columns, rows)
    if len(data) > budget and columns[-1]["title"] == "text":
        data = _pack(columns[:-1], rows)
        columns = columns[:-1]
    score = np.append(run.examples.label_score, np.full(total - len(run.examples), np.nan))
    order = np.argsort(score, kind="stable")  # NaN comes last
    while len(data) > budget and len(rows):
        rows = np.sort(order[: int(0.95 * len(rows) * budget / len(data))])
        data = _pack(columns, rows)
    return Packed(data, len(rows), total)


def _columns(run: Run) -> list[dict[str, Any]]:
    """What the page shows of an example. A kind is text, name (a code among `names`, -1 for none) or number."""
    e, classes = run.examples, [printable(name) for name in run.examples.classes]
    parts, codes = e.splits, np.full(len(SPLITS), -1)
    for place, split in enumerate(parts):
        codes[SPLITS.index(split)] = place
    columns = [
        {"title": "id", "kind": "text", "values": [printable(name) for name in e.ids]},
        _names("label", classes, e.label),
        _names("predicted", classes, np.maximum(e.predicted, -1)),
        _number("label score", e.label_score),
        _number("mean loss", e.mean_loss),
        {"title": "rank", "kind": "number", "digits": 0, "values": _or_none(e.rank, over=0)},
        _names("reason", list(REASONS), e.reason) | {"marks": [FATE_OF.get(code, "") for code in range(len(REASONS))]},
        _names("split", parts, codes[e.split]),
    ]
    if e.probability is not None:
        columns.insert(3, _number("probability", e.probability))
    if e.true is not None:
        columns.append(_names("true label", classes, e.true))
    if run.dataset is not None and run.dataset.shown is not None:
        texts = [shortened(printable(text), TEXT_LENGTH) for text in run.dataset.shown]
        columns.append({"title": "text", "kind": "text", "values": texts})
    return columns


def _add_unreadable(columns: list[dict[str, Any]], e: Examples) -> None:
    """Below the others, the examples that could not be read: no more than an id and a label."""
    codes = {name: code for code, name in enumerate(e.classes)}
    for name, one in e.unreadable.items():
        said = {"id": printable(name), "label": codes.get(one.label, -1), "reason": UNREADABLE}
        for column in columns:
            blank = {"text": "", "name": -1, "number": None}[column["kind"]]
            column["values"].append(said.get(column["title"], blank))


def _names(title: str, names: list[str], codes: Any) -> dict[str, Any]:
    return {"title": title, "kind": "name", "names": names, "values": np.asarray(codes).tolist()}


def _number(title: str, values: np.ndarray) -> dict[str, Any]:
    """In whole thousandths: short, and enough to rank by."""
    thousandths = np.round(np.asarray(values, np.float64) * 10**_DIGITS)
    return {"title": title, "kind": "number", "digits": _DIGITS, "values": _or_none(thousandths)}


def _or_none(values: np.ndarray, over: float = -np.inf) -> list[int | None]:
    return [int(value) if value > over else None for value in values.tolist()]


def _pack(columns: list[dict[str, Any]], rows: np.ndarray) -> str:
    everything = len(rows) == len(columns[0]["values"])
    chosen = columns if everything else [
        column | {"values": [column["values"][row] for row in rows]} for column in columns
    ]  # fmt: skip
    text = json.dumps({"columns": chosen, "rows": len(rows)}, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")
