"""MentorNet (Jiang et al., ICML 2018): a curriculum weighs the examples, set beforehand or learnt from answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from smallloss.criterion.ledger import LossLedger
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Group, Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage, fit
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.mentor import Mentor, answered, seen
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned, chosen, overall_rate
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel
from smallloss.words import counted

NAME = "MentorNet"
NEEDS = "noise rate"
COSTS = "one network, and where there are answers a very small one"
_PAPER = Recipe(epochs=100, weight_decay=2e-4, milestones=(0.5, 0.64, 0.77), factor=0.1)
RECIPES = {"paper": _PAPER, "fast": FAST, "cpu": CPU}
_DECAY = 0.5  # of m
_FORGIVING = 0.9  # the share of the stage from where on a loss a little above m has a weight too
_DROPPED = (0.5, 0.05)  # share of the examples that a step leaves out: in the burn-in, and after it
_ASKED = 4  # a step has one answered example beside so many others


@dataclass(frozen=True)
class Own(Knobs):
    """The authors' `burn_in`, and .7 or .75 for `percentile`. Weighed too soon, a class that is learnt late lies
    above m as a whole, and is never learnt."""

    curriculum: str = knob(
        "auto",
        "Set beforehand, or learnt from answers by hand, which `auto` does where some are right and some wrong.",
        choices=("auto", "predefined", "learnt"),
    )
    percentile: float | None = knob(
        None, "Share of a batch's losses that lies below m, which they are compared with; `none` is 1 - noise rate.",
        above=0, most=1,
    )  # fmt: skip
    burn_in: int = knob(18, "Epochs before examples are weighed, at most half of the stage.", least=0)


class Mentored(OfMethod):
    """mean v ℓ, v = g(ℓ, ℓ − m, t); m is the moving average of a percentile of a batch's losses, t the share of the
    stage that is over."""

    def __init__(self, task: Task, settings: Settings, rate: float) -> None:
        super().__init__(task, settings, "mentornet")
        self.percentile = self.own.percentile or 1 - rate
        self.answered, self.right = answered(task, self.own.curriculum)
        self.m, self.weighed = torch.zeros((), device=task.device), torch.zeros((), dtype=torch.int64)
        self.v = torch.zeros(len(task.dataset), device=task.device)

    def modules(self) -> list[nn.Module]:
        with self.task.draws.by_modules(f"{self.name}/mentor", on_device=False):
            return [*super().modules(), *([Mentor()] if len(self.answered) else [])]

    def groups(self, nets: Sequence[Network]) -> dict[str, Group]:
        mentors = replace(self.recipe, optimiser="adam", lr=0.01, weight_decay=0, schedule="constant", warmup_steps=0)
        named = zip(("optimiser", "mentor"), nets, (self.recipe, mentors), strict=False)
        return {name: Group([*net.module.parameters()], recipe) for name, net, recipe in named}

    def buffers(self) -> dict[str, Tensor]:
        return {"m": self.m, "v": self.v, "weighed": self.weighed}

    def burns_in(self, epoch: int) -> bool:
        return epoch < min(self.own.burn_in, self.recipe.epochs / 2)

    def plan(self, epoch: int) -> Iterable[Plan]:
        """With what each step leaves out; and answered examples at its end, where a mentor learns from them."""
        draws, burns, begun = self.task.draws, self.burns_in(epoch), epoch * len(self.examples)
        for plan in super().plan(epoch):
            index, times = plan.views["labeled"].index, list(range(begun, begun + plan.steps))
            drawn = draws.uniform(f"{self.name}/dropout", [epoch], index.flatten()).view_as(index)
            told = plan.beside(kept=drawn >= _DROPPED[not burns], burns=burns, t=epoch / self.recipe.epochs)
            if len(self.answered):
                slots = draws.slots(max(1, plan.size // _ASKED))
                asked = draws.below(len(self.answered), f"{self.name}/asked", times, slots)
                told = told.joined(self.seen(epoch, torch.from_numpy(self.answered).to(index)[asked]))
            begun += plan.steps
            yield told

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        """v is a constant to the network; the mentor descends its error on the answered."""
        B, t = len(batch["kept"]), batch["t"]
        labels = torch.cat([batch.y[:B], self.task.labels[batch.index[B:]]])  # it judges them as they were given
        losses = cross_entropy(nets[0](batch.x), labels, reduction="none")
        known = losses.detach()
        self.m.lerp_(known[:B].quantile(self.percentile), 1 - _DECAY)
        v = batch["kept"] * (batch["burns"] + ~batch["burns"] * self.weigh(nets, known[:B], self.m, t))
        loss = batch.mean(v * losses[:B])
        if len(nets) == 1:
            return loss
        odds = nets[1](seen(known[B:], self.m, t))
        return loss + binary_cross_entropy_with_logits(odds, self.right[batch.index[B:]])

    @torch.no_grad()
    def weigh(self, nets: Sequence[Network], loss: Tensor, m: Tensor, t: Tensor) -> Tensor:
        """g: what the mentor says; or set beforehand, whether a loss is at most m, and at the end less strictly."""
        if len(nets) > 1:
            return nets[1](seen(loss, m, t)).sigmoid()
        return torch.where(t < _FORGIVING, (loss <= m).float(), (1 - (loss - m)).clamp(0, 1))

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        """All examples are weighed by the losses that went into the ledger, held-out ones too."""
        if epoch in stage.record:
            assert stage.ledger is not None
            loss = stage.ledger.last_loss
            m, t = np.quantile(loss[self.task.train], self.percentile), epoch / self.recipe.epochs
            self.v += self.weigh(stage.networks, *(torch.as_tensor(one).to(self.v) for one in (loss, m, t)))
            self.weighed += 1
        return {}


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """One fresh network on all examples. What weighed more than half is selected, by the mean over epochs."""
    objective = Mentored(task, settings, overall_rate(task, settings, noise))
    window = settings.criterion.scored_epochs(objective.recipe.epochs)
    burnt = [epoch for epoch in window[:-1] if objective.burns_in(epoch)]
    fitted = fit(task, objective, ledger=LossLedger(len(task.dataset)), record=window[len(burnt) :])
    assert fitted.ledger is not None
    v = (objective.v.cpu().double() / objective.weighed).numpy()
    suspicion = np.empty(len(v))
    suspicion[np.lexsort((fitted.ledger.mean_loss, -v))] = np.linspace(0, 1, len(v))  # if equal, by mean loss
    n = len(objective.answered)
    taught = f"learnt from {counted(n, 'answer')}" if n else "set beforehand"
    evidence = f"one minus the weight while learning by a curriculum {taught}"
    return Learned("mentornet", fitted, *chosen(task, settings, suspicion, v[task.train] < 0.5), evidence)
