"""Features or pictures in one .npy file, their labels in another file: .npy, .csv or .parquet."""

from dataclasses import replace
from pathlib import Path

from smallloss.data.arrays import from_arrays
from smallloss.data.columns import label_column, read_ids, read_labels, require_classes, true_label_column
from smallloss.data.dataset import Dataset
from smallloss.data.npz import read_npy
from smallloss.data.tables import read_table
from smallloss.errors import InputError


def load_features(path: Path, labels: str | Path | None, label: str | None = None) -> Dataset:
    """Inputs stay mapped; a table of labels has one row per input, and may have id and true_label."""
    inputs = read_npy(path, mapped=True)
    if labels is None:
        raise InputError(
            f"{path} holds inputs only; give its labels as a second .npy file, a .csv or a .parquet (labels=PATH)."
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
    return replace(dataset, notes=(f"The labels are those of the column {column!r} of {where.name}.",))
