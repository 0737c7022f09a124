"""SSR (Feng, Tzimiropoulos, Patras, BMVC 2022): the classifier relabels, and neighbours say which labels are right."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from smallloss.engine.draws import running_sum
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage, fit
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.mixmatch import labeled_loss, mixing, mixup
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned, chosen
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel

NAME = "SSR"
NEEDS = None
COSTS = "one network, two views to a step; before each epoch the nearest neighbours of every example"
_PAPER = Recipe(epochs=300, lr=0.02, schedule="cosine")
RECIPES = {"paper": _PAPER, "fast": replace(FAST, batch=128), "cpu": CPU}
_CHUNK, _DISTANCES = 1024, 1 << 27  # examples, and distances, that are looked at a time
_ALPHA = 4.0  # of MixUp's Beta(α, α)


@dataclass(frozen=True)
class Own(Knobs):
    """The authors' numbers for CIFAR-10."""

    theta_r: float = knob(0.9, "An example takes the class that is predicted with more than this.", least=0, most=1)
    neighbours: int = knob(200, "Neighbours that vote; at most half as many as a class has on average.", least=1)


class NeighboursSelect(OfMethod):
    """ŷ, `targets`, and which of them are clean, renewed before each epoch.

    SSR without the plus: no feature consistency. Its strong views are crops and flips, for want of AutoAugment.
    """

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__(task, settings, "ssr")
        self.looks = range(self.recipe.epochs)
        self.k = max(1, min(self.own.neighbours, len(task.train) // (2 * task.classes)))
        self.targets = task.targets.clone()
        self.clean = torch.ones(len(task.train), dtype=torch.uint8)
        self.vote = torch.zeros(len(task.dataset))  # for the given label

    def buffers(self) -> dict[str, Tensor]:
        return {"relabelled": self.targets, "clean": self.clean, "vote": self.vote}

    def before_epoch(self, stage: Stage, epoch: int) -> None:
        task, everything = self.task, np.arange(len(self.task.dataset))
        sure, said = stage.probabilities(everything).max(1)
        self.targets.copy_(torch.where(sure > self.own.theta_r, said, task.targets))
        told = list(task.pins)
        self.targets[told] = task.targets[told]  # nobody overrules an answer
        x = normalize(stage.features(everything))
        votes = neighbours_vote(x, x[self.examples], self.targets[self.examples], task.classes, self.k)
        mine = votes.gather(1, self.targets[:, None])[:, 0] >= votes.amax(1)
        self.clean.copy_(torch.from_numpy(task.learnt(mine[self.examples].cpu().numpy())))
        self.vote.copy_(votes.gather(1, task.labels[:, None])[:, 0])

    def plan(self, epoch: int) -> list[Plan]:
        """Class-balanced draws from the clean ones, in two views each; from all, where none is."""
        draws, B = self.task.draws, self.batch
        steps = max(1, len(self.examples) // B)
        times = list(range(epoch * steps, (epoch + 1) * steps))
        clean = self.clean.bool() if self.clean.any() else torch.ones_like(self.clean, dtype=torch.bool)
        rows = self.examples[clean.to(self.examples.device)]
        of = self.targets[rows].cpu().numpy()
        weight = 1 / np.bincount(of)[of]
        index = rows[draws.resample(running_sum(weight, self.task.device), f"{self.name}/clean", times, B)]
        views = {f"view_{i}": self.by_slot(str(i), times, index) for i in (1, 2)}
        return [Plan(views, mixing(draws, _ALPHA, self.name, times, 2 * B))]

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        """Cross entropy with ŷ, mixed."""
        y = one_hot(batch.y, self.task.classes).float()
        inputs = torch.cat([*batch.inputs.values()])
        inputs, targets = mixup(inputs, torch.cat([y, y]), batch["lam"], batch["partner"])
        return batch.mean(labeled_loss(nets[0](inputs), targets))


def neighbours_vote(x: Tensor, among: Tensor, labels: Tensor, classes: int, k: int) -> Tensor:
    """What share of the k nearest of `among` carries each label, over how frequent the label is; rows sum to 1."""
    frequency = one_hot(labels, classes).float().mean(0).clamp(min=1e-10)
    votes = torch.zeros(len(x), classes, device=x.device)
    size = max(1, min(_CHUNK, _DISTANCES // len(among)))
    for some, found in zip(x.split(size), votes.split(size), strict=True):
        theirs = labels[(some @ among.T).topk(k).indices]
        found.scatter_add_(1, theirs, torch.ones_like(theirs, dtype=found.dtype))
    votes /= frequency
    return votes / votes.sum(1, keepdim=True)


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Kept is what was learnt last under the label that it was given."""
    objective = NeighboursSelect(task, settings)
    fitted = fit(task, objective)
    same = (objective.targets == task.targets).cpu()[torch.from_numpy(task.train)]
    suspicion = 1 - objective.vote.numpy().astype(np.float64)
    removed = ~(objective.clean.bool() & same).numpy()
    evidence = "the votes of its neighbours before the last epoch"
    return Learned("ssr", fitted, *chosen(task, settings, suspicion, removed), evidence)
