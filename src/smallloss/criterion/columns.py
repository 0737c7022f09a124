"""What an update brings to the ledger: numpy arrays or tensors of any device, without importing torch."""

from typing import Any

import numpy as np
from scipy.special import log_softmax

from smallloss.errors import InputError
from smallloss.knobs import to_numpy

MEANS = ("loss", "margin", "probability")


def copied(values: Any) -> Any:
    """A copy that nobody else writes to; for a tensor it is made on its device, and nothing waits for it."""
    return values.detach().clone() if hasattr(values, "detach") else np.array(values)


def from_logits(logits: Any, label: Any) -> dict[str, Any]:
    """Loss, margin, probability of the label and predicted class of a batch, made where the logits are."""
    logits, label = (values if hasattr(values, "detach") else np.asarray(values) for values in (logits, label))
    if len(logits.shape) != 2 or logits.shape[1] < 2 or tuple(label.shape) != (logits.shape[0],):
        raise InputError(
            f"logits have shape {tuple(logits.shape)} and label {tuple(label.shape)}: give (batch, classes) "
            "and (batch,), with at least two classes."
        )
    whole = not label.is_floating_point() if hasattr(label, "detach") else label.dtype.kind in "iu"
    if not whole:
        raise InputError(f"label is of type {label.dtype}: give each example's class as a number from 0 to c - 1.")
    if not hasattr(logits, "detach"):
        return _from_array(logits, to_numpy(label))
    if not hasattr(label, "detach"):
        label = logits.new_empty(0).long().new_tensor(label)  # a tensor of integers, without importing torch
    return _from_tensor(logits, label)


def _from_array(z: np.ndarray, label: Any) -> dict[str, np.ndarray]:
    z = np.asarray(z, np.float64)
    y = np.asarray(label)
    inside = (y >= 0) & (y < z.shape[1])
    column = np.where(inside, y, 0)[:, None]
    others = z.copy()
    np.put_along_axis(others, column, -np.inf, axis=1)
    loss = -np.take_along_axis(log_softmax(z, axis=1), column, axis=1)[:, 0]
    return {
        "loss": np.where(inside, loss, np.nan),
        "margin": np.take_along_axis(z, column, axis=1)[:, 0] - others.max(axis=1),
        "probability": np.exp(-loss),
        "predicted": z.argmax(axis=1),
    }


def _from_tensor(z: Any, label: Any) -> dict[str, Any]:
    z = z.detach()
    if z.dtype.itemsize < 4:  # losses of bfloat16 would tie by the hundred
        z = z.float()
    y = label.detach().to(z.device).long()
    # A label outside the classes would stop a CUDA context for good; as NaN it is named in end_epoch instead.
    outside = (y < 0) | (y >= z.shape[1])
    column = y.masked_fill(outside, 0)[:, None]
    loss = -z.log_softmax(1).gather(1, column)[:, 0]
    return {
        "loss": loss.masked_fill(outside, float("nan")),
        "margin": z.gather(1, column)[:, 0] - z.scatter(1, column, float("-inf")).amax(1),
        "probability": (-loss).exp(),
        "predicted": z.argmax(1),
    }


def joined(pieces: list[Any]) -> np.ndarray:
    """One vector on the host; tensors of one device and type are joined there and moved in one copy."""
    tensors = all(hasattr(piece, "detach") for piece in pieces)
    if tensors and len({(piece.device, piece.dtype) for piece in pieces}) == 1:
        whole = pieces[0].new_empty(sum(len(piece) for piece in pieces))
        for part, piece in zip(whole.split([len(piece) for piece in pieces]), pieces, strict=True):
            part.copy_(piece)
        pieces = [whole]
    return np.concatenate([to_numpy(piece) for piece in pieces])


def once(index: np.ndarray, columns: dict[str, np.ndarray], n: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Each example once, in float64, with the mean of its values: resampling and padding may repeat it."""
    occurrences = np.bincount(index, minlength=n)
    if occurrences.max() <= 1:
        return index, {name: values.astype(np.float64) for name, values in columns.items()}
    seen = np.flatnonzero(occurrences)
    return seen, {
        name: np.bincount(index, weights=values, minlength=n)[seen] / occurrences[seen]
        for name, values in columns.items()
    }


def check(columns: dict[str, np.ndarray], n: int, epoch: int) -> None:
    """Whole numbers within 0..n-1, losses and margins that are finite, probabilities in [0, 1]."""
    index, where = columns["index"], f"in epoch {epoch}; nothing of this epoch was recorded."
    if index.dtype.kind not in "iu":
        raise InputError(f"index is of type {index.dtype}, not whole numbers, {where}")
    outside = (index < 0) | (index >= n)
    if outside.any():
        raise InputError(f"Index {index[outside.argmax()]} is outside 0..{n - 1} {where}")
    for name in [name for name in MEANS if name in columns]:
        values = columns[name]
        bad = ~np.isfinite(values)
        if name == "probability":
            bad |= (values < 0) | (values > 1 + 1e-6)
        if bad.any():
            at = bad.argmax()
            hint = ", or its label is outside the classes of the logits," if name == "loss" else ""
            raise InputError(f"The {name} of index {index[at]} is {values[at]}{hint} {where}")
