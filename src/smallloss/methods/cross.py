"""Predictions for every example by a network that never saw its label: each judges the fold that it did not learn.

(BatchNorm's statistics, which know no labels, are taken over the inputs of all.)
Noise rates cannot be estimated from predictions in sample: a network that has learnt a wrong label agrees with it.
What neither half learnt both predict, which tells how often two networks differ: the part held out, or a part of them.
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage, fit
from smallloss.engine.task import Task
from smallloss.methods.settings import STAGE1, Settings
from smallloss.methods.small_loss import warm_up
from smallloss.methods.supervised import Plain
from smallloss.noise.estimate import count, matrices_of
from smallloss.noise.model import NoiseModel

Pick = Literal["window", "best", "last"]
NOBODY = np.array([], np.int64)
HALF = 0.75  # of an epoch of stage 1 is one of a half-training, which scores the other half
NEITHER = -1  # the fold of what no network learns, and all judge
_APART = 20  # where nothing is held out, so many of an observed class leave two for neither half to learn


class Fold(Plain):
    """Learns some examples and judges the others: by its mean prediction, or in the epoch that agrees best."""

    def __init__(
        self, task: Task, name: str, examples: np.ndarray, others: np.ndarray, recipe: Recipe, net: Any,
        *, recipe_name: str = "stage1", best: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(task, name, examples, recipe, net, recipe_name=recipe_name)
        self.others, self.best = others, best
        self.total = torch.zeros(len(others), task.classes, device=task.device)
        self.epochs = torch.zeros((), dtype=torch.int64)

    def buffers(self) -> dict[str, Tensor]:
        return super().buffers() | {"total": self.total, "epochs": self.epochs}

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        if epoch not in stage.record:
            return {}
        g = stage.probabilities(self.others)
        if not self.best:
            self.total += g
            self.epochs += 1
        elif not self.epochs or self._agreement(g) > self._agreement(self.total):
            self.total.copy_(g)
            self.epochs.fill_(1)
        return {}

    def _agreement(self, g: Tensor) -> int:
        """How many of the others are predicted as they are labelled, rightly or wrongly."""
        return int((g.argmax(1).cpu().numpy() == self.task.dataset.labels[self.others]).sum())

    def prediction(self) -> np.ndarray:
        return (self.total / self.epochs.to(self.total.device)).cpu().numpy()


def cross_predict(
    task: Task,
    settings: Settings,
    rows: np.ndarray,
    folds: np.ndarray,
    *,
    always: np.ndarray = NOBODY,
    recipe: str = STAGE1,
    epochs: int | None = None,
    name: str = "half",
    weights: str | None = None,
    pick: Pick = "window",
) -> np.ndarray:
    """g(x) of `rows` and of what is held out, [networks, n, c]; NaN where a network learnt the row, and for all others.

    `folds` says of each of `rows` which it is in, as `deal` does; `always` is learnt by all. `weights` names the draw
    of the initial weights that all share. `pick`: the mean over the scored epochs, the one that agrees best with the
    labels of what was left out, or the last.
    """
    number, whole = int(folds.max()) + 1, epochs or settings.recipe(recipe).epochs
    found = np.full((number, len(task.dataset), task.classes), np.nan, np.float32)
    window = settings.criterion.scored_epochs(whole)
    record = {"window": window, "best": range(whole), "last": range(whole - 1, whole)}[pick]
    how = replace(settings.recipe(recipe), epochs=whole, evaluate_every=whole)
    for which in range(number):
        # The first leaves out the last fold: of two, it learns the first.
        learns = (folds != number - 1 - which) & (folds != NEITHER)
        examples, others = np.concatenate([rows[learns], always]), np.concatenate([rows[~learns], task.held_out])
        fold = Fold(
            task, f"{name}{which}", examples, others, how, settings.net, recipe_name=recipe, best=pick == "best"
        )
        fold.weights = weights or fold.name
        task.finished[fold.name] = fit(task, fold, record=record)
        found[which, others] = fold.prediction()
    return found


def deal(task: Task, rows: np.ndarray, purpose: str, *, apart: bool = False) -> np.ndarray:
    """0, 1 or NEITHER for each row: every observed class divided evenly, at random, but for duplicates.

    `apart`: a tenth is for neither to learn.
    """
    labels = task.dataset.labels[rows]
    shuffled = task.draws.permutations(purpose, [0], len(labels))[0].cpu().numpy()
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold, dealt = np.empty(len(labels), dtype=np.int64), np.arange(len(labels)) % _APART
    fold[order] = np.where((dealt < _APART - 2) | (not apart), dealt % 2, NEITHER)
    # Duplicates go together: a network that learnt one with its wrong label would agree with the other's.
    _, first, member = np.unique(task.dataset.groups[rows], return_index=True, return_inverse=True)
    return fold[first[member]]


def out_of_sample(task: Task, settings: Settings) -> np.ndarray:
    """g(x) of every row by two half-trainings, [networks, n, c]; NaN where the network learnt the row."""
    half = deal(task, task.train, "halves", apart=not len(task.held_out))
    return cross_predict(task, settings, task.train, half, epochs=half_epochs(settings))


def half_epochs(settings: Settings) -> int:
    return max(2, round(settings.criterion.half_epochs * settings.recipe(STAGE1).epochs))


def half_work(settings: Settings) -> dict[str, float]:
    """Each learns one half, and judges the other."""
    return {f"half{which}": HALF * half_epochs(settings) for which in range(2)}


def learn_noise(task: Task, settings: Settings, given: NoiseModel | None = None) -> NoiseModel:
    """Rates, prior and intervals of all labels, held out or not; classes are balanced towards a prior given."""
    warm_up(task, settings)
    probabilities = out_of_sample(task, settings)
    found = count(matrices_of(probabilities), task.dataset.labels, list(task.dataset.classes))
    return replace((given or NoiseModel()).beside(found), probabilities=probabilities)
