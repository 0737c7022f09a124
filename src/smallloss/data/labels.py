"""Labels of any kind (names, numbers with gaps, negatives) become the codes 0..c-1."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from smallloss.errors import InputError
from smallloss.words import listed


def encode_labels(values: Any, classes: Sequence[str] | None = None) -> tuple[np.ndarray, tuple[str, ...]]:
    """The codes 0..c-1 of the labels, and the classes they stand for, as text.

    Classes are sorted, as numbers where all of them are whole numbers and as text otherwise. With `classes`
    given (a test set, coded like its training set) a label outside them is an error.
    """
    names = label_names(values)
    unique, codes = np.unique(names, return_inverse=True)
    order = sorted(unique.tolist(), key=_sort_key(unique.tolist())) if classes is None else list(classes)
    position = {name: code for code, name in enumerate(order)}
    for name in unique.tolist():
        if name not in position:
            index = int(np.flatnonzero(names == name)[0])
            raise InputError(
                f"The label {name!r} at index {index} is not one of the {len(order)} classes {listed(order)}."
            )
    return np.array([position[name] for name in unique.tolist()], dtype=np.int64)[codes], tuple(order)


def label_names(values: Any) -> np.ndarray:
    """The labels as text, one per example; a missing one is an error that names its index."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"The labels have the shape {array.shape}; there must be one label per example.")
    if len(array) == 0:
        raise InputError("There are no labels: at least one example is needed.")
    if array.dtype.kind == "f":
        array = _whole_numbers(array)
    if array.dtype.kind in "iub":
        return array.astype(np.str_)
    return np.array([_text(value, index) for index, value in enumerate(array.tolist())], dtype=np.str_)


def _whole_numbers(array: np.ndarray) -> np.ndarray:
    bad = np.flatnonzero(~(np.isfinite(array) & (array == np.round(array))))
    if len(bad):
        value = array[bad[0]]
        what = "missing" if np.isnan(value) else f"{value}, which is not a whole number"
        raise InputError(f"The label at index {bad[0]} is {what}; labels are classes, by name or whole number.")
    return array.astype(np.int64)


def _text(value: Any, index: int) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or isinstance(value, float) or not str(value).strip():
        raise InputError(f"The label at index {index} is {value!r}; labels are classes, by name or whole number.")
    return str(value)


def alike_note(classes: Sequence[str]) -> list[str]:
    """A sentence on classes that differ only in how they are written, where there are any: often a mistyped label."""
    groups: dict[str, list[str]] = {}
    for name in classes:
        groups.setdefault(_as_meant(name), []).append(name)
    alike = [" and ".join(map(repr, group)) for group in groups.values() if len(group) > 1]
    if not alike:
        return []
    return [
        "Some labels differ only in spaces, capitals or the spelling of a number, yet count as different classes: "
        f"{listed(alike, 5, str, '; ')}. If they mean the same class, write them the same way."
    ]


def _as_meant(name: str) -> str:
    """A label without its blanks, capitals and zeros."""
    text = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    try:
        return repr(float(text)) if "_" not in text else text
    except ValueError:
        return text


def _sort_key(names: list[str]) -> Any:
    """Numbers read from a text file sort as the same numbers do in an array."""
    try:
        numbers = {name: int(name) for name in names}
    except ValueError:
        return None
    return lambda name: (numbers[name], name)
