"""Every example inside the page: columns, compressed, for the page's own script to search, filter and sort."""

import base64
import json
import zlib
from typing import Any, NamedTuple

import numpy as np

from smallloss.criterion.selection import REASONS, UNREADABLE
from smallloss.data.table_files import as_cell, defuse
from smallloss.noise.answers import NONE
from smallloss.record.examples import NOBODY, SPLITS, Examples
from smallloss.record.run import Run
from smallloss.report.facts import FATE_OF, printable, shortened
from smallloss.report.measures import lists

BUDGET = 2_000_000  # characters
TEXT_LENGTH = 120
_DIGITS = 3
_JOINERS = "\u200c\u200d"


class Table(NamedTuple):
    """The columns, how many examples they have, how many there are in all, and the characters of it, packed."""

    columns: list[dict[str, Any]]
    rows: int
    total: int
    size: int


def table(run: Run, budget: int = BUDGET) -> Table:
    """All examples; where they would not fit, those with the lowest label scores: likely wrong, then borderline."""
    columns = _columns(run)
    _add_unreadable(columns, run.examples)
    total = len(columns[0]["values"])
    size = len(pack({"columns": columns}))
    if size > budget and columns[-1]["title"] == "text":
        columns = columns[:-1]
        size = len(pack({"columns": columns}))
    score = np.append(run.examples.label_score, np.full(total - len(run.examples), np.nan))
    order, some, chosen = np.argsort(score, kind="stable"), total, columns  # NaN comes last
    while size > budget and some:
        some = int(0.95 * some * budget / size)
        rows = np.sort(order[:some])
        chosen = [column | {"values": [column["values"][row] for row in rows]} for column in columns]
        size = len(pack({"columns": chosen}))
    return Table(chosen, some, total, size)


def pack(what: Any) -> str:
    """As a text that can stand in a page: base64 of deflated JSON."""
    text = json.dumps(what, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("ascii"))).decode("ascii")


def _columns(run: Run) -> list[dict[str, Any]]:
    """What the page shows of an example. A kind is text, name (a code among `names`, -1 for none) or number."""
    e, classes = run.examples, [printable(name) for name in run.examples.classes]
    parts, codes = e.splits, np.full(len(SPLITS), -1)
    for place, split in enumerate(parts):
        codes[SPLITS.index(split)] = place
    ids = [printable(name) for name in e.ids]
    columns = [
        {"title": "id", "kind": "text", "values": ids},
        _names("given", classes, e.label),
        _names("looks like", classes, np.maximum(e.seen, -1)),
        _number("label score", e.label_score),
        _number("mean loss", e.mean_loss),
        {"title": "rank", "kind": "number", "digits": 0, "values": _or_none(e.rank, over=0)},
        _names("reason", list(REASONS), e.reason) | {"marks": [FATE_OF.get(code, "") for code in range(len(REASONS))]},
        _names("split", parts, codes[e.split]),
        {"title": "row", "kind": "number", "digits": 0, "values": list(range(len(e)))},
    ]
    if e.probability is not None:
        columns.insert(3, _number("probability", np.where(e.seen == e.predicted, e.probability, np.nan)))
    if e.true is not None:
        columns.append(_names("true label", classes, e.true))
    if e.answer is not None:
        said = np.where(e.answer == NONE, len(classes), np.where(e.answer == NOBODY, -1, e.answer))
        columns.append(_names("by hand", [*classes, "none of the classes"], said))
    spelled = [defuse(as_cell(name)) for name in e.ids]
    if spelled != ids:  # as a file of answers must have them
        columns.append({"title": "spelled", "kind": "text", "values": spelled})
    columns += [] if run.dataset is None else lists(run.dataset, run.features)
    if run.dataset is not None and run.dataset.shown is not None:
        texts = [shortened(readable(text), TEXT_LENGTH) for text in run.dataset.shown]
        columns.append({"title": "text", "kind": "text", "values": texts})
    return columns


def readable(text: str) -> str:
    """On one line, without what nobody sees but the joiners of letters: it stands in a paragraph of its own."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c for c in line if c.isprintable() or c in _JOINERS)


def _add_unreadable(columns: list[dict[str, Any]], e: Examples) -> None:
    """Below the others, the examples that could not be read: no more than an id and a label."""
    codes = {name: code for code, name in enumerate(e.classes)}
    for name, one in e.unreadable.items():
        said = {"id": printable(name), "given": codes.get(one.label, -1), "reason": UNREADABLE}
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
