"""A finished run as its audit sees it. No torch."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.npz import read_npz
from smallloss.data.table_files import as_cell
from smallloss.finished import SELECTION, read_estimate, read_finished

FOLDER, TABLE, PAGE, RESULT = "audit", "audit.csv", "audit.html", "result.json"


@dataclass(frozen=True, eq=False)
class AllRows:
    """The labels of a dataset, held-out examples included, and which of them are kept."""

    classes: np.ndarray
    class_index: np.ndarray
    mask: np.ndarray


@dataclass(frozen=True, eq=False)
class Run:
    """The training part of a finished run, as the audit sees it; vectors have one entry per row of it.

    Where they are of all rows of the dataset it is said: of those held out labels can be corrected too.
    """

    folder: Path
    name: str
    key: str  # says in the answers which run they belong to
    fingerprint: str
    classes: np.ndarray
    class_index: np.ndarray
    rank_in_class: np.ndarray
    mask: np.ndarray
    index: np.ndarray  # rows of the dataset
    noise_rate: np.ndarray
    labels: np.ndarray  # of all rows, as are the next four
    ids: list[str]
    predicted: list[str | None]
    label_score: np.ndarray  # low is suspicious; NaN for what was never seen
    kept: np.ndarray
    known: dict[int, int]  # row of the dataset -> its true class by hand, or NONE: the corrections it was made with
    transition: list[list[float]] | None  # T where it was given
    upper: list[float] | None  # of the rates, where they were given with them
    estimate: dict[str, Any] | None

    def __truediv__(self, name: str) -> Path:
        return self.folder / FOLDER / name

    @property
    def all_rows(self) -> AllRows:
        """What answers are read for."""
        return AllRows(self.classes, self.labels, self.kept)

    def places(self, rows: Iterable[int]) -> list[int]:
        """Where in the training part rows of the dataset are, those that are in it."""
        return np.flatnonzero(np.isin(self.index, list(rows))).tolist()


def read_run(folder: str | Path) -> Run:
    """What an audit needs of a run folder. Samples are drawn of the training part, which was selected from."""
    folder = Path(folder)
    config, table = read_finished(folder)
    selected = read_npz(folder / SELECTION)
    table = table.filter(table.column("index").is_valid())  # what could not be read is no row of the dataset
    given = table.column("given_label").to_pylist()
    classes = np.array([as_cell(name) for name in selected["classes"].tolist()], dtype=object)
    position = {name: k for k, name in enumerate(classes.tolist())}
    labels = np.array([position[label] for label in given], np.int64)
    noise = config.get("noise", {})
    content = hashlib.sha256((folder / SELECTION).read_bytes() + config["data"]["fingerprint"].encode())
    return Run(
        folder=folder,
        name=config["data"]["name"],
        key=content.hexdigest()[:16],
        fingerprint=config["data"]["fingerprint"],
        classes=classes,
        class_index=labels[selected["index"]],
        rank_in_class=selected["rank_in_class"],
        mask=selected["selected"],
        index=selected["index"],
        noise_rate=selected["noise_rate"],
        labels=labels,
        ids=table.column("id").to_pylist(),
        predicted=table.column("predicted_label").to_pylist(),
        label_score=table.column("label_score").to_numpy(),
        kept=np.array(table.column("selected").to_pylist(), bool),
        known={int(row): int(true) for row, true in config.get("corrections", [])},
        transition=noise.get("transition"),
        upper=noise.get("upper"),
        estimate=read_estimate(folder),
    )
