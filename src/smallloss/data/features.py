"""Features from a file: as the inputs themselves with their labels, or as what the network sees of other data."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.arrays import as_inputs, from_arrays
from smallloss.data.columns import (
    id_column,
    label_column,
    read_ids,
    read_labels,
    require_classes,
    require_unique,
    true_label_column,
)
from smallloss.data.dataset import Dataset
from smallloss.data.feature_table import table_features
from smallloss.data.npz import read_npy, read_npz
from smallloss.data.table_files import read_table
from smallloss.errors import InputError
from smallloss.words import counted

_OF = {"pictures": "pictures", "text": "texts", "table": "rows"}


def load_features(path: Path, labels: str | Path | None, label: str | None = None) -> Dataset:
    """Inputs stay mapped; a table of labels has one row per input, and may have id and true_label."""
    inputs = read_npy(path, mapped=True)
    if labels is None:
        raise InputError(
            f"{path} holds inputs only; give its labels as a second .npy file, a .csv or a .parquet "
            "with --labels (in Python, labels=)."
        )
    where = Path(labels).expanduser()
    if where.suffix not in (".csv", ".parquet"):
        return from_arrays(inputs, read_npy(where), name=path.name)
    table = read_table(where)
    if table.num_rows != len(inputs):
        raise InputError(f"{where} has {table.num_rows:,} rows but {path} {len(inputs):,} inputs; give one row each.")
    column, true_column = label_column(table.column_names, str(where), label), true_label_column(table)
    given = read_labels(table, column, str(where))
    require_classes(given, str(where))
    truth = None if true_column is None else read_labels(table, true_column, str(where))
    ids = read_ids(table, str(where))
    dataset = from_arrays(inputs, given, name=path.name, ids=ids, true_labels=truth)
    return replace(dataset, notes=(f"The labels are in the column {column!r} of {where.name}.",))


def with_features(dataset: Dataset, features: Any) -> Dataset:
    """The examples of a dataset, of which the network sees the features given: an array, .npy, .npz or .parquet.

    Where the file has ids, rows are matched by them; otherwise row i is that of the i-th example. Features of the
    test part may follow those of the training part; without them a part of the training part is held out.
    """
    where, rows, ids = _read(features)
    if rows.ndim != 2:
        raise InputError(f"The features of {where} have the shape {rows.shape}; give one row per example, [n, d].")
    rows = rows if ids is None else rows[_places(dataset, ids, where)]
    n, tested = len(dataset), 0 if dataset.test is None else len(dataset.test)
    if len(rows) not in (n, n + tested):
        and_test = f" (and {tested:,} in its test part)" if tested else ""
        lost = f", {len(dataset.unreadable):,} unreadable ones left out" if dataset.unreadable else ""
        raise InputError(
            f"{where} has {len(rows):,} rows but {dataset.name} {n:,} examples{and_test}{lost}; "
            "give one row each, or an .npz or .parquet with ids."
        )
    note = (
        f"Instead of the {_OF.get(dataset.kind, 'inputs')}, the network sees {rows.shape[1]:,} features from {where}."
    )
    if tested and len(rows) == n:
        note += f" It has none for the {counted(tested, 'example')} of the test part, so that is not used."
    return dataset.seen_as(as_inputs(rows), note)


def _read(features: Any) -> tuple[str, np.ndarray, list[str] | None]:
    """(where they are from, [n, d], the id of each row where there are ids)."""
    if not isinstance(features, str | Path):
        return "the array given", np.asarray(features), None
    path = Path(features).expanduser()
    if path.suffix == ".npy":
        return path.name, read_npy(path, mapped=True), None
    if path.suffix == ".npz":
        return path.name, *_from_npz(path)
    if path.suffix == ".parquet":
        table = read_table(path)
        named = id_column(table) is not None
        return path.name, table_features(table, path), read_ids(table, str(path)) if named else None
    raise InputError(f"{path} is not an .npy, .npz or .parquet file; give the features as one of these.")


def _from_npz(path: Path) -> tuple[np.ndarray, list[str] | None]:
    arrays = read_npz(path)
    names = [name for name in ("features", "x", "X") if name in arrays]
    if not names:
        raise InputError(f"{path} has no array named features; it has {', '.join(arrays) or 'none'}.")
    rows, ids = arrays[names[0]], arrays.get("id", arrays.get("ids"))
    if ids is None:
        return rows, None
    if ids.shape != rows.shape[:1]:
        raise InputError(f"{path} has {ids.size:,} ids but {len(rows):,} rows of features; give one id per row.")
    texts = [value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in ids.tolist()]
    require_unique(texts, str(path))
    return rows, texts


def _places(dataset: Dataset, ids: Sequence[str], where: str) -> np.ndarray:
    """The row of each example; then of each of the test part, where its ids are its own and are there."""
    place = {name: row for row, name in enumerate(ids)}
    wanted = list(dataset.ids)
    test_ids = [] if dataset.test is None or set(dataset.test.ids) & set(wanted) else list(dataset.test.ids)
    if any(name in place for name in test_ids):
        wanted += test_ids
    missing = [name for name in wanted if name not in place]
    if missing:
        raise InputError(
            f"{where} has no features for {len(missing):,} of the {len(wanted):,} examples of {dataset.name}, "
            f"{missing[0]!r} the first; ids must be those of the examples."
        )
    strange = place.keys() - set(wanted) - dataset.unreadable.keys()
    if dataset.test is not None:
        strange -= dataset.test.unreadable.keys()
    if strange:
        raise InputError(
            f"{where} has features for {len(strange):,} ids that {dataset.name} does not have, "
            f"{min(strange, key=place.__getitem__)!r} the first; leave them out."
        )
    return np.array([place[name] for name in wanted], dtype=np.int64)
