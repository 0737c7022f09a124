"""INCV (Chen et al., ICML 2019): what cross-validation predicts as labelled is kept, in rounds; then Co-teaching."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch

from smallloss.engine.objective import Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import fit
from smallloss.engine.task import Task
from smallloss.knobs import knob
from smallloss.methods import co_teaching
from smallloss.methods.cross import HALF, NOBODY, cross_predict, deal
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned, chosen, two_at_once, two_networks
from smallloss.noise.model import NoiseModel

NAME = "INCV"
refuse = two_networks("incv")
NEEDS = None
COSTS = "two networks a round of cross-validation, four rounds; then two trained together"
_PAPER = Recipe(optimiser="adam", lr=1e-3, weight_decay=1e-4, milestones=(0.4, 0.6, 0.8), factor=0.1)
RECIPES = {
    "paper": {"incv": _PAPER, "incv_fold": replace(_PAPER, epochs=50, factor=0.5)},
    "fast": {"incv": FAST, "incv_fold": replace(FAST, epochs=10, ema_warmup=True)},
    "cpu": {"incv": CPU, "incv_fold": replace(CPU, epochs=8)},
}


def work(settings: Settings) -> dict[str, float]:
    fold = HALF * settings.recipe("incv_fold").epochs
    rounds = {f"incv_{r}_{which}": fold for r in range(settings.own["incv"].rounds) for which in range(2)}
    return {**rounds, **two_at_once("incv")(settings)}


@dataclass(frozen=True)
class Own(co_teaching.Own):
    """The authors' numbers, beside Co-teaching's."""

    rounds: int = knob(4, "Rounds of cross-validation.", least=1)
    join: float = knob(
        0.2,
        "Share of the stage after which candidates join; twice that where the noise is above 0.6.",
        least=0,
        most=0.5,
    )


class OnSelected(co_teaching.CoTeaching):
    """Co-teaching on S; after a while each batch has candidates of C beside it, and no more is kept than before."""

    def __init__(self, task: Task, S: np.ndarray, C: np.ndarray, settings: Settings, rate: float) -> None:
        left = rate**2 / (rate**2 + (task.classes - 1) * (1 - rate) ** 2)  # the noise that is left in S
        super().__init__(task, "incv", S, settings, left)
        self.candidates = torch.from_numpy(C).to(task.device)
        self.joined = self.recipe.epochs * self.own.join * (2 if rate > 0.6 else 1)

    def kept(self, epoch: int, size: int) -> int:
        return round(size * (1 - self.rate * min(epoch / self.own.ramp_epochs, 1)))

    def plan(self, epoch: int) -> Iterable[Plan]:
        n = len(self.candidates)
        beside = min(self.batch * n // len(self.examples), self.batch // 2) if epoch >= self.joined else 0
        order = self.candidates[self.task.draws.permutations(f"{self.name}/candidates", [epoch], n)[0]]
        for plan in super().plan(epoch):
            joins = beside and plan.size == self.batch
            yield plan.joined(self.seen(epoch, order[: plan.steps * beside].view(-1, beside))) if joins else plan


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Rounds need no state: those that a stopped run has finished come from their checkpoints."""
    labels, rate, S, C = task.dataset.labels, np.nan, NOBODY, task.train
    said = np.zeros((len(labels), task.classes))
    for r in range(settings.own["incv"].rounds):
        if len(C) < 2:
            break
        # The more labels are wrong, the sooner they no longer decide which epoch is the best.
        g = cross_predict(
            task, settings, C, deal(task, C, f"incv_{r}"), always=S, recipe="incv_fold", name=f"incv_{r}_",
            weights="incv", pick="last" if r >= (1 if rate > 0.6 else 2 if rate > 0.3 else 4) else "best",
        )  # fmt: skip
        judged = np.flatnonzero(~np.isnan(g[:, :, 0]).all(0))
        said[judged] = np.nanmean(g[:, judged], 0)
        for half in g:  # as the network that learnt the other one judges it
            judged = np.intersect1d(C, np.flatnonzero(~np.isnan(half[:, 0])))
            agrees = half[judged].argmax(1) == labels[judged]
            rate = rate_of(agrees.mean(), task.classes) if np.isnan(rate) else rate
            hardest = judged[np.argsort(half[judged, labels[judged]], kind="stable")]  # the largest losses leave C
            gone = hardest[: int(min(2, rate / (1 - rate)) * agrees.sum())]
            S, C = np.union1d(S, judged[agrees]), np.setdiff1d(C, np.union1d(gone, judged[agrees]))
    fitted = fit(task, OnSelected(task, S, C, settings, rate))
    selection, score = chosen(task, settings, 1 - said[np.arange(len(labels)), labels], ~np.isin(task.train, S))
    before = tuple(stage for name, stage in task.finished.items() if name.startswith("incv_"))
    return Learned("incv", fitted, selection, score, "predictions by cross-validation", before)


def rate_of(agreement: float, classes: int) -> float:
    """ε of (1 − ε)² + ε² / (c − 1) = agreement: how often two labels that are equally noisy agree."""
    k = classes / (classes - 1)
    return float((1 - max(1 - k * (1 - agreement), 0) ** 0.5) / k)
