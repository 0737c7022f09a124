"""Truncated L_q (Zhang, Sabuncu, NeurIPS 2018): a bounded loss, and what it costs most is pruned."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from smallloss.engine import losses
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage, fit
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned, chosen
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel
from smallloss.words import listed

NAME = "Truncated L_q"
NEEDS = None
COSTS = "plain training; a probability kept for each example"
_PAPER = Recipe(epochs=120, lr=0.01, weight_decay=1e-4, milestones=(1 / 3, 2 / 3), factor=0.1)
RECIPES = {"paper": _PAPER, "fast": FAST, "cpu": CPU}


@dataclass(frozen=True)
class Own(Knobs):
    """The authors' for CIFAR-10; for CIFAR-100 they begin later, after 80 of 150 epochs."""

    q: float = knob(0.7, "Power in the loss: 1 is half of MAE, towards 0 it is cross entropy.", above=0, most=1)
    k: float = knob(0.5, "Examples whose label is given no larger probability are pruned.", least=0, below=1)
    start: float = knob(1 / 3, "Share of the stage before the first pruning; with 1 there is none.", above=0, most=1)
    every: int = knob(10, "Epochs between two prunings.", least=1)


class TruncatedLq(OfMethod):
    """min Σ v_i (L_q(p_i) − L_q(k)), in turns over the network and over v: v_i = 1 where p_i > k, else 0."""

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__(task, settings, "truncated_lq")
        self.looks = range(self.recipe.epochs)
        self.start = max(1, round(self.own.start * self.recipe.epochs))
        self.p = torch.ones(len(task.dataset), device=task.device)  # of the label; before the first pruning v is 1
        self.spared = torch.zeros(task.classes, dtype=torch.bool, device=task.device)

    def buffers(self) -> dict[str, Tensor]:
        return {"p": self.p, "spared": self.spared}

    def before_epoch(self, stage: Stage, epoch: int) -> None:
        """The other half of the alternate search: v by the network as it is now, in eval mode."""
        if epoch < self.start or (epoch - self.start) % self.own.every:
            return
        p = stage.probabilities(np.arange(len(self.p)))
        self.p.copy_(p.gather(1, self.targets[:, None])[:, 0])
        self.p[torch.from_numpy(self.task.train[self.task.corrected]).to(self.p.device)] = 1  # known to be right
        # A class of which nothing is left would never be seen again, nor be given back.
        left = self.targets[self.examples[self.p[self.examples] > self.own.k]]
        self.spared.copy_(torch.bincount(left, minlength=self.task.classes) == 0)

    def v(self, index: Tensor) -> Tensor:
        return (self.p[index] > self.own.k) | self.spared[self.targets[index]]

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        q, k = self.own.q, self.own.k
        return batch.mean(self.v(batch.index) * (losses.lq(nets[0](batch.x), batch.y, q) - (1 - k**q) / q))

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        return {"pruned": float((~self.v(self.examples)).sum())}


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """One fresh network on all examples; what the last pruning left out is not selected."""
    objective = TruncatedLq(task, settings)
    fitted = fit(task, objective)
    p = objective.p.double().cpu().numpy()
    if (p == 1).all():
        return Learned("truncated_lq", fitted)
    choice = chosen(task, settings, 1 - p, (~objective.v(objective.examples)).cpu().numpy())
    labels = np.unique(task.dataset.labels[task.train])
    spared = [name for k, name in enumerate(task.dataset.classes) if objective.spared[k] and k in labels]
    notes = (f"Nothing labelled {listed(spared)} was pruned: the network was sure of none of it.",) if spared else ()
    return Learned("truncated_lq", fitted, *choice, "the probability of the label at the last pruning", notes=notes)
