"""A finished run as its audit sees it: vectors have an entry per row of the dataset, held-out ones too. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from smallloss.data.table_files import by_spelling
from smallloss.files import read_npz
from smallloss.record.examples import HELD_OUT, TRAIN
from smallloss.record.run import FEATURES, Run

FOLDER, RESULT = "audit", "result.json"
CORRECTIONS, RATES = "corrections.csv", "rates.csv"  # what a later run takes


@dataclass(eq=False, kw_only=True)
class Audited(Run):
    """A run, and what it said before anybody answered; in its examples stands what it says now."""

    folder: Path
    label_score: np.ndarray  # low is suspicious; NaN for what was never seen
    kept: np.ndarray

    def __truediv__(self, name: str) -> Path:
        return self.folder / FOLDER / name

    @cached_property
    def classes(self) -> np.ndarray:
        return np.array(self.examples.classes, dtype=object)

    @property
    def labels(self) -> np.ndarray:
        return self.examples.label

    @property
    def ids(self) -> Sequence[str]:
        return self.examples.ids

    @cached_property
    def spelled_ids(self) -> dict[str, str]:
        """How a table may spell an id -> the id."""
        return by_spelling(self.ids)

    @cached_property
    def spelled_classes(self) -> dict[str, str]:
        return by_spelling(self.examples.classes)

    @cached_property
    def trained_on(self) -> np.ndarray:
        return self.examples.rows(TRAIN)

    @cached_property
    def held_out(self) -> np.ndarray:
        return self.examples.rows(HELD_OUT)

    @cached_property
    def known(self) -> dict[int, int]:
        """Row -> its true class by hand, or NONE: the corrections that the run was made with."""
        return {int(row): int(true) for row, true in self.settings.get("corrections", [])}


def read_run(folder: str | Path) -> Audited:
    """What an audit needs of a run folder; what an audit wrote there is not read."""
    folder = Path(folder)
    run = Run.read(folder)
    saved = {"label_score": run.examples.label_score, "selected": run.examples.kept}
    if (folder / FEATURES).is_file():  # without them, by a run of before, the columns are in its table alone
        saved |= read_npz(folder / FEATURES)
    return Audited(**vars(run), folder=folder, label_score=saved["label_score"], kept=saved["selected"])
