"""What is counted: out-of-sample probabilities, a matrix for each network, and the labels as class codes; checked."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smallloss.criterion.labels import encode, encode_among
from smallloss.errors import InputError
from smallloss.values import to_numpy
from smallloss.words import listed

Codes = NDArray[np.int64]

ROW_SUM_TOLERANCE = 0.01  # half-precision softmax still passes
CHUNK = 1 << 16  # rows at a time, so that temporaries stay small


def matrices_of(probabilities: Any) -> list[np.ndarray]:
    """One (n, c) matrix for each network, of one or of several; a row of NaN was not predicted by that network."""
    given = [to_numpy(one) for one in probabilities] if isinstance(probabilities, list | tuple) else []
    shapes = list(dict.fromkeys(one.shape for one in given))
    if not given or any(len(shape) < 2 for shape in shapes):
        whole = to_numpy(probabilities)
        given = list(whole) if whole.ndim == 3 else [whole]
    elif len(shapes) > 1:
        raise InputError(
            f"The probabilities have the shapes {listed(shapes)}: give a matrix of the same examples and classes for "
            "each network, with a row of NaN for an example that it did not predict."
        )
    for P in given or [np.empty(0)]:
        if P.ndim != 2 or P.shape[1] < 2 or P.dtype.kind not in "fiu":
            raise InputError(
                "probabilities must be a table of numbers, a row for each example and a column for each of two or more "
                f"classes, or several such tables; these are {P.dtype} of shape {P.shape}."
            )
        _refuse_bad_rows(P)
    if all(np.isnan(P[:, 0]).all() for P in given):
        raise InputError("No example has out-of-sample probabilities: every row is NaN, so there is nothing to count.")
    return given


def named(labels: Any, classes: Any, n: int, c: int) -> tuple[Codes, list[Any]]:
    """A code for each of n labels, and the names of the c classes in the order of the columns."""
    names = _names(labels, c) if classes is None else to_numpy(classes).tolist()
    if len(names) != c:
        raise InputError(f"classes names {len(names)} classes, but the probabilities have {c} columns.")
    codes = _codes(labels, names)
    if len(codes) != n:
        raise InputError(f"There are {n:,} rows of probabilities but {len(codes):,} labels; give one for each.")
    return codes, names


def label_probability(matrices: list[np.ndarray], codes: Codes) -> NDArray[np.float64]:
    """Of each example, the mean probability of its label over the networks that predicted it; NaN where none did."""
    told = np.array([P[np.arange(len(codes)), codes] for P in matrices], np.float64)
    many = (~np.isnan(told)).sum(axis=0)
    mean = np.nansum(told, axis=0) / np.where(many > 0, many, np.nan)
    return np.minimum(mean, 1)


def chunks(P: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    for start in range(0, len(P), CHUNK):
        at = slice(start, start + CHUNK)
        yield at, P[at].astype(np.float64)


def _refuse_bad_rows(P: np.ndarray) -> None:
    """Every row sums to 1, or is NaN as a whole."""
    for at, rows in chunks(P):
        missing, sums = np.isnan(rows), rows.sum(axis=1)
        unseen = missing.all(axis=1)
        bad = (missing | np.isinf(rows) | (rows < 0)).any(axis=1) & ~unseen
        if bad.any():
            raise InputError(
                f"The probabilities of the example at index {at.start + bad.argmax()} are not all finite and zero or "
                "more; a whole row of NaN marks an example that was never scored."
            )
        off = (np.abs(sums - 1) > ROW_SUM_TOLERANCE) & ~unseen
        if off.any():
            raise InputError(
                f"The probabilities of the example at index {at.start + off.argmax()} sum to {sums[off.argmax()]:g}, "
                "not 1; pass the softmax of the logits."
            )


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
