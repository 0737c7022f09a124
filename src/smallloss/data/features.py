"""Features from a file: as the inputs themselves with their labels, or as what the network sees of other data."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.arrays import as_inputs, from_arrays, read_inputs
from smallloss.data.columns import Table, is_label_name
from smallloss.data.dataset import Dataset, require_classes
from smallloss.data.source import Source
from smallloss.data.table_files import read_numbers
from smallloss.errors import InputError
from smallloss.files import read_npy
from smallloss.words import counted, listed

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
    if where.suffix.lower() not in (".csv", ".parquet"):
        return from_arrays(inputs, read_npy(where), name=path.name)
    table = Table.read(where, label)
    if len(table) != len(inputs):
        raise InputError(f"{where} has {len(table):,} rows but {path} {len(inputs):,} inputs; give one row each.")
    given = table.labels()
    require_classes(given, str(where))
    dataset = from_arrays(inputs, given, name=path.name, ids=table.ids(), true_labels=table.true_labels())
    return replace(dataset, notes=(f"The labels are in the column {table.label!r} of {where.name}.",))


SOURCE = Source("an .npy file with --labels", load_features, endings=(".npy",), options=("labels", "label"))


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
    if (rows == rows[0]).all():
        raise InputError(f"The features of {where} are the same for every example: there is nothing to learn from.")
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
    ending = path.suffix.lower()
    if ending in (".npy", ".npz"):
        return path.name, *read_inputs(path, "features", "x", "X")
    if ending == ".parquet":
        table = Table.read(path)
        return path.name, table_features(table), None if table.id is None else table.ids()
    raise InputError(f"{path} is not an .npy, .npz or .parquet file; give the features as one of these.")


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


def table_features(table: Table) -> np.ndarray:
    """[n, d]: the only column of lists, if there is one; else every column but id and labels."""
    import pyarrow as pa

    columns = [name for name in table.names if name != table.id and not is_label_name(name)]
    lists = [name for name in columns if _is_list(table.kind(name))]
    if len(lists) == 1:
        return _stack(table.arrow.column(lists[0]), f"the column {lists[0]!r} of {table.where}")
    if lists:
        raise InputError(
            f"{table.where} has more than one column of lists, {lists[0]!r} and {lists[1]!r}; keep one of them."
        )
    for name in columns:
        kind = table.kind(name)
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise InputError(f"The column {name!r} of {table.where} holds {kind}; features are numbers. Leave it out.")
    if not columns:
        raise InputError(f"{table.where} has no column of features besides {listed(table.names)}.")
    numbers = [read_numbers(table.arrow.column(name), name, table.where).astype(np.float32) for name in columns]
    return np.stack(numbers, axis=1)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _stack(column: Any, where: str) -> np.ndarray:
    """Lists of numbers, all of one length, as the rows of a matrix."""
    import pyarrow as pa
    from pyarrow import compute

    lengths = compute.list_value_length(column).fill_null(0).to_numpy()
    odd = np.flatnonzero(lengths != lengths[0]) if len(lengths) else np.empty(0, np.int64)
    if len(odd) or not len(lengths) or not lengths[0]:
        row = int(odd[0]) if len(odd) else 0
        found = int(lengths[row]) if len(lengths) else 0
        raise InputError(f"Row {row + 1} of {where} holds {found} numbers; give all rows as many.")
    values = compute.list_flatten(column)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InputError(f"{where[0].upper()}{where[1:]} holds lists of {values.type}; features are numbers.")
    flat = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    return flat.astype(np.float32).reshape(len(lengths), -1)
