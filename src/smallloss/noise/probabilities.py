"""What networks predict out of sample, a matrix of probabilities for each, and the labels as class codes; checked."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smallloss.criterion.labels import encode
from smallloss.errors import InputError
from smallloss.knobs import to_numpy
from smallloss.words import listed

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Matrix = NDArray[np.float64]

ROW_SUM_TOLERANCE = 0.01  # half-precision softmax still passes
SURE = 0.2  # of the predictions of each class, the most confident ones
CHUNK = 1 << 16  # rows at a time, so that temporaries stay small


def matrices_of(probabilities: Any) -> list[np.ndarray]:
    """One (n, c) matrix for each network, of one or of several; a row of NaN was not predicted by that network."""
    several = [to_numpy(one) for one in (probabilities if isinstance(probabilities, list | tuple) else [probabilities])]
    if any(P.ndim != 2 for P in several):  # the rows of one matrix, or matrices in one array
        whole = to_numpy(probabilities)
        several = list(whole) if whole.ndim == 3 else [whole]
    if len({P.shape for P in several}) > 1 or any(
        P.ndim != 2 or P.shape[1] < 2 or P.dtype.kind not in "fiu" for P in several
    ):
        raise InputError(
            "probabilities must be a table of numbers, a row for each example and a column for each of two or more "
            "classes, or one such table of the same examples for each network; they are "
            f"{listed([f'{P.dtype} of shape {P.shape}' for P in several], say=str)}."
        )
    if all(np.isnan(P).all() for P in several):
        raise InputError("No example has out-of-sample probabilities: every row is NaN, so there is nothing to count.")
    for start, rows in (chunk for P in several for chunk in _chunks(P)):
        sums = rows.sum(axis=1)
        good = (rows >= 0).all(axis=1) & (np.abs(sums - 1) <= ROW_SUM_TOLERANCE) | np.isnan(rows).all(axis=1)
        if not good.all():
            raise InputError(
                f"The probabilities of the example at index {start + good.argmin()} are not shares that sum to 1 (they "
                f"sum to {sums[good.argmin()]:g}): pass the softmax of the logits, and for an example that was never "
                "scored a row of NaN."
            )
    return several


def named(labels: Any, classes: Any, n: int, c: int) -> tuple[Codes, list[Any]]:
    """A code for each of n labels, which may be codes already, and the names of the c columns."""
    array, found = to_numpy(labels), encode(labels)[0].tolist()
    if array.shape != (n,):
        raise InputError(f"There are {n:,} rows of probabilities but labels of shape {array.shape}; give one for each.")
    are_codes = array.dtype.kind in "iu" and found[0] >= 0 and found[-1] < c
    if classes is not None:
        names = to_numpy(classes).tolist()
        are_codes = are_codes and not all(isinstance(name, int) for name in names)
    else:
        names = list(range(c)) if are_codes else found
    if len(names) != c:
        raise InputError(
            f"The probabilities have {c} columns, and there are {len(names)} classes ({listed(names)}); name the "
            "classes in the order of the columns (classes=)."
        )
    return (array if are_codes else encode(labels, names)[1]).astype(np.int64), names


def predictions(P: np.ndarray) -> tuple[Codes, Flags]:
    """Of each example the class argmax_j p_j / t_j, -1 for none, and whether it is among the SURE ones of its class.

    t_j = sum p_j^2 / sum p_j is what a network gives class j where it gives it; one example of the mean over all
    classes counts with it, for a class hardly seen. Where most of a class carry another's label, its own is never far
    above 1/2: plain argmax would name the other. (Confident learning takes the mean p_j of the examples labelled j.)
    """
    predicted, confidence = np.full(len(P), -1, np.int64), np.zeros(len(P))
    total, squares = (sum(np.nansum(rows**power, axis=0) for _, rows in _chunks(P)) for power in (1, 2))
    usual = np.maximum((squares + squares.sum() / max(total.sum(), 1)) / (total + 1), np.finfo(float).tiny)
    for start, rows in _chunks(P):
        seen = np.flatnonzero(~np.isnan(rows[:, 0]))
        scaled = rows[seen] / usual
        predicted[start + seen], confidence[start + seen] = (
            scaled.argmax(axis=1),
            scaled.max(axis=1) / scaled.sum(axis=1),
        )
    size = np.bincount(predicted + 1, minlength=P.shape[1] + 1)
    last = np.cumsum(size) - size + np.ceil(SURE * size - 1e-9).astype(np.int64) - 1
    least = confidence[np.lexsort((-confidence, predicted))[last]]  # of the sure ones of each class; ties are sure too
    return predicted, (predicted >= 0) & (confidence >= least[predicted + 1])


def _chunks(P: np.ndarray) -> Iterator[tuple[int, Matrix]]:
    return ((start, P[start : start + CHUNK].astype(np.float64)) for start in range(0, len(P), CHUNK))
