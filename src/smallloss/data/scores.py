"""Losses recorded elsewhere: what `select` needs, from a csv, parquet or npz file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smallloss.criterion.labels import label_names
from smallloss.data.columns import LABEL, Table, find_column
from smallloss.data.npz import read_npz
from smallloss.data.table_files import read_numbers
from smallloss.errors import InputError
from smallloss.words import listed

_SCORE = ("score", "mean_loss", "loss")
_EPOCH = re.compile(r"(loss|epoch)_?(\d+)")


@dataclass(frozen=True, eq=False)
class Scores:
    """`losses` [n, epochs] in input order, one column if they came averaged; NaN where never seen."""

    labels: np.ndarray
    losses: np.ndarray
    ids: tuple[str, ...] | None

    @property
    def mean(self) -> np.ndarray:
        """The mean over the epochs in which an example was seen; NaN if in none."""
        seen = ~np.isnan(self.losses)
        count = seen.sum(axis=1)
        total = np.where(seen, self.losses, 0.0).sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def read_scores(path: str | Path) -> Scores:
    """Labels and losses by name.

    A table has the columns label (given_label, y), score (mean_loss, loss) or one per epoch (loss_0, ... or
    epoch_0, ...), and may have id. An npz has `labels` and `loss`: [n], [n, epochs] or [epochs, n].
    """
    path = Path(path)
    return _from_npz(path) if path.suffix.lower() == ".npz" else _from_table(path)


def _from_table(path: Path) -> Scores:
    table = Table.read(path)
    label, score = find_column(table.names, LABEL), find_column(table.names, _SCORE)
    columns = [score] if score else _epoch_columns(table.names, path)
    if label is None or not columns:
        raise InputError(
            f"{path} has the columns {listed(table.names)}; it needs label (or given_label, y) and score "
            "(or mean_loss, loss, or loss_0, loss_1, ... per epoch)."
        )
    losses = np.stack([read_numbers(table.arrow.column(column), column, path) for column in columns], axis=1)
    return Scores(table.labels(), losses, tuple(table.ids()) or None)


def _epoch_columns(names: Sequence[str], path: Path) -> list[str]:
    """The per-epoch columns in the order of their numbers."""
    found = [match for match in map(_EPOCH.fullmatch, names) if match]
    if len({match[1] for match in found}) > 1:
        raise InputError(f"{path} has both loss_... and epoch_... columns; keep one kind.")
    return [match[0] for match in sorted(found, key=lambda match: int(match[2]))]


def _from_npz(path: Path) -> Scores:
    arrays = read_npz(path)
    label, score = find_column(list(arrays), LABEL), find_column(list(arrays), _SCORE)
    if label is None or score is None:
        raise InputError(f"{path} has the arrays {', '.join(arrays)}; it needs labels and loss.")
    labels, losses = label_names(arrays[label]), arrays[score]
    n = len(labels)
    if losses.dtype.kind not in "iuf" or losses.ndim not in (1, 2) or n not in losses.shape:
        raise InputError(
            f"{score} in {path} is {losses.dtype} of shape {losses.shape}; for {n:,} labels it must hold "
            f"numbers of shape ({n},), ({n}, epochs) or (epochs, {n})."
        )
    losses = losses.astype(np.float64)
    if losses.ndim == 1:
        losses = losses[:, None]
    elif losses.shape[0] != n:
        losses = losses.T
    bad = np.argwhere(np.isinf(losses))
    if len(bad):
        raise InputError(
            f"{score} in {path} is infinite for the example at index {bad[0][0]}; write NaN if never seen."
        )
    ids = arrays.get("ids", arrays.get("id"))
    if ids is not None and ids.shape != (n,):
        raise InputError(f"The ids in {path} have the shape {ids.shape}; there are {n:,} labels.")
    return Scores(labels, losses, None if ids is None else tuple(str(value) for value in ids.tolist()))
