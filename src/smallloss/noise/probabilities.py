"""What networks predict out of sample, a matrix of probabilities for each, and the labels as class codes; checked."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smallloss.criterion.labels import encode, encode_among
from smallloss.errors import InputError
from smallloss.values import to_numpy
from smallloss.words import listed

Codes = NDArray[np.int64]
Matrix = NDArray[np.float64]

ROW_SUM_TOLERANCE = 0.01  # half-precision softmax still passes
CHUNK = 1 << 16  # rows at a time, so that temporaries stay small


def matrices_of(probabilities: Any) -> list[np.ndarray]:
    """One (n, c) matrix for each network, of one or of several; a row of NaN was not predicted by that network."""
    several = [to_numpy(one) for one in probabilities] if isinstance(probabilities, list | tuple) else []
    if not several or any(P.ndim != 2 for P in several):
        whole = to_numpy(probabilities)
        several = list(whole) if whole.ndim == 3 and len(whole) else [whole]
    if len(shapes := {P.shape for P in several}) > 1:
        raise InputError(
            f"The probabilities have the shapes {listed(sorted(shapes))}: give a matrix of the same examples and "
            "classes for each network, with a row of NaN for an example that it did not predict."
        )
    for P in several:
        if P.ndim != 2 or P.shape[1] < 2 or P.dtype.kind not in "fiu":
            raise InputError(
                "probabilities must be a table of numbers, a row for each example and a column for each of two or more "
                f"classes, or several such tables; these are {P.dtype} of shape {P.shape}."
            )
        for start, rows in _chunks(P):
            _refuse_bad(start, rows)
    if all(np.isnan(P).all() for P in several):
        raise InputError("No example has out-of-sample probabilities: every row is NaN, so there is nothing to count.")
    return several


def named(labels: Any, classes: Any, n: int, c: int) -> tuple[Codes, list[Any]]:
    """A code for each of n labels, which may be codes already, and the names of the c columns."""
    array = to_numpy(labels)
    if array.shape != (n,):
        raise InputError(f"There are {n:,} rows of probabilities but labels of shape {array.shape}; give one for each.")
    codes, names = array.dtype.kind in "iu", list(range(c))
    if classes is not None:
        names = to_numpy(classes).tolist()
    elif not codes or (len(found := encode(array)[0]) == c and (found[0] < 0 or found[-1] >= c)):
        names = encode(array)[0].tolist()
    if len(names) != c:
        raise InputError(
            f"The probabilities have {c} columns, and there are {len(names)} classes ({listed(names)}); name the "
            "classes in the order of the columns (classes=)."
        )
    if not codes or (names != list(range(c)) and all(isinstance(name, int) for name in names)):
        return encode_among(labels, names)[1].astype(np.int64), names
    if len(outside := np.flatnonzero((array < 0) | (array >= c))):
        raise InputError(
            f"The labels hold {array[outside[0]]} at position {outside[0]}; the codes go from 0 to {c - 1}, one for "
            f"each column of the probabilities ({listed(names)})."
        )
    return array.astype(np.int64), names


def predictions(matrices: list[np.ndarray]) -> tuple[Codes, Matrix]:
    """For each network and example the class argmax_j p_j / t_j, -1 for none, and its lead over the second.

    t_j = sum p_j^2 / sum p_j is what a network gives class j where it gives it; one example of the mean over all
    classes counts with it, for a class hardly seen. Where most of a class carry another's label, its own is never far
    above 1/2: plain argmax would name the other. (Confident learning takes the mean p_j of the examples labelled j.)
    """
    shape = (len(matrices), len(matrices[0]))
    predicted, margin = np.full(shape, -1, np.int64), np.zeros(shape)
    for a, P in enumerate(matrices):
        total, squares = (sum(np.nansum(rows**power, axis=0) for _, rows in _chunks(P)) for power in (1, 2))
        usual = (squares + squares.sum() / max(total.sum(), 1)) / (total + 1)
        for start, rows in _chunks(P):
            seen = start + np.flatnonzero(~np.isnan(rows[:, 0]))
            scaled = rows[seen - start] / np.maximum(usual, np.finfo(float).tiny)
            second, first = np.partition(scaled, -2, axis=1)[:, -2:].T
            predicted[a, seen], margin[a, seen] = scaled.argmax(axis=1), (first - second) / scaled.sum(axis=1)
    return predicted, margin


def label_probability(matrices: list[np.ndarray], codes: np.ndarray) -> NDArray[np.float64]:
    """Of each example, the mean probability of its label over the networks that predicted it; NaN where none did."""
    told = np.array([P[np.arange(len(codes)), codes] for P in matrices], np.float64)
    many = (~np.isnan(told)).sum(axis=0)
    return np.minimum(np.nansum(told, axis=0) / np.where(many > 0, many, np.nan), 1)


def _chunks(P: np.ndarray) -> Iterator[tuple[int, Matrix]]:
    return ((start, P[start : start + CHUNK].astype(np.float64)) for start in range(0, len(P), CHUNK))


def _refuse_bad(start: int, rows: Matrix) -> None:
    """Every row sums to 1, or is NaN as a whole."""
    sums, seen = rows.sum(axis=1), ~np.isnan(rows).all(axis=1)
    broken = seen & ~((rows >= 0) & np.isfinite(rows)).all(axis=1)
    if broken.any():
        raise InputError(
            f"The probabilities of the example at index {start + broken.argmax()} are not all finite and zero or more; "
            "a whole row of NaN marks an example that was never scored."
        )
    off = seen & (np.abs(sums - 1) > ROW_SUM_TOLERANCE)
    if off.any():
        raise InputError(
            f"The probabilities of the example at index {start + off.argmax()} sum to {sums[off.argmax()]:g}, not 1; "
            "pass the softmax of the logits."
        )
