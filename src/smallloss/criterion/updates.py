"""What reaches a ledger: the columns of an update, arrays or tensors of any device without importing torch; and the
states of other ranks' ledgers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax

from smallloss.criterion.history import divide
from smallloss.errors import InputError
from smallloss.knobs import to_numpy

State = dict[str, np.ndarray]  # as `LossLedger.arrays` has it
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


# --- ledgers of several ranks -------------------------------------------------------------------------------------


def named(state: Mapping[str, np.ndarray], start: str) -> State:
    """Those of its arrays whose names begin so, by what follows."""
    return {name.removeprefix(start): one for name, one in state.items() if name.startswith(start)}


def window_of(saved: np.ndarray) -> tuple[int | None, int | None]:
    """(start, stop), as an array has it, -1 for an open end."""
    start, stop = (None if end < 0 else int(end) for end in saved)
    return start, stop


def merged(states: Sequence[State]) -> State:
    """The state of one ledger; epochs that several have in common are taken once."""
    _require_of_one_run(states)
    distinct: list[State] = []  # without those whose closed epochs another has too: one ledger's, handed to several
    for state in states:
        if state["epochs"] and not any(_closed_alike(state, other) for other in distinct):
            distinct.append(state)
    whole: State = {"window": states[0]["window"]}
    whole |= _closed(distinct) if distinct else {k: v for k, v in states[0].items() if not k.startswith("open_")}
    opened = [named(state, "open_") for state in states]
    for name in {name for columns in opened for name in columns}:
        whole[f"open_{name}"] = np.concatenate([columns[name] for columns in opened if name in columns])
    return whole


def _closed(states: Sequence[State]) -> State:
    """Sums and counts added up, an example's count kept within the epochs there were; the rest from who saw it last."""
    last_epoch = np.maximum.reduce([state["last_epoch"] for state in states])
    count = np.sum([state["count"] for state in states], axis=0, dtype=np.int32)
    most = len(range(int(states[0]["epochs"]))[slice(*window_of(states[0]["window"]))])
    share = np.minimum(1.0, most / np.maximum(count, 1))
    latest = [(state["last_epoch"] == last_epoch) & (last_epoch >= 0) for state in states]
    losses = np.sum([np.where(at, state["last_loss"], 0) for at, state in zip(latest, states, strict=True)], axis=0)
    curves = states[0]["curves"]
    for other in states[1:]:  # another rank's losses fill what is blank
        curves = np.where(np.isnan(curves), other["curves"], curves)
    whole: State = {
        "epochs": states[0]["epochs"],
        "count": np.minimum(count, np.int32(most)),
        "last_epoch": last_epoch,
        "last_loss": divide(losses, np.sum(latest, axis=0)).astype(np.float32),
        "curves": curves,
    }
    for name in named(states[0], "sum_"):
        whole[f"sum_{name}"] = np.sum([state[f"sum_{name}"] for state in states], axis=0) * share
    if "predicted" in states[0]:
        seen = [np.where(at, state["predicted"], -1) for at, state in zip(latest, states, strict=True)]
        whole["predicted"] = np.maximum.reduce(seen)  # of several that saw it last, any
    return whole


def _closed_alike(one: State, other: State) -> bool:
    compared = [name for name in one if name in ("count", "last_epoch") or name.startswith("sum_")]
    return all(np.array_equal(one[name], other[name]) for name in compared)


def _require_of_one_run(states: Sequence[State]) -> None:
    n, window = len(states[0]["count"]), window_of(states[0]["window"])
    most = max(int(state["epochs"]) for state in states)
    columns = [_columns(state) for state in states]
    known = next((one for one in columns if one), set())
    for rank, state in enumerate(states):
        if (len(state["count"]), window_of(state["window"])) != (n, window):
            raise InputError(
                f"Ledger {rank} is for {len(state['count'])} examples and window {window_of(state['window'])}, ledger "
                f"0 for {n} and {window}: only ledgers of one run can be merged."
            )
        if columns[rank] and columns[rank] != known:
            raise InputError(
                f"Ledger {rank} holds {', '.join(sorted(columns[rank]))}, others {', '.join(sorted(known))}: give the "
                "same to every update, on every rank."
            )
        if state["epochs"] not in (0, most):
            raise InputError(
                f"Ledger {rank} has closed {state['epochs']} epochs, another {most}, and they would be taken for one "
                "another: close the same ones on every rank, or begin a new ledger each epoch."
            )


def _columns(state: State) -> set[str]:
    return named(state, "open_").keys() - {"index"} or named(state, "sum_").keys() | ({"predicted"} & state.keys())
