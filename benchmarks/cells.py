"""The cells of the paper's tables: CIFAR with the authors' own noise and split, by name."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from smallloss.criterion.selection import precision_recall, select_globally
from smallloss.criterion.transition import from_spec
from smallloss.data.cifar import human_labels
from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.engine.task import Check, Task
from smallloss.noise.choose import select
from smallloss.noise.model import NoiseModel
from smallloss.paper.cells import as_the_authors


@dataclass
class Cell:
    """One column of a table, for one seed: data with noisy labels, 45,000 to learn from, what is known."""

    name: str
    seed: int
    dataset: Dataset
    train: np.ndarray
    validation: np.ndarray
    noise: NoiseModel

    def task(self, device: str = "cuda") -> Task:
        truth, test = self.dataset.true_labels, self.dataset.test
        assert truth is not None
        assert test is not None
        checks = {"test": Check(test, np.arange(len(test)), test.labels)}
        if len(self.validation):
            checks["validation"] = Check(self.dataset, self.validation, truth[self.validation])
        return Task(self.dataset, self.train, checks, seed=self.seed, device=torch.device(device))

    @property
    def right(self) -> np.ndarray:
        """Which of the training part carry their true label."""
        assert self.dataset.true_labels is not None
        return (self.dataset.labels == self.dataset.true_labels)[self.train]

    def precision(self, score: np.ndarray) -> tuple[float, float]:
        """Table 1 (at the share 1 - eta_i, eta from T), and of the selection by Eq. 2; in percent."""
        labels = self.dataset.labels[self.train]
        known = {
            "transition": self.noise.transition, "noise_rate": self.noise.noise_rate, "prior": self.noise.prior,
        }  # fmt: skip
        share = select(score[self.train], labels, beta=0.0, gamma="none", **known)
        chosen = select(score[self.train], labels, **known)
        return tuple(100 * precision_recall(one.mask, self.right)[0] for one in (share, chosen))  # type: ignore[return-value]

    def global_precision(self, score: np.ndarray) -> float:
        """Table 1, "Only Mean Loss": as many as carry their true label, classes ignored; in percent."""
        mask = select_globally(score[self.train], float(self.right.mean()))
        return 100 * precision_recall(mask, self.right).precision


def cell(name: str, data: dict[str, Dataset], seed: int = 0) -> Cell:
    """cifar10/uniform/0.5, with the authors' generator; seed 0 is the very labels of the paper.

    cifar10/human/random1 has the labels that people gave (CIFAR-10N), and all 50,000 to learn from.
    """
    where, kind, r = name.split("/")
    dataset = data[where]
    assert dataset.true_labels is not None
    classes = len(dataset.classes)
    if kind == "human":
        return _human_cell(name, data[f"{where}n"], seed)
    noisy = as_the_authors(dataset, name, seed)
    assert noisy.validation is not None
    train = np.setdiff1d(np.arange(len(noisy)), noisy.validation)
    T = from_spec(f"{kind}:{r}", classes, dataset.class_map)
    return Cell(
        name, seed, noisy, train, noisy.validation, NoiseModel.given(range(len(T)), transition=T, prior="uniform")
    )


def _human_cell(name: str, dataset: Dataset, seed: int) -> Cell:
    """The rates are the realised ones: people's T is known to nobody."""
    labels, truth, c = dataset.labels, dataset.true_labels, len(dataset.classes)
    rates = np.bincount(labels[labels != truth], minlength=c) / np.bincount(labels, minlength=c)
    everything, nothing = np.arange(len(labels)), np.empty(0, dtype=np.int64)
    return Cell(name, seed, dataset, everything, nothing, NoiseModel(noise_rate=rates))


def datasets(folder: Path) -> dict[str, Dataset]:
    """Whichever of the two CIFARs lie in a folder, and CIFAR-10N's random1 beside the first."""
    found = {}
    for name, inside in (("cifar10", "cifar-10-batches-bin"), ("cifar100", "cifar-100-binary")):
        if (folder / inside).is_dir():
            found[name] = load(f"{name}:{folder}")
    human = folder / "cifar10n_random1.npz"
    if human.is_file() and "cifar10" in found:
        found["cifar10n"] = found["cifar10"].with_labels(human_labels(human, "random1", found["cifar10"]))
    return found
