"""What every estimator takes: out-of-sample probabilities, one row an example, and the labels as class codes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smallloss.criterion.labels import encode, encode_among
from smallloss.errors import InputError
from smallloss.values import to_numpy
from smallloss.words import listed

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Codes = NDArray[np.int64]

ROW_SUM_TOLERANCE = 0.01  # half-precision softmax still passes
CHUNK = 1 << 16  # rows at a time, so that temporaries stay small


def checked(probabilities: Any, labels: Any, classes: Any) -> tuple[Matrix, Codes, list[Any]]:
    """Probabilities whose rows sum to 1 or, for an example never seen, are NaN; label codes; the class names."""
    P = to_numpy(probabilities)
    if P.ndim != 2 or P.shape[1] < 2 or P.dtype.kind not in "fiu":
        raise InputError(
            "probabilities must be a table of numbers, a row for each example and a column for each of two or more "
            f"classes; these are {P.dtype} of shape {P.shape}."
        )
    c = P.shape[1]
    names = _names(labels, c) if classes is None else to_numpy(classes).tolist()
    if len(names) != c:
        raise InputError(f"classes names {len(names)} classes, but the probabilities have {c} columns.")
    codes = _codes(labels, names)
    if len(codes) != len(P):
        raise InputError(f"There are {len(P):,} rows of probabilities but {len(codes):,} labels; give one for each.")
    P = P.astype(np.float64)
    sums = P.sum(axis=1)
    refuse_bad_rows(P, sums)
    return P / sums[:, None], codes, names


def _names(labels: Any, c: int) -> list[Any]:
    """Of labels that are no codes 0..c-1: themselves, sorted, if there is one for each column."""
    array = to_numpy(labels)
    if array.ndim != 1 or array.size == 0:
        return list(range(c))
    if array.dtype.kind in "iu" and ((array.min() >= 0 and array.max() < c) or len(np.unique(array)) != c):
        return list(range(c))
    names: list[Any] = encode(array)[0].tolist()
    if len(names) != c:
        raise InputError(
            f"The probabilities have {c} columns and the labels {len(names)} different names ({listed(names)}); name "
            "the classes in the order of the columns (classes=)."
        )
    return names


def _codes(labels: Any, names: list[Any]) -> Codes:
    """Labels as codes: names of classes, or codes already where the names are not numbers."""
    array = to_numpy(labels)
    if array.ndim != 1:
        raise InputError(f"The labels have the shape {array.shape}: give one label for each example.")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    numbered = all(isinstance(name, int) for name in names)
    if array.dtype.kind not in "iu" or (numbered and names != list(range(len(names)))):
        return encode_among(labels, names)[1].astype(np.int64)
    outside = np.flatnonzero((array < 0) | (array >= len(names)))
    if outside.size:
        raise InputError(
            f"The labels hold {array[outside[0]]} at position {outside[0]}; the codes go from 0 to {len(names) - 1}, "
            f"one for each column of the probabilities ({listed(names)})."
        )
    return array.astype(np.int64)


def per_example(what: str, values: Any, seen: Codes, total: int) -> Vector | None:
    """A vector over all examples, cut down to those seen."""
    if values is None:
        return None
    given = to_numpy(values)
    if given.shape != (total,) or given.dtype.kind not in "biuf":
        raise InputError(
            f"{what} needs one number for each of the {total:,} examples; this is {given.dtype} of shape {given.shape}."
        )
    vector = given.astype(np.float64)
    bad = seen[~np.isfinite(vector[seen])]
    if bad.size:
        raise InputError(f"The {what} of the example at index {bad[0]} is {vector[bad[0]]}; it must be finite.")
    return vector[seen]


def true_or_false(what: str, values: Any, seen: Codes, total: int) -> NDArray[np.bool_] | None:
    """A yes or no (or 1, 0) for every example, cut down to those seen."""
    vector = per_example(what, values, seen, total)
    if vector is None:
        return None
    bad = np.flatnonzero((vector != 0) & (vector != 1))
    if bad.size:
        raise InputError(
            f"The {what} of the example at index {seen[bad[0]]} is {vector[bad[0]]:g}; it must be true or false."
        )
    return vector == 1


def label_counts(labels: Codes, c: int) -> Vector:
    return np.bincount(labels, minlength=c).astype(np.float64)


def top_two(P: Matrix) -> tuple[Codes, Vector]:
    """The predicted class of each row and its margin: how far it leads the second."""
    predicted, margin = np.empty(len(P), dtype=np.int64), np.empty(len(P))
    for start in range(0, len(P), CHUNK):
        rows = np.array(P[start : start + CHUNK])
        here = np.arange(len(rows))
        first = rows.argmax(axis=1)
        lead = rows[here, first]
        rows[here, first] = -np.inf
        predicted[start : start + CHUNK] = first
        margin[start : start + CHUNK] = lead - rows.max(axis=1)
    return predicted, margin


def refuse_bad_rows(P: np.ndarray, sums: Vector) -> None:
    """Every row sums to 1, or is NaN as a whole."""
    missing = np.isnan(P)
    unseen = missing.all(axis=1)
    if unseen.all():
        raise InputError("No example has out-of-sample probabilities: every row is NaN, so there is nothing to count.")
    bad = (missing | np.isinf(P) | (P < 0)).any(axis=1) & ~unseen
    if bad.any():
        raise InputError(
            f"The probabilities of the example at index {bad.argmax()} are not all finite and zero or more; a whole "
            "row of NaN marks an example that was never scored."
        )
    off = (np.abs(sums - 1) > ROW_SUM_TOLERANCE) & ~unseen
    if off.any():
        raise InputError(
            f"The probabilities of the example at index {off.argmax()} sum to {sums[off.argmax()]:g}, not 1; pass "
            "the softmax of the logits."
        )
