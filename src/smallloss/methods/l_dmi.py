"""L_DMI (Xu et al., NeurIPS 2019): the determinant of what is said beside what is labelled, which noise only scales."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, takewhile

import numpy as np
from torch import Tensor, nn

from smallloss.engine import losses
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, new_network
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Fitted, fit
from smallloss.engine.task import Task
from smallloss.errors import InputError
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned, warm_up
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel
from smallloss.words import percent

NAME = "L_DMI"
NEEDS = None
COSTS = "plain training, and a second one from its weights on"
_PAPER = Recipe(epochs=100, batch=256, lr=1e-6, weight_decay=1e-4, schedule="constant", keep_short_batch=False)
RECIPES = {
    "paper": _PAPER,
    "fast": replace(FAST, epochs=10, lr=1e-3, ema_warmup=True),
    "cpu": replace(CPU, epochs=10, batch=128, lr=1e-3, keep_short_batch=False),
}
_HOLD_ALL = 0.5  # of the batches, at least: the others say nothing, their determinant is 0


def follows(settings: Settings) -> tuple[str, ...]:
    """Its batches hold all classes, however few the pictures are."""
    return ("epochs", "ema_warmup")


class Determinant(OfMethod):
    """−log(|det U| + 10⁻³) of each batch, from the weights of plain training on."""

    def __init__(self, task: Task, settings: Settings, start: Fitted) -> None:
        super().__init__(task, settings, "l_dmi")
        self.start = start

    def modules(self) -> list[nn.Module]:
        module = new_network(self.task, self.net, self.name)
        module.load_state_dict(self.start.network.module.state_dict())
        return [module]

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        return losses.l_dmi(nets[0](batch.x), batch.y)


def refuse_task(task: Task, settings: Settings, noise: NoiseModel) -> None:
    """The determinant is that of a batch: where a class is missing in most, there is nothing to descend."""
    counts = np.bincount(task.dataset.labels[task.train], minlength=task.classes)
    batch = min(settings.recipe("l_dmi").batch, len(task.train))
    if (share := holding_all(counts, batch)) >= _HOLD_ALL:
        return
    larger = takewhile(lambda b: b < len(task.train), (batch << i for i in count(1)))
    enough = next((b for b in larger if holding_all(counts, b) >= _HOLD_ALL), None)
    instead = "use elr or truncated_lq, which look at one example at a time"
    raise InputError(
        f"L_DMI needs all {task.classes} classes in a batch, and of batches of {batch} only {percent(share)} would "
        f"hold them: {instead if enough is None else f'give --set l_dmi.batch={enough} or more, or {instead}'}."
    )


def holding_all(counts: np.ndarray, batch: int) -> float:
    """The share of batches that hold every class, as if classes came independently of each other."""
    return float(np.prod(1 - (1 - counts / counts.sum()) ** batch))


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Plain training, then the determinant."""
    stage1 = warm_up(task, settings)
    return Learned("l_dmi", fit(task, Determinant(task, settings, stage1)), before=(stage1,))
