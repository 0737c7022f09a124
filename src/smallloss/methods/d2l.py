"""D2L (Ma et al., ICML 2018): once the last layer spreads into more dimensions, labels give way to predictions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Group, Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage, fit
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel

NAME = "D2L"
NEEDS = None
COSTS = "plain training, and a look at 1,280 examples an epoch"
_PAPER = Recipe(epochs=120, weight_decay=1e-4, milestones=(1 / 3, 2 / 3), factor=0.1)
RECIPES = {"paper": _PAPER, "fast": FAST, "cpu": CPU}
_LOOKED_AT, _TOGETHER = 1280, 128  # examples an epoch, and those that are each other's neighbours


@dataclass(frozen=True)
class Own(Knobs):
    """The authors' for CIFAR-10; for CIFAR-100 they begin at 0.3."""

    begin: float = knob(1 / 3, "Share of the stage before a turning point is looked for.", least=0, most=1)
    window: int = knob(5, "Epochs whose dimension an epoch is compared with.", least=2)
    neighbours: int = knob(20, "Neighbours that tell the dimension about an example.", least=2)


class Dimensionality(OfMethod):
    """Cross entropy with α ỹ + (1 − α) argmax p: α is 1 until the turning point, and falls as the dimension grows."""

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__(task, settings, "d2l")
        self.looks = range(self.recipe.epochs)
        self.lids = torch.full((self.recipe.epochs,), torch.nan, dtype=torch.float64)
        self.turned = torch.zeros((), dtype=torch.bool)
        self.alpha = 1.0

    def groups(self, nets: Sequence[Network]) -> dict[str, Group]:
        self.before = {name: tensor.clone() for name, tensor in nets[0].state().items()}
        return super().groups(nets)

    def buffers(self) -> dict[str, Tensor]:
        """Beside them the weights that an epoch began with, to go back to."""
        return {"lids": self.lids, "turned": self.turned} | {f"before.{name}": t for name, t in self.before.items()}

    def before_epoch(self, stage: Stage, epoch: int) -> None:
        found = self._dimension(stage, epoch)
        self.lids[epoch] = found if found > 0 or not epoch else self.lids[epoch - 1]  # NaN: nothing could be told
        known, state = self.lids[: epoch + 1].numpy(), stage.networks[0].state()
        begin = round(self.own.begin * self.recipe.epochs) + self.own.window
        if not self.turned and epoch >= begin and turns(known, self.own.window):
            self.turned.fill_(True)
            with torch.no_grad():  # the epoch that turned is taken back
                for name, tensor in state.items():
                    tensor.copy_(self.before[name])
        for name, tensor in state.items():
            self.before[name].copy_(tensor)
        if self.turned:
            self.alpha = exp(-epoch / self.recipe.epochs * known[-1] / np.nanmin(known[:-1]))

    def _dimension(self, stage: Stage, epoch: int) -> float:
        """The mean over some training examples, among as many as a batch has."""
        order = self.task.draws.permutations("d2l/lid", [epoch], len(self.examples))[0]
        looked_at = self.examples[order[:_LOOKED_AT]]
        told = stage.features(looked_at.cpu().numpy()).double()
        return float(torch.cat([lid(part, self.own.neighbours) for part in told.split(_TOGETHER)]).nanmean())

    def plan(self, epoch: int) -> Iterable[Plan]:
        for plan in super().plan(epoch):
            yield plan.beside(alpha=self.alpha)

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        logits, alpha = nets[0](batch.x), batch["alpha"]
        given, said = (cross_entropy(logits, of, reduction="none") for of in (batch.y, logits.argmax(1)))
        return batch.mean(alpha * given + (1 - alpha) * said)

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        lid = float(self.lids[epoch])
        return {"alpha": self.alpha} | ({"dimension": lid} if lid > 0 else {})


def lid(x: Tensor, k: int) -> Tensor:
    """LID of each row among the others: −k / Σ_{j ≤ k} ln(r_j / r_k), r_j the distance of its j-th neighbour.

    NaN where that says nothing: fewer than three rows, or all neighbours equally far.
    """
    away = torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").fill_diagonal_(torch.inf)
    r = away.sort(1).values[:, : min(k, len(x) - 1)]
    total = (r / r[:, -1:] + 1e-8).log().sum(1) if len(x) > 2 else torch.full((len(x),), torch.nan)
    return torch.where(total < 0, -r.shape[1] / total, torch.nan)


def turns(lids: np.ndarray, window: int) -> bool:
    """Is the last one more than two deviations above the mean of those just before it?"""
    *_, last = lids
    before = lids[-window - 1 : -1]
    return bool(last > before.mean() + 2 * before.std())


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """One fresh network on all examples."""
    return Learned("d2l", fit(task, Dimensionality(task, settings)))
