"""The examples table: one row per input example, in input order, held-out and unreadable ones included."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.selection import CORRECTED, LIKELY_WRONG, NEVER_SEEN, NO_CLASS, REASONS, SAFETY, UNREADABLE
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import as_cell, write_table
from smallloss.noise.answers import NONE
from smallloss.report.result import Part, Result

_NEVER_RANKED: dict[str, Any] = {
    "is_label_issue": False,
    "label_score": np.nan,
    "score": np.nan,
    "rank_in_class": 0,
    "quota": 0,
    "cutoff": np.nan,
    "weight": 0.0,
    "selected": False,
    "reason": REASONS[NEVER_SEEN],
}


def examples_table(result: Result) -> dict[str, Any]:
    """What became of every example that was read; cleanlab's four names come first, then ours.

    `index` counts these rows, as the ledger and the selection do; `true_label` is there only where it is known.
    """
    data = result.dataset
    names = np.array([*map(as_cell, data.classes), None], dtype=object)  # the code -1: nothing was predicted
    ranked, split = ranked_columns(result.parts, len(data))
    ranked_issue = ranked.pop("is_label_issue")
    table = {
        "is_label_issue": ranked_issue,
        "label_score": ranked.pop("label_score"),
        "given_label": names[data.labels],
        "predicted_label": names[result.predicted],
        "id": [as_cell(name) for name in data.ids],
        "index": np.arange(len(data)),
        "split": split,
        "score": ranked.pop("score"),
        "mean_loss": result.mean_loss,
        **ranked,
        **_suggestions(result, ranked_issue),
    }
    if result.pins:
        mark(table, data.labels, names[:-1].tolist(), result.pins)
    if data.true_labels is not None:
        table["true_label"] = names[data.true_labels]
    return table


def labels_as_they_came(table: dict[str, Any], dataset: Dataset) -> dict[str, Any]:
    """The table with the labels that somebody gave as numbers as these numbers again."""
    if dataset.values is None:
        return table
    value = dict(zip(map(as_cell, dataset.classes), dataset.values, strict=True))
    named = ("given_label", "predicted_label", "suggested_label", "true_label", "audited_label")
    return {
        name: [value.get(cell, cell) for cell in column] if name in named else column for name, column in table.items()
    }


def _suggestions(result: Result, is_label_issue: np.ndarray) -> dict[str, Any]:
    """For each likely wrong label the class the network sees instead, and how sure it is. Never applied unasked."""
    if result.probability is None:
        return {}
    seen = result.seen_instead
    differs = is_label_issue & (seen >= 0) & (seen != result.dataset.labels)
    names = np.array([*map(as_cell, result.dataset.classes), None], dtype=object)
    return {
        "suggested_label": np.where(differs, names[seen], None),
        "predicted_probability": result.probability,
    }


def mark(table: dict[str, Any], class_index: np.ndarray, classes: Sequence[Any], pinned: Mapping[int, int]) -> None:
    """Write the answers into a table of examples: the wrong flagged with their new label, the right cleared.

    What was marked before stays, unless it is answered anew; no suggestion of the network stands beside an answer.
    """
    for name in ("audit_answer", "audited_label"):
        table.setdefault(name, np.full(len(class_index), None, object))
    for i, true in pinned.items():
        right = true == class_index[i]
        table["is_label_issue"][i] = not right
        table["label_score"][i] = float(right)
        table["audit_answer"][i] = "right" if right else "none" if true == NONE else "wrong"
        table["audited_label"][i] = None if true == NONE else classes[true]
        if "suggested_label" in table:
            table["suggested_label"][i] = None
        if not right:
            reason = REASONS[NO_CLASS if true == NONE else CORRECTED]
            table["selected"][i], table["weight"][i], table["reason"][i] = False, 0.0, reason
        elif table["reason"][i] == REASONS[LIKELY_WRONG]:
            table["reason"][i] = REASONS[SAFETY]  # not learnt from, but nothing is wrong with it


def write_examples(result: Result, folder: str | Path) -> list[Path]:
    """examples.parquet, exact, and examples.csv, for a spreadsheet."""
    table = with_unreadable(examples_table(result), result)
    return [write_table(Path(folder) / f"examples.{ending}", table) for ending in ("parquet", "csv")]


def with_unreadable(table: dict[str, Any], result: Result) -> dict[str, Any]:
    """The table with the examples that could not be read, each in its place of the input, without index and scores."""
    lost = result.dataset.unreadable
    if not lost:
        return table
    said: Any = _NEVER_RANKED | {
        "id": [as_cell(name) for name in lost],
        "given_label": [as_cell(one.label) for one in lost.values()],
        "split": "",
        "mean_loss": np.nan,
        "predicted_probability": np.nan,
        "reason": REASONS[UNREADABLE],
    }
    at = [one.before for one in lost.values()]
    columns = {}
    for name, values in table.items():
        column = np.asarray(values)
        if name not in said or column.dtype.kind == "U":  # nothing at all, or a word longer than any there is
            column = column.astype(object)
        columns[name] = np.insert(column, at, said.get(name))
    return columns


def ranked_columns(parts: Sequence[Part], n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns of each part's selection put back in input order, and the name of the part."""
    split = np.full(n, "", dtype=object)
    columns: dict[str, np.ndarray] = {}
    for part in parts:
        split[part.index] = part.split
        table = part.selection.table()
        for name, blank in _NEVER_RANKED.items():
            columns.setdefault(name, np.full(n, blank, dtype=object if name == "reason" else table[name].dtype))
            columns[name][part.index] = table[name]
    return columns, split
