"""A finished run as its audit sees it: vectors have an entry per row of the dataset, held-out ones too. No torch."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from smallloss.files import read_npz
from smallloss.record.examples import HELD_OUT, TRAIN
from smallloss.record.run import FEATURES, SELECTION, Run

FOLDER, RESULT = "audit", "result.json"
CORRECTIONS, RATES = "corrections.csv", "rates.csv"  # what a later run takes


@dataclass(frozen=True, eq=False)
class Audited:
    """A run, and what it said before anybody answered."""

    folder: Path
    run: Run
    key: str  # says in the answers which run they belong to
    label_score: np.ndarray  # low is suspicious; NaN for what was never seen
    kept: np.ndarray
    features: np.ndarray | None  # what answers teach by; a run of before has none

    def __truediv__(self, name: str) -> Path:
        return self.folder / FOLDER / name

    @cached_property
    def classes(self) -> np.ndarray:
        return np.array(self.run.examples.classes, dtype=object)

    @property
    def labels(self) -> np.ndarray:
        return self.run.examples.label

    @property
    def ids(self) -> list[str]:
        return list(self.run.examples.ids)

    @cached_property
    def trained_on(self) -> np.ndarray:
        return self.run.examples.rows(TRAIN)

    @cached_property
    def held_out(self) -> np.ndarray:
        return self.run.examples.rows(HELD_OUT)

    @cached_property
    def known(self) -> dict[int, int]:
        """Row -> its true class by hand, or NONE: the corrections that the run was made with."""
        return {int(row): int(true) for row, true in self.run.settings.get("corrections", [])}


def read_run(folder: str | Path) -> Audited:
    """What an audit needs of a run folder; what an audit wrote there is not read."""
    folder = Path(folder)
    run = Run.read(folder)
    content = hashlib.sha256((folder / SELECTION).read_bytes() + run.settings["data"]["fingerprint"].encode())
    e, saved = run.examples, read_npz(folder / FEATURES) if (folder / FEATURES).is_file() else {}
    if "features" not in saved:  # a run of before: the columns that an audit writes anew are in its table alone
        saved = {"label_score": e.label_score, "selected": e.kept}
    key = content.hexdigest()[:16]
    return Audited(folder, run, key, saved["label_score"], saved["selected"], saved.get("features"))
