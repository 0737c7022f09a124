"""Co-teaching (Han et al., NeurIPS 2018): two networks, each taught by the small-loss examples of the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn.functional import cross_entropy

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import fit
from smallloss.engine.task import Task
from smallloss.errors import InputError
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Learned, overall_rate, refuse_one_module
from smallloss.methods.supervised import Supervised
from smallloss.noise.model import NoiseModel

NAME = "Co-teaching"
NEEDS = "noise rate"
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

    networks = 2

    def __init__(
        self, task: Task, name: str, examples: np.ndarray, recipe: Recipe, net: Any, rate: float, knobs: Knobs
    ) -> None:
        super().__init__(task, name, examples, recipe, net)
        self.rate, self.knobs = rate, knobs

    def plan(self, epoch: int) -> Iterable[Plan]:
        """R(t) = τ min(t / T_k, 1), as a number of kept examples beside each step."""
        left_out = self.rate * min(epoch / (self.knobs.ramp_epochs - 1), 1.0)
        for plan in super().plan(epoch):
            yield plan.beside(kept=max(1, int((1 - left_out) * plan.size)))

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        first, second = (cross_entropy(net(batch.x), batch.y, reduction="none") for net in nets)
        kept = batch["kept"]
        # Ranks are constants, so one backward through the sum gives each network its own gradient alone.
        return (batch.smallest(second, kept) * first + batch.smallest(first, kept) * second).sum() / kept


def refuse(settings: Settings) -> None:
    """Two networks are made by a function, or by name."""
    refuse_one_module(settings.net, "co_teaching needs two networks")


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Two fresh networks on all examples; τ is the overall noise rate."""
    rate, knobs = overall_rate(task, settings, noise), settings.knobs(Knobs)
    objective = CoTeaching(task, "co_teaching", task.train, settings.stage1, settings.net, rate, knobs)
    return Learned("co_teaching", fit(task, objective))
