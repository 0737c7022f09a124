"""What is to be learnt, on what, and where it is checked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smallloss.data.dataset import Dataset
from smallloss.engine.draws import Draws
from smallloss.engine.progress import Progress
from smallloss.engine.views import PLAIN, Augmentation, Inputs
from smallloss.errors import InputError, TooFewError
from smallloss.noise.answers import NONE
from smallloss.record.folder import RunFolder

_RESIDENT_SHARE = 0.4  # of the device's free memory; the rest belongs to activations


@dataclass
class Check:
    """A set that accuracy is taken on: some rows of a dataset, and the labels to compare with."""

    dataset: Dataset
    index: np.ndarray
    labels: np.ndarray


@dataclass
class Task:
    """One dataset with its observed labels, the rows that may be learnt from, and the checks.

    The check named "validation" decides which epoch is the best one; none of the checks is ever filtered.
    """

    dataset: Dataset
    train: np.ndarray
    checks: dict[str, Check]
    seed: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    folder: RunFolder | None = None
    progress: Progress = field(default_factory=lambda: Progress(enabled=False))
    path: str = "auto"
    workers: int = 0
    deterministic: bool = False
    pins: dict[int, int] = field(default_factory=dict)  # rows answered by hand -> true class, or NONE
    loss: str = "cross_entropy"  # what plain training descends, by its name in `losses`
    transition: np.ndarray | None = None  # T as it is known before training, for losses that need it

    def __post_init__(self) -> None:
        if self.path not in ("auto", "resident", "streaming"):
            raise InputError(f"There is no path named {self.path!r}; choose auto, resident or streaming.")
        if self.classes < 2:
            raise InputError(
                f"Every example of {self.dataset.name} carries the label {self.dataset.classes[0]!r}: "
                "at least two classes are needed to tell right labels from wrong ones."
            )
        self.draws = Draws(self.seed, self.device)
        self.finished: dict[str, Any] = {}  # stages that several methods share, by name
        self._resident: bool | None = None
        given = np.asarray(self.dataset.labels, dtype=np.int64)
        corrected = {row: true for row, true in self.pins.items() if true not in (NONE, given[row])}
        self.labels = torch.from_numpy(given).to(self.device)  # what examples are scored by
        self.targets = self.labels  # what is learnt: the same, but for what was corrected by hand
        if corrected:
            targets = given.copy()
            targets[list(corrected)] = list(corrected.values())
            self.targets = torch.from_numpy(targets).to(self.device)
        self.corrected = np.isin(self.train, list(corrected))  # of the training part

    @property
    def classes(self) -> int:
        return len(self.dataset.classes)

    @property
    def held_out(self) -> np.ndarray:
        """Rows that are never trained on, in input order: they are scored out of sample."""
        learnt = np.zeros(len(self.dataset), dtype=bool)
        learnt[self.train] = True
        return np.flatnonzero(~learnt)

    def learnt(self, selected: np.ndarray) -> np.ndarray:
        """Weights (or whether selected) of the training part: a label corrected by hand is learnt in full.

        But only beside what was selected: a few corrections alone are no training set.
        """
        if self.corrected.any() and not selected.any():
            raise TooFewError(
                "Nothing was selected, only labels corrected by hand are left to learn from. Lower noise_rate or beta."
            )
        return np.where(self.corrected, selected.dtype.type(1), selected)

    def resident(self) -> bool:
        """Do the inputs live on the device? Chosen by size unless the task says so, and once: what the first stages
        leave in the cache of a GPU must not send the later ones another way."""
        if self._resident is None:
            self._resident = self._fits()
        return self._resident

    def _fits(self) -> bool:
        if self.path != "auto":
            return self.path == "resident"
        if self.device.type != "cuda":
            return not isinstance(self.dataset.inputs, np.memmap)
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info(self.device)
        return self.dataset.inputs.nbytes * 2 < free * _RESIDENT_SHARE

    def inputs(self, dataset: Dataset, how: Augmentation = PLAIN) -> Inputs:
        """Those of its own dataset, or of a check's, where this task keeps them."""
        return Inputs(dataset, self.device, how, resident=self.resident(), workers=self.workers)

    def checkpoint(self, stage: str) -> Path | None:
        return None if self.folder is None else self.folder / "checkpoint" / f"{stage}.safetensors"
