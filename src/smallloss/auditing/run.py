"""A finished run as its audit sees it: vectors have an entry per row of the dataset, held-out ones too. No torch."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.npz import read_npz
from smallloss.data.table_files import as_cell
from smallloss.finished import FEATURES, SELECTION, read_estimate, read_finished
from smallloss.noise.estimate import Estimate

FOLDER, RESULT = "audit", "result.json"
CORRECTIONS, RATES = "corrections.csv", "rates.csv"  # what a later run takes


@dataclass(frozen=True, eq=False)
class Run:
    """What the run itself said, before anybody answered."""

    folder: Path
    config: dict[str, Any]
    key: str  # says in the answers which run they belong to
    table: Any  # of its examples, without those that could not be read
    classes: np.ndarray
    labels: np.ndarray  # codes
    ids: list[str]
    predicted: np.ndarray  # codes by the classifier that it ships; -1 where there is none
    label_score: np.ndarray  # low is suspicious; NaN for what was never seen
    kept: np.ndarray
    trained_on: np.ndarray  # rows
    noise_rate: np.ndarray  # per class
    known: dict[int, int]  # row -> its true class by hand, or NONE: the corrections it was made with
    estimate: Estimate | None
    features: np.ndarray | None  # what answers teach by; a run of before has none

    def __truediv__(self, name: str) -> Path:
        return self.folder / FOLDER / name

    @property
    def held_out(self) -> np.ndarray:
        """Rows that were held out."""
        return np.setdiff1d(np.arange(len(self.labels)), self.trained_on)


def read_run(folder: str | Path) -> Run:
    """What an audit needs of a run folder; what an audit wrote there is not read."""
    folder = Path(folder)
    config, table = read_finished(folder)
    selected = read_npz(folder / SELECTION)
    table = table.filter(table.column("index").is_valid())
    classes = np.array([as_cell(name) for name in selected["classes"].tolist()], dtype=object)
    code = {name: k for k, name in enumerate(classes.tolist())}
    content = hashlib.sha256((folder / SELECTION).read_bytes() + config["data"]["fingerprint"].encode())
    found, n = read_estimate(folder), len(table)
    before = _before_any_answer(folder, table)
    return Run(
        folder=folder,
        config=config,
        key=content.hexdigest()[:16],
        table=table,
        classes=classes,
        labels=np.array([code[name] for name in table.column("given_label").to_pylist()], np.int64),
        ids=table.column("id").to_pylist(),
        predicted=np.array([code.get(name, -1) for name in table.column("predicted_label").to_pylist()], np.int64),
        label_score=before["label_score"],
        kept=before["selected"].astype(bool).reshape(n),
        trained_on=selected["index"],
        noise_rate=selected["noise_rate"],
        known={int(row): int(true) for row, true in config.get("corrections", [])},
        estimate=None if found is None else Estimate.from_saved(found | {"classes": classes.tolist()}),
        features=before.get("features"),
    )


def _before_any_answer(folder: Path, table: Any) -> dict[str, np.ndarray]:
    """The columns that an audit writes anew, as the run had them; a run of before left them in its table alone."""
    if (folder / FEATURES).is_file():
        return read_npz(folder / FEATURES)
    columns = {name: np.array(table.column(name).to_pylist()) for name in ("label_score", "selected")}
    return columns | {"label_score": columns["label_score"].astype(np.float64)}
