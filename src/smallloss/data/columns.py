"""The columns of a table by their role: the label, the id, the truth; and what makes them unfit for it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from smallloss.criterion.labels import label_names
from smallloss.errors import InputError
from smallloss.words import listed

LABEL = ("label", "given_label", "y", "labels")
_TRUE_LABEL = ("true_label",)
_ID = ("id",)


def find_column(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    """The first of the wanted names that is there, in any case of letters."""
    by_name = {name.strip().lower(): name for name in reversed(names)}
    return next((by_name[name] for name in wanted if name in by_name), None)


def label_column(names: Sequence[str], where: str, label: str | None = None) -> str:
    """The column named `label`, or else label, given_label, y."""
    found = find_column(names, LABEL) if label is None else label
    if found not in names:
        lacks = "no column label, given_label or y" if label is None else f"no column {label!r}"
        raise InputError(
            f"{where} has {lacks}; name the column of labels with --label (in Python, label=). "
            f"Its columns are {listed(names, 20)}."
        )
    return str(found)


def true_label_column(table: Any) -> str | None:
    return find_column(table.column_names, _TRUE_LABEL)


def is_label_name(name: str) -> bool:
    """Is a column of this name one of labels, unless something else is said?"""
    return name.strip().lower() in (*LABEL, *_TRUE_LABEL)


def id_column(table: Any) -> str | None:
    return find_column(table.column_names, _ID)


def read_labels(table: Any, column: str, where: str) -> np.ndarray:
    """The labels as text, one per row."""
    refuse_nested(table, [column], where)
    values = table.column(column).to_pylist()
    require_values(values, column, where)
    return label_names(values)


def require_values(values: Sequence[Any], column: str, where: str) -> None:
    """None of them missing; one of blanks alone is."""
    lost = [
        row
        for row, value in enumerate(values, start=1)
        if value is None or (isinstance(value, str) and not value.strip())
    ]
    if len(lost) == 1:
        raise InputError(f"Row {lost[0]:,} of {where} has no {column}: fill it in or take the row out.")
    if lost:
        raise InputError(
            f"{len(lost):,} rows of {where} have no {column} (the first is row {lost[0]:,}): "
            "fill them in or take them out."
        )


def read_ids(table: Any, where: str) -> list[str]:
    """The ids, none twice; empty if there is no such column."""
    column = id_column(table)
    if column is None:
        return []
    refuse_nested(table, [column], where)
    values = table.column(column).to_pylist()
    require_values(values, column, where)
    ids = [str(value) for value in values]
    require_unique(ids, where)
    return ids


def require_unique(ids: Sequence[str], where: str) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(ids, start=1):
        if first.setdefault(name, row) != row:
            raise InputError(
                f"The id {name!r} is in row {first[name]:,} and in row {row:,} of {where}; make ids unique."
            )


def require_classes(labels: np.ndarray, where: str) -> None:
    """Labels that can be learnt: two classes or more, and not a class of its own for each example."""
    unique = np.unique(labels)
    if len(unique) == 1:
        raise InputError(
            f"All {len(labels):,} examples of {where} carry the label {str(unique[0])!r}; "
            "a classifier needs at least two classes."
        )
    if len(unique) == len(labels):
        raise InputError(
            f"No label of {where} occurs twice: {len(unique):,} classes for as many examples; "
            "is this the column (or folder) of the labels?"
        )


def refuse_nested(table: Any, columns: Sequence[str], where: str) -> None:
    for name in columns:
        kind = table.schema.field(name).type
        if is_nested(kind):
            raise InputError(
                f"The column {name!r} of {where} holds {kind}, not one value per row; "
                "unpack it into plain columns, or leave it out."
            )


def is_nested(kind: Any) -> bool:
    """Is a cell of this Arrow type a list, a record or bytes, and not one value?"""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):  # a picture as a tensor is nested; a UUID is one value, in bytes
        return bool(pa.types.is_nested(kind.storage_type))
    return bool(pa.types.is_nested(kind) or "binary" in str(kind))  # binary, large_binary, binary_view, ...


def texts(table: Any, column: str) -> list[str]:
    """The cells of a column as text, a missing one as an empty text."""
    return ["" if value is None else str(value) for value in table.column(column).to_pylist()]


def is_text(table: Any, column: str) -> bool:
    import pyarrow as pa

    kind = table.schema.field(column).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
