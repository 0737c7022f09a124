"""Co-teaching (Han et al., NeurIPS 2018): two networks, each taught by the small-loss examples of the other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage
from smallloss.engine.task import Task
from smallloss.errors import InputError
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Learned, choose, new_network, refuse_one_module
from smallloss.methods.supervised import Supervised
from smallloss.noise.model import NoiseModel

NAME = "Co-teaching"
HELP = {"ramp_epochs": ("Epochs over which the share left out rises to the noise rate.", "a whole number from 2")}


@dataclass(frozen=True)
class Knobs:
    """Co-teaching's own settings."""

    ramp_epochs: int = 10  # T_k: the epochs over which R(t) rises

    def __post_init__(self) -> None:
        if self.ramp_epochs < 2:
            raise InputError(f"ramp_epochs is {self.ramp_epochs}; it must be at least 2, since the first keeps all")


class CoTeaching(Supervised):
    """Per batch each network ranks its own losses; the other one is updated on its (1 − R(t)) B smallest."""

    def __init__(self, task: Task, examples: np.ndarray, recipe: Recipe, noise_rate: float, knobs: Knobs) -> None:
        super().__init__(task, "co_teaching", examples, recipe)
        self.noise_rate, self.knobs = noise_rate, knobs

    def plan(self, epoch: int) -> list[Plan]:
        """R(t) = τ min(t / T_k, 1), as a number of kept examples beside each step."""
        dropped = self.noise_rate * min(epoch / (self.knobs.ramp_epochs - 1), 1.0)
        plans = super().plan(epoch)
        for plan in plans:
            steps, size = plan.views["labeled"].index.shape
            kept = max(1, int((1 - dropped) * size))
            plan.tables["kept"] = torch.full((steps,), kept, device=self.task.device)
        return plans

    def loss(self, networks: Sequence[Network], teachers: Sequence[Network], batch: Batch) -> Tensor:
        x, kept = batch.inputs["labeled"], batch.tables["kept"]
        labels = self.task.targets[batch.index["labeled"]]
        first, second = (cross_entropy(network(x), labels, reduction="none") for network in networks)
        # Ranks are constants, so one backward through the sum gives each network its own gradient alone.
        return (_small(second.detach(), kept) * first + _small(first.detach(), kept) * second).sum() / kept


def _small(loss: Tensor, kept: Tensor) -> Tensor:
    """1 for the `kept` smallest losses, by rank: a mask keeps its shape when R(t) changes."""
    return (loss.argsort(stable=True).argsort() < kept).to(loss.dtype)


def refuse(settings: Settings) -> None:
    """Two networks are made by a function, or by name."""
    refuse_one_module(settings.net, "co_teaching needs two networks")


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Two fresh networks on all examples; τ is the overall noise rate."""
    refuse(settings)
    rate = _overall(task, settings, noise)
    objective = CoTeaching(task, task.train, settings.stage1, rate, settings.knobs(Knobs))
    modules = [new_network(task, settings.net, f"co_teaching/{i}") for i in range(2)]
    fitted = Stage(task, "co_teaching", objective, settings.stage1, modules).fit()
    return Learned("co_teaching", settings.net, fitted, stages={"co_teaching": fitted})


def _overall(task: Task, settings: Settings, noise: NoiseModel) -> float:
    """τ: the rates of the observed classes, weighted by how many examples carry each label."""
    quota = choose(task, settings, noise, np.zeros(len(task.dataset))).quota
    return float(np.average(quota.noise_rate, weights=quota.n))
