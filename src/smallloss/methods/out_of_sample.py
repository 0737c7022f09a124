"""Predictions for every example by a network that never saw its label: two half-trainings, each judging the other half.

(BatchNorm's statistics, which know no labels, are taken over the inputs of both.)
Noise rates cannot be estimated from predictions in sample: a network that has learnt a wrong label agrees with it.
What neither learnt both predict, which tells how often two networks differ: the part held out, or a part of the halves.
"""

from dataclasses import replace

import numpy as np
import torch

from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage
from smallloss.engine.task import Task
from smallloss.methods.settings import Settings
from smallloss.methods.small_loss import new_network
from smallloss.methods.supervised import Supervised

NEITHER = 2  # learns an example
APART = 20  # where nothing is held out, so many of an observed class leave two for neither half to learn


class HalfTraining(Supervised):
    """Learns from some examples; the mean prediction for the others is taken over the scored epochs."""

    def __init__(self, task: Task, name: str, examples: np.ndarray, others: np.ndarray, recipe: Recipe) -> None:
        super().__init__(task, name, examples, recipe)
        self.others = others
        self.total = torch.zeros(len(others), task.classes, device=task.device)
        self.epochs = 0

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        if epoch in stage.record:
            self.total += stage.probabilities(self.others)
            self.epochs += 1
        return {}

    def state(self) -> dict[str, np.ndarray]:
        return {"total": self.total.cpu().numpy(), "epochs": np.array(self.epochs)}

    def load_state(self, state: dict[str, np.ndarray]) -> None:
        self.total.copy_(torch.from_numpy(state["total"]))
        self.epochs = int(state["epochs"])


def out_of_sample(task: Task, settings: Settings) -> np.ndarray:
    """g(x) of every row, [networks, n, c]; NaN where the network learnt the row.

    Training rows are predicted by the other half's network, rows that neither learnt by both.
    """
    found = np.full((2, len(task.dataset), task.classes), np.nan, np.float32)
    recipe = settings.recipe("stage1")
    recipe = replace(recipe, epochs=max(2, round(settings.criterion.half_epochs * recipe.epochs)))
    recipe = replace(recipe, evaluate_every=recipe.epochs)
    half = _halves(task)
    for which in (0, 1):
        name = f"half{which}"
        others = np.concatenate([task.train[half != which], task.held_out])
        objective = HalfTraining(task, name, task.train[half == which], others, recipe)
        record = settings.criterion.scored_epochs(recipe.epochs)
        # No name for the stage: on a GPU its inputs and its captured steps must be gone before the next one's come.
        task.finished[name] = Stage(
            task, name, objective, recipe, [new_network(task, settings.net, name)], record=record
        ).fit()
        found[which, others] = (objective.total / objective.epochs).cpu().numpy()
    return found


def _halves(task: Task) -> np.ndarray:
    """0, 1 or NEITHER for each training row: every observed class divided evenly, at random, but for duplicates."""
    labels = task.dataset.labels[task.train]
    shuffled = task.draws.permutations("halves", [0], len(labels))[0].cpu().numpy()
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    half, dealt = np.empty(len(labels), dtype=np.int64), np.arange(len(labels)) % APART
    half[order] = np.where((dealt < APART - 2) | (len(task.held_out) > 0), dealt % 2, NEITHER)
    # Duplicates go together: a network that learnt one with its wrong label would agree with the other's.
    groups = task.dataset.groups[task.train]
    _, first, member = np.unique(groups, return_index=True, return_inverse=True)
    return half[first[member]]
