"""Features in an Arrow table: one column of lists, or one column per feature."""

from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.columns import id_column, is_label_name
from smallloss.data.table_files import read_numbers
from smallloss.errors import InputError
from smallloss.words import listed


def table_features(table: Any, path: Path) -> np.ndarray:
    """[n, d]: the only column of lists, if there is one; else every column but id and labels."""
    import pyarrow as pa

    named = id_column(table)
    columns = [name for name in table.column_names if name != named and not is_label_name(name)]
    lists = [name for name in columns if _is_list(table.schema.field(name).type)]
    if len(lists) == 1:
        return _stack(table.column(lists[0]), lists[0], path)
    if lists:
        raise InputError(f"{path} has more than one column of lists, {lists[0]!r} and {lists[1]!r}; keep one of them.")
    for name in columns:
        kind = table.schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise InputError(f"The column {name!r} of {path} holds {kind}; features are numbers. Leave it out.")
    if not columns:
        raise InputError(f"{path} has no column of features besides {listed(table.column_names)}.")
    numbers = [read_numbers(table.column(name), name, path).astype(np.float32) for name in columns]
    return np.stack(numbers, axis=1)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _stack(column: Any, name: str, path: Path) -> np.ndarray:
    """Lists of numbers, all of one length, as the rows of a matrix."""
    import pyarrow as pa
    from pyarrow import compute

    lengths = compute.list_value_length(column).fill_null(0).to_numpy()
    odd = np.flatnonzero(lengths != lengths[0]) if len(lengths) else np.empty(0, np.int64)
    if len(odd) or not len(lengths) or not lengths[0]:
        row = int(odd[0]) if len(odd) else 0
        found = int(lengths[row]) if len(lengths) else 0
        raise InputError(
            f"Row {row + 1} of the column {name!r} of {path} holds {found} numbers; give all rows as many."
        )
    values = compute.list_flatten(column)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InputError(f"The column {name!r} of {path} holds lists of {values.type}; features are numbers.")
    flat = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    return flat.astype(np.float32).reshape(len(lengths), -1)
