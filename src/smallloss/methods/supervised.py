"""Cross entropy on given labels: the objective of stage 1, of RSL's retraining and of the plain baseline."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Objective, Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.task import Task
from smallloss.engine.views import PLAIN, Views, draw_views
from smallloss.errors import TooFewError
from smallloss.words import counted


class Supervised(Objective):
    """Shuffled passes over some examples, each seen once an epoch in a crop and flip of its own."""

    def __init__(
        self, task: Task, name: str, examples: np.ndarray, recipe: Recipe, *, recipe_name: str = "stage1"
    ) -> None:
        if len(examples) < 2:
            raise TooFewError(
                f"Stage {name} has {counted(len(examples), 'example')} to learn from: too few were selected. "
                "Lower noise_rate or beta."
            )
        self.task, self.name = task, name
        self.recipe_name = recipe_name
        self.examples = torch.from_numpy(np.asarray(examples)).to(task.device)
        self.targets = task.targets
        self.batch = min(recipe.batch, len(examples))
        self.how = recipe.augmentation(flip=task.dataset.flip) if task.dataset.is_image else PLAIN
        full, short = divmod(len(examples), self.batch)
        self.full = full
        # BatchNorm cannot take statistics of one example: a last batch of one is dropped.
        self.short = short if recipe.keep_short_batch and short > 1 else 0

    def total_steps(self, epochs: int) -> int:
        return epochs * (self.full + bool(self.short))

    def plan(self, epoch: int) -> list[Plan]:
        draws, purpose = self.task.draws, self.name
        order = self.examples[draws.permutations(f"{purpose}/order", [epoch], len(self.examples))[0]]
        views = draw_views(draws, self.how, purpose, [epoch], order, order)
        whole = self.full * self.batch
        plans = [Plan({"labeled": self._cut(views, 0, whole, self.batch)})]
        if self.short:
            plans.append(Plan({"labeled": self._cut(views, whole, whole + self.short, self.short)}))
        return plans

    @staticmethod
    def _cut(views: Views, start: int, stop: int, batch: int) -> Views:
        return views.map(lambda table: table[start:stop].view(-1, batch))

    def loss(self, networks: Sequence[Network], teachers: Sequence[Network], batch: Batch) -> Tensor:
        labels = self.targets[batch.index["labeled"]]
        return cross_entropy(networks[0](batch.inputs["labeled"]), labels)
