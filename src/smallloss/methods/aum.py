"""AUM (Pleiss et al., NeurIPS 2020): mislabelled is what wins no more than examples of a class that does not exist."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Plan, new_network
from smallloss.engine.recipe import Recipe
from smallloss.engine.schedule import learning_rates
from smallloss.engine.scoring import margin
from smallloss.engine.stage import Stage, fit
from smallloss.engine.task import Task
from smallloss.errors import InputError
from smallloss.knobs import Knobs, knob
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned, chosen
from smallloss.methods.supervised import OfMethod, Supervised
from smallloss.noise.model import NoiseModel

NAME = "AUM"
NEEDS = None
COSTS = "two trainings with an extra class, and one on what was kept"
_PAPER = Recipe(epochs=300, batch=256, weight_decay=1e-4, milestones=(0.5, 0.75), factor=0.1)
# The authors' margins end where the rate would fall for the first time: until there it is level.
RECIPES = {
    "paper": {"aum": _PAPER, "aum_margins": replace(_PAPER, epochs=150, batch=64, schedule="constant")},
    "fast": {"aum": FAST, "aum_margins": replace(FAST, epochs=20, schedule="constant", ema=None)},
    "cpu": {"aum": CPU, "aum_margins": replace(CPU, schedule="constant", ema=None)},
}


@dataclass(frozen=True)
class Own(Knobs):
    """The authors' number."""

    percentile: float = knob(
        99.0, "What has a smaller margin than this percentile of the threshold samples goes.", least=0, most=100
    )


def refuse(settings: Settings) -> None:
    """One module knows as many classes as it knows."""
    if isinstance(settings.net, nn.Module):
        raise InputError(
            "aum needs a class more than there are: give net a function of (classes, in_shape), no module."
        )


def work(settings: Settings) -> dict[str, float]:
    """Two runs on all examples, and one on most of them."""
    margins = settings.recipe("aum_margins").epochs
    return {"aum_0": margins, "aum_1": margins, "aum": settings.recipe("aum").epochs}


class Margins(Supervised):
    """Learns all examples, the threshold samples as class c + 1, and adds up z_ỹ − max_{k≠ỹ} z_k as they are learnt."""

    def __init__(self, task: Task, name: str, threshold: np.ndarray, settings: Settings) -> None:
        recipe = settings.recipe("aum_margins")
        super().__init__(task, name, task.train, recipe, settings.net, recipe_name="aum_margins")
        self.targets = task.targets.clone()
        self.targets[torch.from_numpy(threshold).to(task.device)] = task.classes
        self.total, self.times = (torch.zeros(len(task.dataset), device=task.device) for _ in range(2))
        self.epochs = level(recipe)

    def modules(self) -> list[nn.Module]:
        return [new_network(self.task, self.net, self.weights, classes=self.task.classes + 1)]

    def buffers(self) -> dict[str, Tensor]:
        return {"total": self.total, "looks": self.times}

    def plan(self, epoch: int) -> Iterable[Plan]:
        """Later margins do not count: once the rate falls, wrong labels are learnt by heart."""
        return (plan.beside(counts=float(epoch < self.epochs)) for plan in super().plan(epoch))

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        logits = nets[0](batch.x)
        self.total.index_add_(0, batch.index, batch["counts"] * margin(logits.detach(), batch.y))
        self.times.index_add_(0, batch.index, batch["counts"].expand(len(batch.y)))
        return batch.mean(cross_entropy(logits, batch.y, reduction="none"))

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        """Examples that are held out are in no batch: they are looked at after each epoch."""
        if epoch < self.epochs and len(held_out := self.task.held_out):
            self.total[held_out] += stage.score(epoch, held_out).margin
            self.times[held_out] += 1
        return {}

    def aum(self) -> np.ndarray:
        """The area under the margin, of every row: the mean over its looks."""
        return np.asarray((self.total.double() / self.times.clamp(min=1)).cpu())


def level(recipe: Recipe) -> int:
    """The epochs before the rate falls for the first time."""
    rates = np.concatenate([learning_rates(recipe, epoch, 1) for epoch in range(recipe.epochs)])
    return int(np.append(np.flatnonzero(np.diff(rates) < 0), recipe.epochs - 1)[0]) + 1


def behind(aum: np.ndarray, threshold: np.ndarray, percentile: float) -> np.ndarray:
    """By how much each row stays below the threshold; not a number of the threshold samples, which do not judge
    themselves."""
    gap = np.percentile(aum[threshold], percentile) - aum
    gap[threshold] = np.nan
    return gap


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Two runs whose threshold samples differ; what every run flags that may judge it goes, the rest is learnt anew."""
    rows, gaps, before = task.train, [], []
    order = rows[task.draws.permutations("aum/threshold", [0], len(rows))[0].cpu().numpy()]
    many = max(1, len(rows) // task.classes)
    for run in range(2):
        threshold = order[run * many : (run + 1) * many]
        objective = Margins(task, f"aum_{run}", threshold, settings)
        before.append(fit(task, objective))
        gaps.append(behind(objective.aum(), threshold, settings.own["aum"].percentile))
    removed = (np.fmin(*gaps) > 0)[rows]
    gap = np.nanmean(gaps, axis=0)
    suspicion = (1 + gap / (1 + np.abs(gap))) / 2
    selection, score = chosen(task, settings, suspicion, removed)
    kept = rows[task.learnt(selection.mask)]
    fitted = fit(task, OfMethod(task, settings, "aum", kept, settings.last_net))
    evidence = "the area under the margin, beside that of threshold samples"
    return Learned("aum", fitted, selection, score, evidence, tuple(before))
