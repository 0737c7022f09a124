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
from smallloss.knobs import Knobs, knob
from smallloss.methods.settings import Settings
from smallloss.methods.small_loss import Learned, Noise, choose, new_network, refuse_one_module
from smallloss.methods.supervised import Supervised

NAME = "Co-teaching"


@dataclass(frozen=True)
class Own(Knobs):
    """T_k, the epochs over which R(t) rises: the first keeps all, so there are two at least."""

    ramp_epochs: int = knob(10, "Epochs over which the share left out rises to the noise rate.", least=2)


class CoTeaching(Supervised):
    """Per batch each network ranks its own losses; the other one is updated on its (1 − R(t)) B smallest."""

    def __init__(self, task: Task, examples: np.ndarray, recipe: Recipe, noise_rate: float, own: Own) -> None:
        super().__init__(task, "co_teaching", examples, recipe)
        self.noise_rate, self.own = noise_rate, own

    def plan(self, epoch: int) -> list[Plan]:
        """R(t) = τ min(t / T_k, 1), as a number of kept examples beside each step."""
        dropped = self.noise_rate * min(epoch / (self.own.ramp_epochs - 1), 1.0)
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


def train(task: Task, settings: Settings, noise: Noise) -> Learned:
    """Two fresh networks on all examples; τ is the overall noise rate."""
    refuse(settings)
    rate = _overall(task, settings, noise)
    objective = CoTeaching(task, task.train, settings.recipe("stage1"), rate, settings.own["co_teaching"])
    modules = [new_network(task, settings.net, f"co_teaching/{i}") for i in range(2)]
    fitted = Stage(task, "co_teaching", objective, settings.recipe("stage1"), modules).fit()
    return Learned("co_teaching", settings.net, fitted, stages={"co_teaching": fitted})


def _overall(task: Task, settings: Settings, noise: Noise) -> float:
    """τ: the rates of the observed classes, weighted by how many examples carry each label."""
    quota = choose(task, settings, noise, np.zeros(len(task.dataset))).quota
    return float(np.average(quota.noise_rate, weights=quota.n))
