"""Cross entropy on given labels: the objective of stage 1, of RSL's retraining and of the plain baseline."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from smallloss.engine import losses
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Objective, Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.task import Task
from smallloss.engine.views import Views, draw_views
from smallloss.errors import TooFewError
from smallloss.methods.settings import Settings
from smallloss.words import counted


class Supervised(Objective):
    """Shuffled passes over some examples, each seen once an epoch in a crop and flip of its own."""

    def __init__(
        self, task: Task, name: str, examples: np.ndarray, recipe: Recipe, net: Any, *, recipe_name: str = "stage1"
    ) -> None:
        if len(examples) < 2:
            raise TooFewError(
                f"Stage {name} has {counted(len(examples), 'example')} to learn from: too few were selected. "
                "Lower noise_rate or beta."
            )
        super().__init__(task, name, recipe, net, recipe_name=recipe_name)
        self.examples = torch.from_numpy(np.asarray(examples)).to(task.device)
        self.batch = min(recipe.batch, len(examples))

    def plan(self, epoch: int) -> Iterable[Plan]:
        order = self.examples[self.task.draws.permutations(f"{self.name}/order", [epoch], len(self.examples))[0]]
        whole = len(order) // self.batch * self.batch
        yield Plan({"labeled": self.seen(epoch, order[:whole].view(-1, self.batch))})
        # BatchNorm cannot take statistics of one example: a last batch of one is dropped.
        if self.recipe.keep_short_batch and len(order) - whole > 1:
            yield Plan({"labeled": self.seen(epoch, order[whole:].view(1, -1))})

    def seen(self, epoch: int, rows: Tensor) -> Views:
        """Rows, [steps, batch], as each of them is seen in an epoch."""
        return draw_views(self.task.draws, self.augmentation, self.name, [epoch], rows.flatten(), rows)

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        return batch.mean(self.cross_entropy(nets[0](batch.x), batch.y))

    def cross_entropy(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Of each example, with labels as smooth as the recipe has them."""
        return cross_entropy(logits, targets, reduction="none", label_smoothing=self.recipe.label_smoothing)


class OfMethod(Supervised):
    """By the recipe of a method, on all examples and with the net that ranks, if not told otherwise; `own` are the
    settings that only it has."""

    def __init__(
        self, task: Task, settings: Settings, name: str, examples: np.ndarray | None = None, net: Any = None
    ) -> None:
        learnt, by = task.train if examples is None else examples, settings.net if net is None else net
        super().__init__(task, name, learnt, settings.recipe(name), by, recipe_name=settings.group(name))
        self.own: Any = settings.own.get(name)


class Plain(Supervised):
    """By the loss that the run names: cross entropy, if it names none.

    `chosen`: the examples or their labels were, and T, which is of all labels as they came, says nothing of them.
    """

    def __init__(self, task: Task, *given: Any, chosen: bool = False, **more: Any) -> None:
        super().__init__(task, *given, **more)
        plain = task.loss == "cross_entropy" or (chosen and task.loss in losses.BY_T)
        held = task.transition, len(task.dataset), task.classes, task.device
        self.descends = self._plainly if plain else losses.named(task.loss, *held)

    def _plainly(self, logits: Tensor, labels: Tensor, index: Tensor) -> Tensor:
        return self.cross_entropy(logits, labels)

    def buffers(self) -> dict[str, Tensor]:
        return {"t": self.descends.t} if isinstance(self.descends, losses.ELR) else {}

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        return batch.mean(self.descends(nets[0](batch.x), batch.y, batch.index))
