"""DivideMix (Li, Socher, Hoi, ICLR 2020): two networks, each on the other's split of the losses, by MixMatch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from warnings import catch_warnings

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from torch import Tensor
from torch.nn.functional import nll_loss, one_hot

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Group, Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.scoring import judging
from smallloss.engine.stage import Stage, fit
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.mixmatch import guess, labeled_loss, mixing, mixup, sharpen, unlabeled_loss
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned, chosen, two_at_once, two_networks
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel

NAME = "DivideMix"
refuse, work = two_networks("dividemix"), two_at_once("dividemix")
NEEDS = None
COSTS = "two networks, trained in turn, five passes to a step"
_PAPER = Recipe(epochs=300, batch=64, lr=0.02, milestones=(0.5,), factor=0.1)
RECIPES = {"paper": _PAPER, "fast": replace(FAST, batch=128), "cpu": CPU}


@dataclass(frozen=True)
class Own(Knobs):
    """The authors' for CIFAR-10 with half of the labels drawn anew."""

    warm_up: int = knob(10, "Epochs of plain training first; at most half of them.", least=1)
    confidence: float = knob(0.0, "Weight of a penalty on sureness in the warm-up; 1 for asymmetric noise.", least=0)
    threshold: float = knob(0.5, "Labelled is what is clean with more than this probability.", least=0, below=1)
    temperature: float = knob(0.5, "Lower sharpens guessed labels more.", above=0)
    alpha: float = knob(4.0, "Mixing coefficients come from Beta(α, α).", above=0)
    lambda_u: float = knob(25.0, "Weight of the loss on the unlabelled; 0 for little or asymmetric noise.", least=0)
    ramp_epochs: int = knob(16, "Epochs over which `lambda_u` rises from 0.", least=1)


class DivideMix(OfMethod):
    """w, which each network says of each example, is its probability of being clean; it serves the other network."""

    networks = 2
    judges = "mean"

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__(task, settings, "dividemix")
        self.looks = range(self.recipe.epochs)
        self.warm = max(1, min(self.own.warm_up, self.recipe.epochs // 2))
        self.w = torch.ones(2, len(task.dataset), dtype=torch.float64)

    def groups(self, nets: Sequence[Network]) -> dict[str, Group]:
        return {f"optimiser{k}": Group([*net.module.parameters()], self.recipe) for k, net in enumerate(nets)}

    def buffers(self) -> dict[str, Tensor]:
        return {"w": self.w}

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        """Co-divide: W⁽¹⁾ = GMM(D, θ⁽¹⁾), W⁽²⁾ = GMM(D, θ⁽²⁾)."""
        for k in range(2) if epoch + 1 >= self.warm else ():
            losses = stage.score(epoch, np.arange(len(self.task.dataset)), network=k).loss
            self.w[k] = torch.from_numpy(clean(losses.cpu().double().numpy(), self.task.train))
        self.w[:, self.task.train[self.task.corrected]] = 1  # by hand
        return {}

    def plan(self, epoch: int) -> Iterable[Plan]:
        """The warm-up; then one network after the other, each on the split that the other one made."""
        return super().plan(epoch) if epoch < self.warm else [self._mixing(epoch, k) for k in range(2)]

    def _mixing(self, epoch: int, k: int) -> Plan:
        """X = {(x, y, w): w > threshold} and U, the others, in as many steps as all examples fill with both."""
        draws, name, B = self.task.draws, f"{self.name}/{k}", self.batch
        steps = max(1, len(self.examples) // (2 * B))
        times = list(range(epoch * steps, (epoch + 1) * steps))
        w = self.w[1 - k].to(self.examples.device)
        labeled = w[self.examples] > self.own.threshold
        rows = {
            "x": self._passes(f"{name}/x/{epoch}", self.examples[labeled], steps),
            "u": self._passes(f"{name}/u/{epoch}", self.examples[~labeled], steps),
        }
        views = {f"{one} of {k}": self.by_slot(f"{k}/{one}", times, rows[one[0]]) for one in ("x1", "x2", "u1", "u2")}
        ramp = (torch.arange(steps, device=w.device) / steps + epoch - self.warm) / self.own.ramp_epochs
        told = {"w": w[rows["x"]].float(), "lambda_u": self.own.lambda_u * ramp.clamp(max=1)}
        return Plan(views, mixing(draws, self.own.alpha, name, times, 4 * B) | told, (f"optimiser{k}",))

    def _passes(self, purpose: str, some: Tensor, steps: int) -> Tensor:
        """[steps, batch] of some examples, in shuffled passes; of all, where there are none."""
        some, count = some if len(some) else self.examples, steps * self.batch
        order = self.task.draws.permutations(purpose, list(range(-(-count // len(some)))), len(some))
        return some[order.flatten()[:count]].view(steps, self.batch)

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        if "labeled" in batch.inputs:  # the warm-up: CE − H(p); twice the mean over both is the sum of means
            log_p = torch.cat([net(batch.x).log_softmax(1) for net in nets])
            plain = nll_loss(log_p, batch.y.repeat(2), reduction="none")
            return 2 * batch.mean(plain + self.own.confidence * (log_p.exp() * log_p).sum(1))
        k = int("x1 of 1" in batch.inputs)
        net, other, T = nets[k], nets[1 - k], self.own.temperature
        x1, x2, u1, u2 = batch.inputs.values()
        y, w = one_hot(batch.y, self.task.classes).float(), batch["w"][:, None]
        refined = sharpen(w * y + (1 - w) * guess([net], x1, x2), T)  # co-refinement
        with judging(other.module):
            others = guess([other], u1, u2)
        guessed = sharpen((guess([net], u1, u2) + others) / 2, T)  # co-guessing
        targets = torch.cat([refined, refined, guessed, guessed])
        inputs, targets = mixup(torch.cat([x1, x2, u1, u2]), targets, batch["lam"], batch["partner"])
        logits, B = net(inputs), len(x1) + len(x2)
        labeled, unlabeled = labeled_loss(logits[:B], targets[:B]), unlabeled_loss(logits[B:], targets[B:])
        return batch.mean(labeled) + batch["lambda_u"] * batch.mean(unlabeled) + unevenness(logits)


def clean(losses: np.ndarray, train: np.ndarray) -> np.ndarray:
    """The posterior of the component with the smaller mean, of two Gaussians fitted to the losses of `train`."""
    low, high = losses[train].min(), losses[train].max()
    scaled = ((losses - low) / max(high - low, 1e-12)).clip(0, 1)[:, None]
    mixture = GaussianMixture(2, max_iter=10, tol=1e-2, reg_covar=5e-4, random_state=0)
    with catch_warnings(action="ignore", category=ConvergenceWarning):  # ten rounds are the authors'
        mixture.fit(scaled[train])
    return np.asarray(mixture.predict_proba(scaled)[:, mixture.means_.argmin()])


def unevenness(logits: Tensor) -> Tensor:
    """Σ π ln(π / p̄), π uniform, p̄ the mean prediction of the step."""
    log_mean = logits.log_softmax(1).logsumexp(0) - log(len(logits))
    return (-log(logits.shape[1]) - log_mean).mean()


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Kept is what both networks, on average, take for clean in the end."""
    objective = DivideMix(task, settings)
    fitted = fit(task, objective)
    w = objective.w.numpy().mean(0)
    choice = chosen(task, settings, 1 - w, w[task.train] <= objective.own.threshold)
    return Learned("dividemix", fitted, *choice, "the losses of two networks, as a mixture of right and wrong")
