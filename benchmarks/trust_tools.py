"""The cells of trust_cells.py as the parts of trust.py read them: what is true of them, and what a run would keep."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smallloss.criterion.selection import Selection
from smallloss.noise.choose import select
from smallloss.noise.estimate import estimate
from smallloss.noise.model import NoiseModel

ABLE = 0.15  # a network that errs on no more than so many of the examples it has not seen
LARGEST = 1 - 1e-6  # rate that a selection takes
FUNCTION = "function of the input"
REAL = ("people on Fashion-MNIST", "people on CIFAR-10", "YouTube comments")

Row = dict[str, Any]


class Chosen(NamedTuple):
    """What a run makes of every row."""

    kept: np.ndarray
    issue: np.ndarray
    label_score: np.ndarray  # low is suspicious


@dataclass(frozen=True, eq=False)
class Cell:
    """What the networks of a run said of one set under one noise, and what is true of it."""

    facts: Row
    labels: np.ndarray
    true: np.ndarray
    train: np.ndarray
    held_out: np.ndarray
    halves: (
        np.ndarray
    )  # [4, n, c]: the two of the run's own split, the two of another, if any; NaN where one had learnt
    score: np.ndarray
    stage1: np.ndarray
    rsl: np.ndarray
    features: np.ndarray
    seen: np.ndarray
    kept: np.ndarray  # by the code that made the cell, as rsl learnt it
    issue: np.ndarray
    before: "Cell | None" = None  # the same networks, under the code before

    @property
    def c(self) -> int:
        return self.halves.shape[2]

    @cached_property
    def wrong(self) -> np.ndarray:
        return self.labels != self.true

    @property
    def rate(self) -> float:
        return float(self.wrong.mean())

    @property
    def shares(self) -> np.ndarray:
        """Of all labels, the share of each."""
        return np.bincount(self.labels, minlength=self.c) / len(self.labels)

    @cached_property
    def rates(self) -> np.ndarray:
        """The realised share of wrong ones among those that carry each label."""
        return per_label(self.wrong, self.labels, self.c)

    @cached_property
    def mean(self) -> np.ndarray:
        """[n, c], of the networks of the run's own split that had not learnt a row."""
        return np.nanmean(self.halves[:2].astype(np.float64), axis=0)

    @cached_property
    def error(self) -> float:
        """How often that is not the true class."""
        return float((self.mean.argmax(1) != self.true).mean())

    @property
    def group(self) -> str:
        """real or made, by an able network or a weak one; clean likewise; function of the input; shuffled."""
        kind = self.facts["kind"]
        return kind if kind in (FUNCTION, "shuffled") else f"{kind}, {'able' if self.error <= ABLE else 'weak'}"

    @cached_property
    def found(self) -> NoiseModel:
        """As a run estimates: a training row by the network of the other half, what is held out by both."""
        return estimate(self.halves[:2], self.labels, classes=range(self.c))

    @cached_property
    def now(self) -> "Chosen":
        """By the code as it is."""
        return self.selected(self.found.noise_rate, self.found.prior, self.found.upper)

    def selected(self, rates: Any, prior: Any, upper: Any) -> "Chosen":
        """As a run selects: the training part, and the held-out part ranked among itself."""
        kept, issue = np.zeros(len(self.labels), bool), np.zeros(len(self.labels), bool)
        label_score = np.zeros(len(self.labels))
        for rows in (self.train, self.held_out):
            chosen = self.selection(rows, rates, prior, upper)
            kept[rows], issue[rows], label_score[rows] = chosen.mask, chosen.is_label_issue, chosen.label_score
        return Chosen(kept, issue, label_score)

    def selection(self, rows: np.ndarray, rates: Any, prior: Any, upper: Any) -> Selection:
        rates = np.minimum(rates, LARGEST)
        return select(self.score[rows], self.labels[rows], rates, classes=range(self.c), prior=prior, upper=upper)

    def again(self, label_score: np.ndarray, answers: Mapping[int, int]) -> "Chosen":
        """By a new label score, as a run selects after answers: those found wrong are dropped, the rates are theirs."""
        found = self.found
        rows = np.array(list(answers))
        wrong = np.zeros(len(self.labels), bool)
        wrong[rows] = self.wrong[rows]
        chosen = select(
            1 - label_score, self.labels, found.noise_rate, classes=range(self.c), prior=found.prior,
            upper=found.upper, known_wrong=wrong,
        )  # fmt: skip
        return Chosen(chosen.mask, chosen.is_label_issue, label_score)

    def named(self) -> Row:
        """What every line of results says of its cell."""
        facts = {key: self.facts[key] for key in ("family", "name", "noise", "kind", "seed", "n")}
        return facts | {"wrong": self.rate, "error": self.error, "group": self.group}


def cells(folder: Path, before: Path | None, only: str = "") -> Iterator[Cell]:
    """Every cell whose file's name holds `only`, in the order of their names, with what the code before made of it."""
    for path in sorted(path for path in folder.glob("*.npz") if only in path.stem):
        earlier = None if before is None or not (before / path.name).exists() else read(before / path.name)
        yield replace(read(path), before=earlier)


def read(path: Path) -> Cell:
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    facts = json.loads(str(arrays.pop("facts")))
    halves = np.stack([arrays.pop(name) for name in ("A0", "A1", "B0", "B1") if name in arrays])
    return Cell(facts, halves=halves, **arrays)


def per_label(values: np.ndarray, labels: np.ndarray, c: int) -> np.ndarray:
    """The mean of some values over the examples that carry each label; 0 where none does."""
    return np.bincount(labels, values, minlength=c) / np.maximum(np.bincount(labels, minlength=c), 1)


def f1(flags: np.ndarray, wrong: np.ndarray) -> float:
    """Of the wrong labels found; 1 where there are none, and none is flagged."""
    total = int(flags.sum()) + int(wrong.sum())
    return 2 * int((flags & wrong).sum()) / total if total else 1.0
