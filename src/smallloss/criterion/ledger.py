"""The ledger: each example's losses over the epochs, and their mean (Algorithm 1, lines 1-7)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.history import History, LossCurves, divide
from smallloss.criterion.updates import check, copied, from_logits, joined, merged, named, once, window_of
from smallloss.errors import InputError
from smallloss.files import read_npz, require_file, write_npz
from smallloss.knobs import whole

AnyPath = str | os.PathLike[str]
Window = tuple[int | None, int | None]
ALWAYS_SAVED = ("epochs", "window", "count", "last_loss", "last_epoch")


class LossLedger:
    """Running means per example: a few vectors of length n, whatever the number of epochs, and `curves`.

    window: (start, stop), epochs counted from 0, stop not included, None for an open end; `count` and the
    means then cover these epochs only.
    history: a path ending in .npy; every loss is also kept there on disk (float32, shape (epochs, n), NaN
    where not seen, margins beside it), and any window can be asked for afterwards.

    Tensors are welcome on any device. `update` never waits for the device: it keeps a detached copy, made on
    the current stream, so a buffer that the caller reuses (a captured graph, an accumulator) cannot change
    what was recorded. `end_epoch` joins the copies on the device and moves them once.
    """

    def __init__(self, n: int, *, window: Window | None = None, history: AnyPath | None = None) -> None:
        self.n = whole(n, "n, the number of examples,", least=1)
        self.epochs = 0
        self.window = _checked(window)
        self.count = np.zeros(self.n, np.int32)
        self._sums: dict[str, np.ndarray] = {}
        self._last_loss = np.full(self.n, np.nan, np.float32)
        self._last_epoch = np.full(self.n, -1, np.int32)
        self._predicted: np.ndarray | None = None
        self._open: dict[str, list[Any]] = {}
        self.curves = LossCurves(self.n)
        self._history = None if history is None else History(Path(history), self.n)
        if self._history is not None:
            self._history.require_new()

    def __repr__(self) -> str:
        what = ", ".join(sorted(self._columns()))
        told = [f"{self.epochs:,} epochs of {what}"] if self.epochs else []
        told += ["an open epoch"] if self._open else []
        told = told or ["nothing recorded"]
        told += [] if self.window == (None, None) else [f"window {self.window}"]
        unseen = np.count_nonzero(self._last_epoch < 0)
        told += [f"{unseen:,} never seen"] if self.epochs and unseen else []
        return f"<LossLedger of {self.n:,} examples: {', '.join(told)}>"

    def update(
        self, index: Any, loss: Any = None, *, logits: Any = None, label: Any = None, margin: Any = None,
        probability: Any = None, predicted: Any = None,
    ) -> None:  # fmt: skip
        """l_t(x, y) of a batch (Algorithm 1, lines 3-4): its losses, or its logits and labels 0..c-1.

        With logits the ledger also gets the margin z_label - max of the others, the probability of the label
        and the predicted class; an engine that computed these on its own passes them beside the loss.
        """
        if loss is None and logits is not None and label is not None:
            columns = from_logits(logits, label)
        elif loss is not None and logits is None and label is None:
            given = {"loss": loss, "margin": margin, "probability": probability, "predicted": predicted}
            columns = {name: copied(values) for name, values in given.items() if values is not None}
        else:
            raise InputError("update takes the index and either the losses, or logits= together with label=.")
        self._expect(set(columns))
        columns["index"] = copied(index)
        shape = tuple(columns["index"].shape)
        for name, values in columns.items():
            if len(shape) != 1 or tuple(values.shape) != shape:
                raise InputError(
                    f"{name} has shape {tuple(values.shape)}, index has shape {shape}: give one value per "
                    'example (a loss with reduction="none", not its mean).'
                )
        for name, values in columns.items():
            self._open.setdefault(name, []).append(values)

    def end_epoch(self) -> None:
        """Close the epoch: an example that occurred several times counts once, with the mean of its values.

        Everything is checked here. If something is wrong the epoch is dropped as a whole, the ledger is as it
        was before it, and goes on.
        """
        if not self._open:
            raise InputError(f"Epoch {self.epochs} has no update: there is nothing to close.")
        columns = {name: joined(pieces) for name, pieces in self._open.items()}
        self._open = {}
        check(columns, self.n, self.epochs)
        index, predicted = columns.pop("index"), columns.pop("predicted", None)
        seen, means = once(index, columns, self.n)
        if self._history is not None:
            for name in {"loss", "margin"} & set(means):
                self._history.append(self.epochs, name, seen, means[name])
        if predicted is not None:
            self._predicted = np.full(self.n, -1, np.int32) if self._predicted is None else self._predicted
            self._predicted[index] = predicted
        self._last_loss[seen] = means["loss"]
        self._last_epoch[seen] = self.epochs
        self.curves.append(self.epochs, self._last_loss, self._last_epoch)
        inside = self._in_window(self.epochs)
        for name, values in means.items():
            total = self._sums.setdefault(name, np.zeros(self.n))
            total[seen] += values if inside else 0.0
        self.count[seen] += inside
        self.epochs += 1

    @property
    def has_open_epoch(self) -> bool:
        """Was there an update since the last `end_epoch`?"""
        return bool(self._open)

    @property
    def mean_loss(self) -> np.ndarray:
        """The mean loss of each example (Algorithm 1, line 7); NaN where it was never seen."""
        return self._mean("loss")

    @property
    def mean_margin(self) -> np.ndarray:
        """The mean of z_label - max of the others; it needs logits. Low is suspicious."""
        return self._mean("margin")

    @property
    def mean_probability(self) -> np.ndarray:
        """The mean probability of the label; it needs logits."""
        return self._mean("probability")

    @property
    def last_loss(self) -> np.ndarray:
        """The loss in the last epoch that saw the example, inside the window or not."""
        return self._last_loss.astype(np.float64)

    @property
    def predicted(self) -> np.ndarray:
        """The class predicted last; -1 where the example was never seen."""
        if self._predicted is None:
            raise InputError("The ledger has no predicted class: pass logits= and label= to update.")
        return self._predicted.copy()

    def score(self, name: str = "mean_loss", window: Window | None = None) -> np.ndarray:
        """What examples are ranked by: higher is always more suspicious, NaN was never seen.

        "mean_loss" (the paper's), "mean_margin" (its negative) or "last_loss". The loss of a single
        epoch t is score(window=(t, t + 1)).
        """
        if name not in ("mean_loss", "mean_margin", "last_loss"):
            raise InputError(f"There is no score {name!r}: use mean_loss, mean_margin or last_loss.")
        if name == "last_loss":
            if window is not None:
                raise InputError("last_loss has no window: ask for mean_loss with window=(t, t + 1).")
            return self.last_loss
        quantity = name.removeprefix("mean_")
        mean = self._mean(quantity, window)
        return -mean if quantity == "margin" else mean

    def arrays(self) -> dict[str, np.ndarray]:
        """The whole state as plain arrays, the open epoch included."""
        window = [-1 if end is None else end for end in self.window]
        state: dict[str, np.ndarray] = {
            "epochs": np.array(self.epochs, np.int64), "window": np.array(window, np.int64),
            "count": self.count.copy(), "last_loss": self._last_loss.copy(), "last_epoch": self._last_epoch.copy(),
        }  # fmt: skip
        state |= {f"sum_{name}": total.copy() for name, total in self._sums.items()}
        state |= {f"open_{name}": joined(pieces) for name, pieces in self._open.items()}
        if self._predicted is not None:
            state["predicted"] = self._predicted.copy()
        if self.epochs:
            state["curves"] = np.array(self.curves.rows)
        return state

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], *, history: AnyPath | None = None) -> "LossLedger":
        """The ledger that `arrays` came from. Rows of the history beyond its epochs are written anew."""
        missing = set(ALWAYS_SAVED) - set(arrays)
        if missing:
            raise InputError(f"This is not a ledger: it lacks {', '.join(sorted(missing))}.")
        ledger = cls(len(arrays["count"]), window=window_of(arrays["window"]))
        ledger.epochs = int(arrays["epochs"])
        ledger.count = np.array(arrays["count"])
        ledger._last_loss = np.array(arrays["last_loss"])
        ledger._last_epoch = np.array(arrays["last_epoch"])
        ledger._predicted = np.array(arrays["predicted"]) if "predicted" in arrays else None
        ledger.curves.restore(arrays.get("curves"), ledger.epochs)
        ledger._sums = {name: np.array(values) for name, values in named(arrays, "sum_").items()}
        ledger._open = {name: [np.array(values)] for name, values in named(arrays, "open_").items()}
        if history is not None:
            ledger._history = History(Path(history), ledger.n)
            for quantity in {"loss", "margin"} & set(ledger._sums):
                ledger._history.rows(quantity, ledger.epochs)
        return ledger

    def save(self, path: AnyPath) -> Path:
        """The whole state as an .npz, the open epoch included."""
        return write_npz(path, self.arrays())

    @classmethod
    def load(cls, path: AnyPath, *, history: AnyPath | None = None) -> "LossLedger":
        """The ledger that `save` wrote; `history` is the path it was constructed with, if any."""
        return cls.from_arrays(read_npz(require_file(Path(path), "ledger")), history=history)

    @classmethod
    def merge(cls, *ledgers: "LossLedger") -> "LossLedger":
        """One ledger out of those of several ranks; histories on disk are not merged.

        Merge before `end_epoch`, and duplicates across ranks count once, exactly as in one ledger: every rank may go
        on from the merged one, since epochs that several ledgers have in common are taken once, or begin a new ledger
        each epoch and merge it into one that has the epochs before. Of epochs that each rank closed for itself only
        sums are left: there an example seen by several ranks keeps the mean of all its records, and its count stays
        within `epochs`.
        """
        if not ledgers or not all(isinstance(ledger, LossLedger) for ledger in ledgers):
            raise InputError("merge takes ledgers one after another: LossLedger.merge(a, b), or merge(*ledgers).")
        return cls.from_arrays(merged([ledger.arrays() for ledger in ledgers]))

    def _columns(self) -> set[str]:
        predicted = set() if self._predicted is None else {"predicted"}
        return set(self._open) - {"index"} or set(self._sums) | predicted

    def _expect(self, columns: set[str]) -> None:
        """Every update brings the same columns, or a mean would silently cover only some of the epochs."""
        known = self._columns()
        if known and columns and columns != known:
            raise InputError(
                f"This update brings {', '.join(sorted(columns))}, earlier ones {', '.join(sorted(known))}: "
                "give the same in every update."
            )

    def _in_window(self, epoch: int) -> bool:
        start, stop = self.window
        return (start or 0) <= epoch and (stop is None or epoch < stop)

    def _mean(self, quantity: str, window: Window | None = None) -> np.ndarray:
        if quantity not in self._sums and quantity != "loss":
            raise InputError(f"The ledger has no {quantity}: pass logits= with label=, or {quantity}=, to update.")
        start, stop, _ = slice(*_checked(window or self.window)).indices(self.epochs)
        if (start, stop) == slice(*self.window).indices(self.epochs)[:2]:
            return divide(self._sums.get(quantity, np.zeros(self.n)), self.count)
        if self._history is None:
            raise InputError(
                f"The ledger kept only the sums of epochs {self.window}, not of {window}: construct it with "
                "that window, or with history= to ask for any."
            )
        return self._history.mean(quantity, start, stop)


def _checked(window: Window | None) -> Window:
    try:
        start, stop = window or (None, None)
    except (TypeError, ValueError):
        raise InputError(f"window is {window!r}: give (start, stop), epochs from 0, None for an open end.") from None
    if (start or 0) < 0 or (stop is not None and stop <= (start or 0)):
        raise InputError(f"window is {window}: give (start, stop) with 0 <= start < stop, epochs from 0.")
    return (start, stop)
