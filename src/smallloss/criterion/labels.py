"""Labels of any kind (names, numbers with gaps, negatives) as class codes: `encode` keeps what they are, for whoever
calls with them; `encode_labels` makes texts of them first, as all data has."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from smallloss.errors import InputError
from smallloss.knobs import to_numpy
from smallloss.words import listed

CHUNK = 1 << 18  # examples at a time, so that temporaries stay in the cache


def encode(labels: Any, classes: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes, or those named in an order of their own, and each example's position among them (the
    smallest unsigned type that fits)."""
    array = _as_vector(labels)
    if array.size == 0:
        raise InputError("There are no labels: the dataset is empty.")
    found, codes = _objects(array) if array.dtype.kind == "O" else _plain(array)
    if classes is None:
        return found, codes
    if isinstance(classes, set | frozenset):
        raise InputError("classes is a set, which has no order: name them in a list.")
    named = to_numpy(classes)
    position = {label: k for k, label in enumerate(named.tolist())}
    if len(position) < len(named):
        raise InputError("classes names a class twice: name each once.")
    for k, label in enumerate(found.tolist()):
        if label not in position:
            raise InputError(
                f"The label {label!r} at index {(codes == k).argmax()} is not one of the {len(named)} classes "
                f"{listed(list(position))}."
            )
    return named, np.array([position[label] for label in found.tolist()], _code_type(len(named)))[codes]


def encode_labels(values: Any, classes: Sequence[str] | None = None) -> tuple[np.ndarray, tuple[str, ...]]:
    """The codes 0..c-1 of the labels, int64, and the classes they stand for, as text.

    Classes are sorted, as numbers where all of them are whole numbers and as text otherwise. With `classes`
    given (a test set, coded like its training set) a label outside them is an error.
    """
    names = label_names(values)
    order = _in_order(np.unique(names).tolist()) if classes is None else list(classes)
    return encode(names, order)[1].astype(np.int64), tuple(order)


def label_names(values: Any) -> np.ndarray:
    """The labels as text, one per example; a missing one is an error that names its index."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"The labels have the shape {array.shape}; there must be one label per example.")
    if len(array) == 0:
        raise InputError("There are no labels: at least one example is needed.")
    _require_whole(array)
    if array.dtype.kind in "iubf":
        return (array.astype(np.int64) if array.dtype.kind == "f" else array).astype(np.str_)
    return np.array([_text(value, index) for index, value in enumerate(array.tolist())], dtype=np.str_)


def _require_whole(array: np.ndarray, hint: str = ".") -> None:
    """Numbers with a fraction are scores or losses that stand in the wrong place, and no classes."""
    bad = ~(np.isfinite(array) & (array == np.floor(array))) if array.dtype.kind == "f" else np.zeros(1, bool)
    if bad.any():
        at = int(bad.argmax())
        what = "missing (NaN)" if np.isnan(array[at]) else f"{array[at]:g}"
        raise InputError(f"The label at index {at} is {what}: labels are classes, by name or whole number{hint}")


def _text(value: Any, index: int) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or isinstance(value, float) or not str(value).strip():
        raise InputError(f"The label at index {index} is {value!r}; labels are classes, by name or whole number.")
    return str(value)


def require_one_order(classes: np.ndarray) -> None:
    """Numbers written as text have two orders, "10" before "2" and after it; T must not be read in the wrong one."""
    if classes.dtype.kind == "U" and _in_order(classes.tolist()) != classes.tolist():
        raise InputError(
            "The labels are numbers written as text, which can be sorted as either: say with classes= in which order "
            "the rows of the transition matrix are."
        )


def _in_order(names: list[str]) -> list[str]:
    """Sorted; whole numbers that came as text, from a file, as the same numbers are in an array."""
    try:
        return sorted(names, key=lambda name: (int(name), name))
    except ValueError:
        return sorted(names)


def by_class(what: str, values: Any, names: list[Any], notes: list[str]) -> Any:
    """A number or vector as it is; a mapping, or what has keys like one (a Series), in the order of the classes."""
    if not hasattr(values, "items"):
        return values
    values, known = dict(values.items()), set(names)
    unknown = [label for label in values if label not in known]
    missing = [label for label in names if label not in values]
    if missing:
        also = f" (and no example carries {listed(unknown)})" if unknown else ""
        raise InputError(f"{what} says nothing about {listed(missing)}{also}: give one for every label.")
    if unknown:
        notes.append(f"{what} names {listed(unknown)}, which no example carries.")
    return [values[label] for label in names]


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


def _as_vector(labels: Any) -> np.ndarray:
    if isinstance(labels, list | tuple):
        # numpy would turn ["a", 1] into two strings without a word
        array = np.fromiter(labels, dtype=object, count=len(labels))
        if all(isinstance(label, int | np.integer) for label in labels):
            array = np.asarray(labels)
    else:
        array = to_numpy(labels)
    if array.ndim != 1:
        raise InputError(f"labels has shape {array.shape}: give one label per example, not one-hot rows.")
    return array


def _code_type(classes: int) -> np.dtype:
    return np.min_scalar_type(classes - 1)


def _plain(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if array.dtype.kind in "iu" and int(array.max()) - int(array.min()) < max(array.size, 1 << 16):
        # A table over the range of the labels instead of a sort of all of them.
        above = array.astype(np.int64) - array.min().astype(np.int64)
        present = np.bincount(above) > 0
        codes = np.cumsum(present) - 1
        found = np.flatnonzero(present).astype(array.dtype) + array.min()
        return found, codes.astype(_code_type(len(found)))[above]
    _require_whole(array, ". The scores come before the labels: select(score, labels).")
    classes, index = np.unique(array, return_inverse=True)
    if array.dtype.kind == "U" and not all(name.strip() for name in classes.tolist()):
        blank = next(at for at, label in enumerate(array.tolist()) if not label.strip())
        raise InputError(f"The label at index {blank} is empty: fill it in, or leave the example out.")
    return classes, index.astype(_code_type(len(classes)))


def _objects(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kinds: dict[str, int] = {}
    for index, label in enumerate(array):
        kinds.setdefault(_kind(label, index), index)
    if len(kinds) > 1:
        (one, here), (other, there) = kinds.items()
        raise InputError(
            f"The labels are of mixed types: index {here} is {one} ({array[here]!r}), index {there} is "
            f"{other} ({array[there]!r}); write them all the same way."
        )
    position = {label: k for k, label in enumerate(sorted(set(array.tolist())))}
    codes = np.fromiter((position[label] for label in array), _code_type(len(position)), count=len(array))
    return np.array(list(position)), codes


def _kind(label: Any, index: int) -> str:
    if isinstance(label, str) and label.strip():
        return "text"
    if isinstance(label, int | np.integer | np.bool_) or (isinstance(label, float | np.floating) and label % 1 == 0):
        return "a number"
    raise InputError(f"The label at index {index} is {label!r}: a label must be text or a whole number, none missing.")
