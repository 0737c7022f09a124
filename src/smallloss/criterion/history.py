"""Every epoch's values: of all examples on disk, in a plain .npy of shape (epochs, n), float32, that grows row by row;
of some in memory."""

from pathlib import Path

import numpy as np

from smallloss.errors import InputError

SAMPLED = 10_000  # examples at most
EPOCHS = 1_000  # at most: 40 MB in all
HEADER = 128  # bytes: the room is fixed, so that the row count in it can be rewritten in place


class History:
    """NaN where an example was not seen. The margins, if there are any, lie beside the losses."""

    def __init__(self, path: Path, n: int) -> None:
        self.path, self.n = path, n

    def require_new(self) -> None:
        """Refuse a place that is taken or not there, before an epoch is lost for it."""
        if self.path.exists():
            raise InputError(f"{self.path} exists already: give the history of a new ledger another path.")
        if not self.path.parent.is_dir():
            raise InputError(f"The history {self.path} cannot be written: there is no folder {self.path.parent}.")

    def file(self, quantity: str) -> Path:
        return self.path if quantity == "loss" else self.path.with_suffix(f".{quantity}.npy")

    def append(self, epoch: int, quantity: str, index: np.ndarray, values: np.ndarray) -> None:
        """Row first, row count last: whoever is interrupted leaves the file as it was."""
        row = np.full(self.n, np.nan, "<f4")
        row[index] = values
        path = self.file(quantity)
        with path.open("r+b" if epoch else "w+b") as file:
            file.seek(HEADER + epoch * row.nbytes)
            file.write(row.tobytes())
            file.flush()
            file.seek(0)
            file.write(_header(epoch + 1, self.n))

    def rows(self, quantity: str, epochs: int) -> np.ndarray:
        """The first `epochs` rows, as a memory map."""
        path = self.file(quantity)
        try:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as problem:
            raise InputError(f"The history {path} cannot be read ({problem}).") from problem
        if rows.ndim != 2 or rows.shape[1] != self.n or rows.shape[0] < epochs:
            raise InputError(f"The history {path} has shape {rows.shape}, not {epochs} epochs of {self.n} examples.")
        return rows[:epochs]

    def mean(self, quantity: str, start: int, stop: int) -> np.ndarray:
        total, count = np.zeros(self.n), np.zeros(self.n, np.int32)
        for row in self.rows(quantity, stop)[start:]:
            seen = ~np.isnan(row)
            total[seen] += row[seen]
            count += seen
        return divide(total, count)


def divide(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The mean; NaN where there is nothing to average."""
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)


def _header(epochs: int, n: int) -> bytes:
    """Version 1.0 of numpy's format, padded with spaces to HEADER bytes."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({epochs}, {n}), }}"
    start = b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little")
    return start + text.encode("latin1").ljust(HEADER - 11) + b"\n"


class LossCurves:
    """The losses of at most SAMPLED examples, drawn at random, over the first EPOCHS epochs, in float32.

    Which examples are kept and which are likely wrong is known only at the end, so single losses must be kept.
    `start` is the epoch of the training that was recorded first, counted from 0.
    """

    def __init__(self, n: int) -> None:
        self.index = np.arange(n)
        if n > SAMPLED:
            self.index = np.sort(np.random.default_rng(0).choice(n, SAMPLED, replace=False))
        self.start = 0
        self.rows: list[np.ndarray] = []  # one an epoch, float32, NaN where the example was not seen

    def append(self, epoch: int, last_loss: np.ndarray, last_epoch: np.ndarray) -> None:
        """The losses of the epoch just closed, out of every example's last one."""
        if epoch < EPOCHS:
            self.rows.append(np.where(last_epoch[self.index] == epoch, last_loss[self.index], np.float32("nan")))

    def restore(self, rows: np.ndarray | None, epochs: int) -> None:
        """As they were saved; of a ledger that kept none the epochs are blank."""
        blank = np.full((min(epochs, EPOCHS), len(self.index)), np.nan, np.float32)
        self.rows = list(blank if rows is None else np.array(rows))

    def mean(self, members: np.ndarray) -> np.ndarray:
        """The mean loss of a group, a mask over all examples, in each epoch; NaN where none of it was seen."""
        losses = np.array(self.rows, np.float64).reshape(len(self.rows), len(self.index))[:, members[self.index]]
        seen = ~np.isnan(losses)
        return divide(np.where(seen, losses, 0).sum(axis=1), seen.sum(axis=1))
