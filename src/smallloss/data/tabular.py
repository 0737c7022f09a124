"""Columns of numbers and of categories become float32 features."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from smallloss.data.columns import is_text, refuse_nested
from smallloss.errors import InputError
from smallloss.words import listed

MOST_CATEGORIES = 32  # of one column; the rest become "other"
_MISSING = ["", "nan", "null", "none", "na", "n/a", "?"]


class Rows(Sequence[str]):
    """The rows of a table as a reader would like to see them, made when they are looked at."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return ", ".join(f"{name} = {value}" for name, value in self.cells(index))

    def cells(self, index: int) -> list[tuple[str, str]]:
        """One row, each column by its name."""
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        row = self.table.slice(int(index) % len(self), 1).to_pylist()[0]
        return [(name, "missing" if value is None else str(value)) for name, value in row.items()]


@dataclass
class _Features:
    """What the columns have become so far, and which of them went which way."""

    blocks: list[np.ndarray] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        said = [
            (self.numbers, "used as numbers (a missing one becomes the median, and is marked)"),
            (self.categories, f"used as categories (at most {MOST_CATEGORIES} each)"),
            (self.left_out, "left out (empty, or different in every row)"),
        ]
        return [f"Columns {how}: {listed(names)}." for names, how in said if names]


def tabular_features(
    table: Any, columns: Sequence[str], where: str, learnt: int | None = None
) -> tuple[np.ndarray, list[str]]:
    """float32 [n, d] of the columns, in their order, and the sentences that say what became of them.

    Medians and categories are those of the first `learnt` rows; the others are of a test part.
    """
    refuse_nested(table, columns, where)
    features = _Features()
    for name in columns:
        _add(features, name, table.column(name), learnt or table.num_rows, text=is_text(table, name))
    if not features.blocks:
        raise InputError(f"{where} has no column to learn from besides the labels; the columns are {listed(columns)}.")
    return np.concatenate(features.blocks, axis=1), features.notes()


def used_columns(table: Any) -> list[str]:
    """The columns that features are made of: the others are empty, or different in every row."""
    features = _Features()
    for name in table.column_names:
        _add(features, name, table.column(name), table.num_rows, text=is_text(table, name))
    return [name for name in table.column_names if name not in features.left_out]


def refuse_other_kinds(new: Any, table: Any, where: str) -> None:
    """Refuse a cell of new rows that is no number where the table has only such: the column would become another."""
    for name in new.column_names:
        if _numbers_of(table, name) is not None and _numbers_of(new, name) is None:
            for row in range(new.num_rows):
                if _numbers_of(new.slice(row, 1), name) is None:
                    cell = new.column(name)[row].as_py()
                    raise InputError(
                        f"Row {row + 1} of the new ones has {cell!r} in the column {name!r}, where {where} has numbers."
                    )


def _numbers_of(table: Any, name: str) -> np.ndarray | None:
    column = table.column(name)
    return _text_as_numbers(column) if is_text(table, name) else _as_numbers(column)


def _add(features: _Features, name: str, column: Any, learnt: int, *, text: bool) -> None:
    numbers = _text_as_numbers(column) if text else _as_numbers(column)
    if numbers is not None:
        block = None if _is_row_number(numbers[:learnt]) else _impute(numbers, learnt)
        kind = features.numbers
    else:
        block = _one_hot(column.to_pylist(), learnt)
        kind = features.categories
    if block is None:
        features.left_out.append(name)
    else:
        kind.append(name)
        features.blocks.append(block)


def _as_numbers(column: Any) -> np.ndarray | None:
    """Numbers, booleans and dates (in days) as float64, NaN where missing; None for anything else."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _as_numbers(column.cast(kind.value_type))
    try:
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            microseconds = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
            return _finite(microseconds.cast(pa.float64(), safe=False)) / 86_400e6
        return _finite(column.cast(pa.float64(), safe=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _text_as_numbers(column: Any) -> np.ndarray | None:
    """Numbers written as text; None if one cell is neither a number nor a word for a missing one."""
    import pyarrow as pa
    from pyarrow import compute as pc

    trimmed = pc.utf8_trim_whitespace(column.cast(pa.string()))
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(_MISSING))
    return _as_numbers(pc.if_else(pc.fill_null(missing, True), pa.scalar(None, pa.string()), trimmed))


def _finite(column: Any) -> np.ndarray:
    numbers = np.array(column.to_numpy(), dtype=np.float64)
    numbers[np.abs(numbers) > np.finfo(np.float32).max] = np.nan  # infinite, or so in float32
    return numbers


def _is_row_number(numbers: np.ndarray) -> bool:
    """0, 1, 2, ... or 1, 2, 3, ...: what a table was saved with says nothing about its rows."""
    n = len(numbers)
    return n > 2 and bool(numbers[0] in (0, 1)) and bool((np.diff(numbers) == 1).all())


def _impute(numbers: np.ndarray, learnt: int) -> np.ndarray | None:
    missing = np.isnan(numbers)
    known = missing[:learnt]
    if known.all():
        return None
    filled = np.where(missing, np.median(numbers[:learnt][~known]), numbers)
    columns = [filled, missing] if known.any() else [filled]
    return np.stack(columns, axis=1).astype(np.float32)


def _one_hot(cells: list[Any], learnt: int) -> np.ndarray | None:
    """A column per category, the most frequent first, then 'other'; None if no category occurs twice."""
    names = [_category(cell) for cell in cells]
    categories, counts = np.unique(np.array(names[:learnt]), return_counts=True)
    if counts.max() < 2:
        return None
    order = np.argsort(-counts, kind="stable")
    rank = {name: place for place, name in enumerate(categories[order].tolist())}
    width = len(categories) if len(categories) <= MOST_CATEGORIES else MOST_CATEGORIES + 1
    block = np.zeros((len(cells), width + 1), np.float32)  # the last is for what only the test part has
    block[np.arange(len(cells)), [min(rank[name], width - 1) if name in rank else width for name in names]] = 1
    return block[:, :width]


def _category(cell: Any) -> str:
    """Missing is a category of its own."""
    return "" if cell is None or str(cell).strip().lower() in _MISSING else str(cell)
