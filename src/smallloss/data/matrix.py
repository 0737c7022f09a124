"""A transition matrix from a file, with or without the names of its classes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from smallloss.criterion.transition import validate
from smallloss.data.npz import read_npy, require_file
from smallloss.data.table_files import is_number, read_rows, read_table
from smallloss.errors import InputError
from smallloss.words import listed


def read_matrix(path: str | Path) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """(T, class names or None) from .csv, .npy or .parquet. Rows are true classes.

    A csv may name the classes in a header row, in its first column, or in both; a parquet file names them in
    its columns.
    """
    path = require_file(path, "matrix")
    if path.suffix == ".npy":
        T = read_npy(path)
        if T.ndim != 2 or T.shape[0] != T.shape[1] or T.dtype.kind not in "iuf":
            raise InputError(
                f"{path} holds {T.dtype} of shape {T.shape}; a matrix of numbers has c rows and c columns."
            )
        return _finite(T.astype(np.float64), path), None
    if path.suffix == ".parquet":
        table = read_table(path)
        columns = [[str(cell) for cell in column.to_pylist()] for column in table.columns]
        rows = [table.column_names, *map(list, zip(*columns, strict=True))]
    elif path.suffix == ".csv":
        rows = [[cell.strip() for cell in row] for row in read_rows(path)]
    else:
        raise InputError(f"{path} is not a .csv, .npy or .parquet file; give the matrix in one of these.")
    return _from_cells(rows, path)


def read_transition(path: str | Path, labels: Sequence[str]) -> np.ndarray:
    """T with its classes in the order of the labels found in the data."""
    T, names = read_matrix(path)
    T = validate(T)
    if names is None:
        if len(T) != len(labels):
            raise InputError(
                f"{path} is {len(T)} x {len(T)}, but the data has {len(labels)} labels ({listed(labels)})."
            )
        return T
    missing = [name for name in labels if name not in names]
    if missing or len(names) != len(labels):
        culprit = missing[0] if missing else next(name for name in names if name not in labels)
        raise InputError(
            f"The classes of {path} and the labels of the data differ: {culprit!r} is only in one of them."
        )
    order = [names.index(name) for name in labels]
    return T[np.ix_(order, order)]


def _from_cells(rows: list[list[str]], path: Path) -> tuple[np.ndarray, tuple[str, ...] | None]:
    height, width = len(rows), len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InputError(f"Line {number} of {path} has {len(row)} cells, the first has {width}.")
    # One line more than columns is a header, one column more than lines holds names; a square with both has a
    # corner that is no number.
    framed = height == width and not is_number(rows[0][0])
    header = framed or height == width + 1
    named = framed or width == height + 1
    if height - header != width - named:
        raise InputError(f"{path} has {height} lines and {width} columns; a matrix has as many rows as columns.")
    body = [row[named:] for row in rows[header:]]
    across = tuple(rows[0][named:]) if header else None
    down = tuple(row[0] for row in rows[header:]) if named else None
    if across and down and across != down:
        raise InputError(f"{path} names its columns {listed(across)} but its rows {listed(down)}; they must agree.")
    for i, row in enumerate(body, start=1):
        for j, cell in enumerate(row, start=1):
            if not is_number(cell):
                raise InputError(f"Row {i}, column {j} of the matrix in {path} is {cell!r}, which is not a number.")
    return _finite(np.array(body, dtype=np.float64), path), across or down


def _finite(T: np.ndarray, path: Path) -> np.ndarray:
    bad = np.argwhere(~np.isfinite(T))
    if len(bad):
        i, j = bad[0]
        raise InputError(
            f"Row {i + 1}, column {j + 1} of the matrix in {path} is {T[i, j]}; it must be a finite number."
        )
    return T
