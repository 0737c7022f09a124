"""One ledger out of those of several ranks: a function of their states, as `LossLedger.arrays` has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from smallloss.criterion.history import divide
from smallloss.errors import InputError

State = dict[str, np.ndarray]


def merged(states: Sequence[State]) -> State:
    """The state of one ledger; epochs that several have in common are taken once."""
    _require_of_one_run(states)
    closed = _distinct([state for state in states if state["epochs"]])
    whole: State = {"window": states[0]["window"]}
    whole |= _closed(closed) if closed else {name: states[0][name] for name in states[0] if not _is_open(name)}
    for name in {name for state in states for name in state if _is_open(name)}:
        whole[name] = np.concatenate([state[name] for state in states if name in state])
    return whole


def _closed(states: Sequence[State]) -> State:
    """Sums and counts added up, an example's count kept within the epochs there were; the rest from who saw it last."""
    epochs = int(states[0]["epochs"])
    last_epoch = np.maximum.reduce([state["last_epoch"] for state in states])
    count = np.sum([state["count"] for state in states], axis=0, dtype=np.int32)
    start, stop = states[0]["window"]
    most = len(range(epochs)[max(start, 0) : None if stop < 0 else stop])
    share = np.minimum(1.0, most / np.maximum(count, 1))
    sums = {name: np.sum([state[name] for state in states], axis=0) * share for name in states[0] if _is_sum(name)}
    latest = [(state["last_epoch"] == last_epoch) & (last_epoch >= 0) for state in states]
    losses = np.sum([np.where(at, state["last_loss"], 0) for at, state in zip(latest, states, strict=True)], axis=0)
    whole: State = {
        "epochs": states[0]["epochs"],
        "count": np.minimum(count, np.int32(most)),
        "last_epoch": last_epoch,
        "last_loss": divide(losses, np.sum(latest, axis=0)).astype(np.float32),
        "curves": _first_known([state["curves"] for state in states]),
        **sums,
    }
    if "predicted" in states[0]:
        seen = [np.where(at, state["predicted"], -1) for at, state in zip(latest, states, strict=True)]
        whole["predicted"] = np.maximum.reduce(seen)  # of several that saw it last, any
    return whole


def _first_known(curves: Sequence[np.ndarray]) -> np.ndarray:
    """Another rank's losses fill what is blank."""
    known = curves[0]
    for other in curves[1:]:
        known = np.where(np.isnan(known), other, known)
    return known


def _distinct(states: Sequence[State]) -> list[State]:
    """Without those whose closed epochs another has too: they are one ledger's, handed to several ranks."""
    found: list[State] = []
    for state in states:
        if not any(_closed_alike(state, other) for other in found):
            found.append(state)
    return found


def _closed_alike(one: State, other: State) -> bool:
    compared = [name for name in one if name in ("count", "last_epoch") or _is_sum(name)]
    return all(np.array_equal(one[name], other[name]) for name in compared)


def _require_of_one_run(states: Sequence[State]) -> None:
    n, window = len(states[0]["count"]), states[0]["window"]
    most = max(int(state["epochs"]) for state in states)
    columns = [_columns(state) for state in states]
    known = next((one for one in columns if one), set())
    for rank, state in enumerate(states):
        if len(state["count"]) != n or not np.array_equal(state["window"], window):
            raise InputError(
                f"Ledger {rank} is for {len(state['count'])} examples and window {_told(state['window'])}, ledger 0 "
                f"for {n} and {_told(window)}: only ledgers of one run can be merged."
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
    opened = {name.removeprefix("open_") for name in state if _is_open(name)} - {"index"}
    closed = {name.removeprefix("sum_") for name in state if _is_sum(name)} | ({"predicted"} & state.keys())
    return opened or closed


def _told(window: np.ndarray) -> tuple[Any, ...]:
    return tuple(None if end < 0 else int(end) for end in window)


def _is_open(name: str) -> bool:
    return name.startswith("open_")


def _is_sum(name: str) -> bool:
    return name.startswith("sum_")
