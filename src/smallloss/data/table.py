"""A csv or parquet file with a column of labels: of pictures, of texts, or of numbers and categories."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.arrays import from_arrays
from smallloss.data.columns import (
    find_column,
    id_column,
    is_text,
    label_column,
    read_ids,
    read_labels,
    require_classes,
    texts,
    true_label_column,
)
from smallloss.data.dataset import Dataset
from smallloss.data.image_table import image_table_dataset, picture_column
from smallloss.data.table_files import CLEANLAB, columns_of_export, read_table
from smallloss.data.tabular import Rows, refuse_other_kinds, tabular_features, used_columns
from smallloss.data.text import text_features
from smallloss.errors import InputError

_TEXT = ("text", "sentence", "content", "document", "review", "comment", "message", "body", "question", "utterance")
_LONG, _WORDS = 30, 4  # a column whose median cell has as many characters and words is prose


def load_table(path: Path, label: str | None = None) -> Dataset:
    """The rows of a file; `label` names the column of labels."""
    return table_dataset(read_table(path), path, label)


def table_dataset(table: Any, path: Path, label: str | None = None, test: Any = None) -> Dataset:
    """The rows of an Arrow table from `path`: pictures where it has paths of them, else texts, else features.

    `test` is a table like it, but without paths: what describes its rows is learnt from the others alone.
    """
    where = str(path)
    if table.num_rows == 0:
        raise InputError(f"{where} has no rows below its header.")
    column = label_column(table.column_names, where, label)
    labels = read_labels(table, column, where)
    require_classes(labels, where)
    ids = read_ids(table, where)
    true_column = true_label_column(table)
    true_labels = None if true_column is None else read_labels(table, true_column, where)
    rest = _own_columns(table, column)
    pictures = picture_column(rest)
    if pictures is not None:
        truth = None if true_labels is None else true_labels.tolist()
        others = [name for name in rest.column_names if name != pictures]
        return image_table_dataset(table, pictures, path, labels.tolist(), truth, others)
    written = text_columns(rest)
    if not written:
        _refuse_judgements(table.column_names, rest.column_names, where)
    kind = "text" if written else "table"
    more = None if test is None else _like(test, rest.column_names, f"the test part of {where}", "the training part")
    features, shown, notes = _from_text(rest, more, written, where) if written else _from_columns(rest, more, where)
    tested = None if test is None else (features[len(labels) :], read_labels(test, column, f"{where} test"))
    features = features[: len(labels)]
    dataset = from_arrays(features, labels, name=path.name, ids=ids, true_labels=true_labels, test=tested)
    if dataset.test is not None:
        dataset = replace(dataset, test=replace(dataset.test, kind=kind, shown=shown[1]))
    if written:
        # The last features of an SVD hold little but noise: scaled one by one, they would drown the first.
        spread = float(np.sqrt(features.var(0, dtype=np.float64).mean())) or 1.0
        dataset = replace(dataset, normalisation=(features.mean(0).tolist(), [spread] * features.shape[1]))
    ours = columns_of_export(table.column_names)
    said = ["Columns that an earlier export added are not learned from."] if ours and not written else []
    described = tuple(notes[1:2] if written else notes)  # the first sentence on texts names their column
    notes = [f"The labels are in the column {column!r}.", *notes, *said]
    return replace(dataset, kind=kind, shown=shown[0], notes=tuple(notes), described=described)


def new_rows(path: Path, label: str | None, new: Any) -> tuple[np.ndarray, np.ndarray]:
    """Features of the table at `path` as it was learnt from, and those of `new` rows, made as they were."""
    table, where = read_table(path), str(path)
    rest = _own_columns(table, label_column(table.column_names, where, label))
    written = text_columns(rest)
    used = rest if written else rest.select(used_columns(rest))
    more = _like(new, written or used.column_names, "the new rows", where)
    if not written:
        refuse_other_kinds(more, used, where)
    features, _, _ = _from_text(rest, more, written, where) if written else _from_columns(used, more, where)
    return features[: table.num_rows], features[table.num_rows :]


def _own_columns(table: Any, label: str) -> Any:
    """What describes the rows: neither labels nor names, nor what an export says, which would tell the labels."""
    taken = {label, true_label_column(table), id_column(table), *columns_of_export(table.column_names)}
    return table.select([name for name in table.column_names if name not in taken])


def _refuse_judgements(columns: Sequence[str], own: Sequence[str], where: str) -> None:
    """What a run said of the examples tells their labels: a network would learn it instead of what they are."""
    if set(CLEANLAB) <= set(columns):
        raise InputError(
            f"{where} holds what a tool thinks of the examples ({', '.join(CLEANLAB)}), which must not be learned "
            "from; clean the data itself, or leave these columns out."
        )
    if columns_of_export(columns) and not own:
        raise InputError(f"{where} holds only what an export says of the examples; add their own columns.")


_Described = tuple[np.ndarray, list[Sequence[str]], list[str]]  # features, what to show of each part, notes


def _like(table: Any, columns: list[str], where: str, other: str) -> Any:
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise InputError(f"There is no column {missing[0]!r} in {where}, but {other} has one.")
    return table.select(columns)


def _from_text(table: Any, more: Any, columns: list[str], where: str) -> _Described:
    parts = [joined(part, columns) for part in (table, more) if part is not None]
    features, said = text_features(parts[0], where, *parts[1:])
    column = f"The text is in the column{'s'[: len(columns) - 1]} {' and '.join(map(repr, columns))}."
    return features, [*parts], [column, said, *_empty_note(parts[0])]


def _empty_note(cells: list[str]) -> list[str]:
    """A sentence on the rows without a text, where there are any: nothing tells what their labels should be."""
    rows = [row for row, cell in enumerate(cells, start=1) if not cell]
    if not rows:
        return []
    one = f"1 text is empty, in row {rows[0]:,}."
    return [one if len(rows) == 1 else f"{len(rows):,} texts are empty, the first in row {rows[0]:,}."]


def joined(table: Any, columns: list[str]) -> list[str]:
    """The texts of several columns as one."""
    return ["\n".join(row).strip() for row in zip(*(texts(table, name) for name in columns), strict=True)]


def _from_columns(table: Any, more: Any, where: str) -> _Described:
    import pyarrow as pa

    parts = [table] if more is None else [table, more]
    whole = pa.concat_tables(parts, promote_options="permissive")
    features, notes = tabular_features(whole, table.column_names, where, table.num_rows)
    return features, [Rows(part) for part in parts], notes


def text_columns(table: Any) -> list[str]:
    """The column named like text, or else every column of prose."""
    named = find_column(table.column_names, _TEXT)
    if named is not None and is_text(table, named):
        return [named]
    return [name for name in table.column_names if is_text(table, name) and _is_prose(texts(table, name))]


def _is_prose(cells: list[str]) -> bool:
    some = cells[:: -(-len(cells) // 1000)]
    return bool(
        np.median([len(cell) for cell in some]) >= _LONG and np.median([len(cell.split()) for cell in some]) >= _WORDS
    )
