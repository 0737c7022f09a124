"""What a method tells the engine: which examples each step sees, and the loss of a step."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from smallloss.engine.networks import Network
from smallloss.engine.views import Views

if TYPE_CHECKING:
    from smallloss.engine.stage import Stage


@dataclass
class Plan:
    """A run of steps of one shape. Views become inputs; tables are handed over row by row."""

    views: dict[str, Views]
    tables: dict[str, Tensor] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        return len(next(iter(self.views.values())))


@dataclass
class Batch:
    """One step's share of a plan."""

    index: dict[str, Tensor]
    inputs: dict[str, Tensor]
    tables: dict[str, Tensor]


class Objective(ABC):
    """A method's part in training. It never writes a loop, a log, a checkpoint or an evaluation."""

    judge_together = False  # several networks as an ensemble; else the first one speaks for all
    recipe_name = "stage1"  # the settings that its recipe is, as one names them: --set stage1.lr=0.05

    @abstractmethod
    def total_steps(self, epochs: int) -> int:
        """How many steps the whole run has: the schedule is laid out over them."""

    @abstractmethod
    def plan(self, epoch: int) -> list[Plan]:
        """The steps of an epoch. A short last batch is a plan of its own."""

    @abstractmethod
    def loss(self, networks: Sequence[Network], teachers: Sequence[Network], batch: Batch) -> Tensor:
        """The loss to descend. `teachers` are the weight averages, or the networks where there are none."""

    def after_epoch(self, stage: "Stage", epoch: int) -> dict[str, float]:
        """Called when an epoch has been scored; what it returns goes into metrics.jsonl."""
        return {}

    def state(self) -> dict[str, np.ndarray]:
        """What a resumed run must know beyond the weights."""
        return {}

    def load_state(self, state: dict[str, np.ndarray]) -> None:  # noqa: B027 (most keep nothing)
        """Take back what `state` gave."""
