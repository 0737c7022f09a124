"""The cells of the paper's tables by name: cifar10/uniform/0.5 is CIFAR-10 with the authors' own noise and split."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.corrupt import authors_noise, authors_split
from smallloss.criterion.transition import Matrix, from_spec, noise_rate
from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.errors import InputError

KINDS = ("uniform", "pairwise", "structured")
CIFAR = ("cifar10", "cifar100")
_AUTHORS_SEEDS = {("cifar100", "uniform"): 10, ("cifar100", "pairwise"): 20}  # all others 0
_SUBSET = b"a part of the data"


@dataclass(frozen=True)
class Cell:
    """Called with a seed, it is the data of that seed; seed 0 has the very labels of the paper.

    `share`: of the training set, as in Fig. 5. digits/uniform/0.5 needs no data: it shows in seconds how all of this
    works.
    """

    name: str
    folder: Path | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        parts = self.name.split("/")
        known = len(parts) == 3 and parts[0] in (*CIFAR, "digits") and parts[1] in KINDS
        if not known or not parts[2].replace(".", "", 1).isdecimal():
            raise InputError(
                f"There is no cell {self.name!r}: write data/noise/r, as in cifar10/uniform/0.5, cifar100/pairwise/0.4 "
                "or digits/structured/0.3."
            )

    @property
    def source(self) -> str:
        return self.name.split("/")[0]

    @property
    def spec(self) -> str:
        """As `--noise` has it."""
        return ":".join(self.name.split("/")[1:])

    @property
    def transition(self) -> Matrix:
        whole = _whole(self.source, self.folder)
        return from_spec(self.spec, len(whole.classes), whole.class_map)

    def __call__(self, seed: int) -> Dataset:
        whole = _whole(self.source, self.folder)
        if self.share < 1:
            draw = np.random.default_rng([seed, *_SUBSET]).permutation(len(whole))
            whole = whole.take(np.sort(draw[: round(self.share * len(whole))]))
        return whole if self.source not in CIFAR else as_the_authors(whole, self.name, seed)

    def told(self, off: float | None = None) -> dict[str, Any]:
        """Options of `clean`: what is known of the noise. off: rates that are wrong by so much, in the place of T."""
        protocol = {"protocol": "paper"}
        if off is not None:
            c = len(self.transition)
            rates = np.clip(noise_rate(self.transition, np.full(c, 1 / c)) + off, 0, 0.99)
            told: dict[str, Any] = {"noise_rate": rates.tolist(), "prior": "uniform"}
        else:
            told = {"transition": self.transition.tolist(), "prior": "uniform"}
        return protocol | ({"noise": self.spec} if self.source not in CIFAR else {}) | told


def as_the_authors(whole: Dataset, name: str, seed: int) -> Dataset:
    """With the labels of a cell, and the split, that the authors' generator draws; seed 0 is the paper's."""
    assert whole.true_labels is not None
    source, kind, r = name.split("/")
    how: Any = kind, float(r), _AUTHORS_SEEDS.get((source, kind), 0) + seed, len(whole.classes)
    _, validation = authors_split(whole.true_labels, *how)
    return replace(whole, labels=authors_noise(whole.true_labels, *how), validation=validation)


@lru_cache(maxsize=2)
def _whole(source: str, folder: Path | None) -> Dataset:
    if source not in CIFAR:
        return load(source)
    if folder is None:
        raise InputError(
            f"Cells of {source} need its official files: give the folder that holds them with --data. Nothing is "
            "fetched for you; --cells digits/uniform/0.5 needs no files."
        )
    return load(f"{source}:{folder}")
