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
from smallloss.data.image_table import image_table_dataset, path_column
from smallloss.data.tables import read_table
from smallloss.data.tabular import Rows, tabular_features
from smallloss.data.text import text_features
from smallloss.errors import InputError

_TEXT = ("text", "sentence", "content", "document", "review", "comment", "message", "body", "question", "utterance")
_LONG, _WORDS = 30, 4  # a column whose median cell has as many characters and words is prose


def load_table(path: Path, label: str | None = None) -> Dataset:
    """The rows of a file; `label` names the column of labels."""
    return table_dataset(read_table(path), path, label)


def table_dataset(table: Any, path: Path, label: str | None = None) -> Dataset:
    """The rows of an Arrow table from `path`: pictures where it has paths of them, else texts, else features."""
    where = str(path)
    if table.num_rows == 0:
        raise InputError(f"{where} has no rows below its header.")
    column = label_column(table.column_names, where, label)
    labels = read_labels(table, column, where)
    require_classes(labels, where)
    ids = read_ids(table, where)
    true_column = true_label_column(table)
    true_labels = None if true_column is None else read_labels(table, true_column, where)
    taken = {column, true_column, id_column(table)}
    rest = table.select([name for name in table.column_names if name not in taken])
    paths = path_column(rest)
    if paths is not None:
        truth = None if true_labels is None else true_labels.tolist()
        return image_table_dataset(table, paths, path, labels.tolist(), truth)
    written = text_columns(rest)
    kind = "text" if written else "table"
    features, shown, notes = _from_text(rest, written, where) if written else _from_columns(rest, where)
    dataset = from_arrays(features, labels, name=path.name, ids=ids, true_labels=true_labels)
    if written:
        # The last features of an SVD hold little but noise: scaled one by one, they would drown the first.
        spread = float(np.sqrt(features.var(0, dtype=np.float64).mean())) or 1.0
        dataset = replace(dataset, normalisation=(features.mean(0).tolist(), [spread] * features.shape[1]))
    return replace(dataset, kind=kind, shown=shown, notes=(f"The labels are those of the column {column!r}.", *notes))


_Described = tuple[np.ndarray, Sequence[str], list[str]]  # features, what to show, notes


def _from_text(table: Any, columns: list[str], where: str) -> _Described:
    cells = ["\n".join(row).strip() for row in zip(*(texts(table, name) for name in columns), strict=True)]
    features, said = text_features(cells, where)
    return features, cells, [f"The text is that of the column {' and '.join(map(repr, columns))}.", said]


def _from_columns(table: Any, where: str) -> _Described:
    features, notes = tabular_features(table, table.column_names, where)
    return features, Rows(table), notes


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
