"""What a method tells the engine: its networks, which examples each step sees, and the loss of a step."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from smallloss.engine.networks import Network
from smallloss.engine.recipe import Recipe
from smallloss.engine.task import Task
from smallloss.engine.views import PLAIN, Views, draw_views
from smallloss.models import build, copied

if TYPE_CHECKING:
    from smallloss.engine.stage import Stage


@dataclass
class Plan:
    """A run of steps of one shape. Views become inputs; tables are handed over row by row."""

    views: dict[str, Views]
    tables: dict[str, Tensor] = field(default_factory=dict)
    updates: tuple[str, ...] | None = None  # which groups of parameters step; all of them, if left out

    @property
    def _first(self) -> Views:
        return next(iter(self.views.values()))

    @property
    def steps(self) -> int:
        return self._first.index.shape[0]

    @property
    def size(self) -> int:
        """Examples of a step, by its first view."""
        return self._first.index.shape[1]

    def beside(self, **tables: Tensor | float) -> "Plan":
        """With more tables; one number is that of every step."""
        device = self._first.index.device
        new = {
            name: value if isinstance(value, Tensor) else torch.full((self.steps,), value, device=device)
            for name, value in tables.items()
        }
        return replace(self, tables=self.tables | new)

    def joined(self, more: Views) -> "Plan":
        """With more examples at the end of each step's first view."""
        name, views = next(iter(self.views.items()))
        return replace(self, views=self.views | {name: views.map(lambda *both: torch.cat(both, 1), more)})


@dataclass
class Batch:
    """One step's share of a plan. `x`, `y` and `index` are those of its first view; batch["kept"] is a table's row.

    `mean` and `smallest` are of the whole step: a loss is made of them, and then knows of no ranks.
    """

    indices: dict[str, Tensor]
    inputs: dict[str, Tensor]
    tables: dict[str, Tensor]
    targets: Tensor  # of every row of the dataset

    @property
    def x(self) -> Tensor:
        return next(iter(self.inputs.values()))

    @property
    def index(self) -> Tensor:
        return next(iter(self.indices.values()))

    @property
    def y(self) -> Tensor:
        return self.targets[self.index]

    def __getitem__(self, name: str) -> Tensor:
        return self.tables[name]

    def mean(self, values: Tensor) -> Tensor:
        return values.mean()

    def smallest(self, values: Tensor, k: Tensor | int) -> Tensor:
        """1 for the k smallest, by rank: a mask keeps its shape when k changes. Ranks are constants to the gradient."""
        return (values.detach().argsort(stable=True).argsort() < k).to(values.dtype)


@dataclass(frozen=True)
class Group:
    """Parameters that one optimiser steps, by the rates of one recipe."""

    parameters: Sequence[nn.Parameter]
    recipe: Recipe


class Objective(ABC):
    """A method's part in training. It never writes a loop, a log, a checkpoint or an evaluation."""

    networks = 1  # of the first `modules`: those that judge
    judges: Literal["first", "mean"] = "first"  # who speaks for several: the first, or all by the mean of what they say

    def __init__(self, task: Task, name: str, recipe: Recipe, net: Any, *, recipe_name: str = "stage1") -> None:
        self.task, self.name, self.recipe, self.net = task, name, recipe, net
        self.recipe_name = recipe_name  # as one names its settings: --set stage1.lr=0.05
        self.augmentation = recipe.augmentation(flip=task.dataset.flip) if task.dataset.is_image else PLAIN
        self.targets = task.targets  # what is learnt, of every row
        self.weights = name  # initial weights are drawn by the seed and this name
        self.looks = range(0)  # the epochs around which it asks the network: an average of weights must be ready then

    def modules(self) -> list[nn.Module]:
        """Fresh networks, and after them whatever else is learnt."""
        several = self.networks > 1
        return [
            new_network(self.task, self.net, f"{self.weights}/{i}" if several else self.weights)
            for i in range(self.networks)
        ]

    def groups(self, nets: Sequence[Network]) -> dict[str, Group]:
        """Who steps what, by the names that checkpoints have: one optimiser and one schedule each."""
        return {"optimiser": Group([p for net in nets for p in net.module.parameters()], self.recipe)}

    def buffers(self) -> dict[str, Tensor]:
        """State of the method's own, written in place: saved, resumed, and put back after a step was captured."""
        return {}

    def before_epoch(self, stage: "Stage", epoch: int) -> None:  # noqa: B027 (most do nothing)
        """Called before the plan of an epoch is asked for."""

    def by_slot(self, purpose: str, times: list[int], index: Tensor) -> Views:
        """Views of examples that a step may draw more than once: each is seen by its place in the batch."""
        draws = self.task.draws
        slots = draws.slots(index.shape[1])
        return draw_views(draws, self.augmentation, f"{self.name}/{purpose}", times, slots, index)

    @abstractmethod
    def plan(self, epoch: int) -> Iterable[Plan]:
        """The steps of an epoch, of whatever number and size. A short last batch is a plan of its own."""

    @abstractmethod
    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        """The loss to descend: a sum over examples, divided by numbers of the whole step."""

    def after_epoch(self, stage: "Stage", epoch: int) -> dict[str, float]:
        """Called when an epoch has been scored; what it returns goes into metrics.jsonl."""
        return {}


def new_network(task: Task, net: Any, purpose: str, *, classes: int | None = None) -> nn.Module:
    """Fresh random weights (the paper starts every stage anew), the same for the same seed and purpose."""
    with task.draws.by_modules(purpose, on_device=False):
        # A module of the user's own is copied: a stage must not train on from another, nor change its network.
        own = copied(net) if isinstance(net, nn.Module) else net
        return build(own, classes=classes or task.classes, in_shape=task.dataset.in_shape)
