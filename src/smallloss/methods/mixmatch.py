"""Weighted MixMatch (section 4 and Appendix C): guess, sharpen, mix; labeled examples drawn by weight."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, one_hot

from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.selection import Selection
from smallloss.engine.draws import Draws, running_sum
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Objective, Plan, new_network
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Stage
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.small_loss import learnt

_FEWEST_STEPS = 50  # of an epoch that follows the data: a second look and an average of weights need some


@dataclass(frozen=True)
class MixMatchSettings(Knobs):
    """MixMatch's own knobs. The defaults are the authors'."""

    steps_per_epoch: int | None = knob(
        1024, "Steps of an epoch; `none`: one pass over the training part, at least 50.", least=1
    )
    temperature: float = knob(0.5, "Lower sharpens guessed labels more.", above=0)
    alpha: float = knob(0.75, "Mixing coefficients come from Beta(α, α); small hardly mixes.", above=0)
    lambda_u: float = knob(75.0, "Weight of the loss on the rest.", least=0)
    ramp: float = knob(1.0, "Share of the stage over which `lambda_u` rises from 0.", least=0)  # Google: 16,384 steps
    mix_per: str = knob(  # authors: step; Google's code: example
        "step", "One mixing coefficient per step, or one per example.", choices=("step", "example")
    )
    passes: str = knob(
        "apart",
        "One pass over all views of a step, or the authors' one for each view and, interleaved, batch.",
        choices=("joined", "apart"),
    )
    guess_by: str = knob("network", "What guesses labels: the network, or its average.", choices=("network", "average"))
    networks: int = knob(1, "Number of networks that guess and judge together.", least=1)  # each mixes anew
    rounds: int = knob(1, "With 2, the examples are ranked and selected again part-way.", choices=(1, 2))
    look_at: float = knob(0.4, "After which share of the stage.", least=0, most=1)
    second_beta: float = knob(0.05, "`beta` of that second selection.", least=0, most=1)

    def look_epoch(self, epochs: int) -> int:
        """The epoch after which the second look happens."""
        return max(0, round(self.look_at * epochs) - 1)

    def scored_epochs(self, epochs: int) -> range | None:
        """From the second half of the way to the second look onwards: before, the network is unformed."""
        return range(self.look_epoch(epochs) // 2, epochs) if self.rounds > 1 else None


class WeightedMixMatch(Objective):
    """L = L_x + λ_u(t) L_u on (L', U') = MixMatch(L, U), L drawn from D_sel in proportion to w.

    `weight` is that of each example of the training part: with 0 it is unlabelled.
    """

    judges = "mean"

    def __init__(
        self,
        task: Task,
        name: str,
        weight: np.ndarray,
        recipe: Recipe,
        net: Any,
        how: MixMatchSettings,
        look_again: Callable[[LossLedger], Selection] | None = None,
        *,
        recipe_name: str = "rsl_wm",
    ) -> None:
        super().__init__(task, name, recipe, net, recipe_name=recipe_name)
        self.how, self.networks, self.look_again = how, how.networks, look_again
        self.steps = how.steps_per_epoch or max(_FEWEST_STEPS, len(task.train) // recipe.batch)
        self.weight = torch.from_numpy(learnt(task, weight))

    def modules(self) -> list[nn.Module]:
        return [new_network(self.task, self.net, name) for name in self._of_each()]

    def _of_each(self) -> list[str]:
        """The first network's draws bear no number: one alone mixes as the first of several."""
        return [f"{self.name}/{i}" if i else self.name for i in range(self.networks)]

    def buffers(self) -> dict[str, Tensor]:
        return {"weight": self.weight}

    def plan(self, epoch: int) -> list[Plan]:
        draws, name, B = self.task.draws, self.name, self.recipe.batch
        times = list(range(epoch * self.steps, (epoch + 1) * self.steps))
        # D_sel and D_u of section 4. Without unlabeled data the selected pictures serve as that too.
        train, weight = self.task.train, self.weight.numpy()
        selected = train[weight > 0]
        rest = selected if len(selected) == len(train) else train[weight == 0]
        drawn = draws.resample(running_sum(weight[weight > 0], self.task.device), f"{name}/labeled", times, B)
        labeled = torch.from_numpy(selected).to(self.task.device)[drawn]
        unlabeled = self._passes(torch.from_numpy(rest).to(self.task.device), times[0] * B, len(times) * B).view(-1, B)
        ramp = torch.tensor(times, device=self.task.device) / max(1.0, self.how.ramp * self.steps * self.recipe.epochs)
        views = {
            "labeled": self.by_slot("x", times, labeled),
            "view_1": self.by_slot("u1", times, unlabeled),
            "view_2": self.by_slot("u2", times, unlabeled),
        }
        return [Plan(views, self._mixing(times) | {"lambda_u": self.how.lambda_u * ramp.clamp(max=1).float()})]

    def _mixing(self, times: list[int]) -> dict[str, Tensor]:
        """What each network mixes by: [steps, networks, ...]."""
        how, entries = self.how, 3 * self.recipe.batch
        each = entries if how.mix_per == "example" else 1
        drawn = [mixing(self.task.draws, how.alpha, name, times, entries, each) for name in self._of_each()]
        return {name: torch.stack([one[name] for one in drawn], 1) for name in drawn[0]}

    def _passes(self, rows: Tensor, start: int, count: int) -> Tensor:
        """Entries start .. start+count of the endless sequence of shuffled passes over some rows."""
        n = len(rows)
        passes = list(range(start // n, (start + count - 1) // n + 1))
        order = self.task.draws.permutations(f"{self.name}/unlabeled", passes, n).flatten()
        offset = start - passes[0] * n
        return rows[order[offset : offset + count]]

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        """One step of MixMatch: guess, sharpen, mix, L_x + λ_u L_u."""
        x, u1, u2 = (batch.inputs[name] for name in ("labeled", "view_1", "view_2"))
        y = one_hot(batch.y, self.task.classes).float()
        guessing = nets if self.how.guess_by == "network" else [net.teacher for net in nets]
        apart = self.how.passes == "apart"
        q = sharpen(guess(guessing, u1, u2, apart=apart), self.how.temperature)
        seen, targets = torch.cat([x, u1, u2]), torch.cat([y, q, q])
        # One backward through the sum gives each network its own gradient alone.
        mixing = zip(nets, batch["lam"], batch["partner"], strict=True)
        losses = [self._loss_of(one, batch, *mixup(seen, targets, *how)) for one, *how in mixing]
        return torch.stack(losses).sum()

    def _loss_of(self, network: Network, batch: Batch, inputs: Tensor, targets: Tensor) -> Tensor:
        # In one pass every BatchNorm statistic is taken over labeled and unlabeled examples together. Batch by batch,
        # as the authors pass L' and U', each batch must first be interleaved with the others for that.
        B = len(batch.x)
        if self.how.passes == "apart":
            logits = torch.cat(interleaved([network(one) for one in interleaved(inputs.split(B))]))
        else:
            logits = network(inputs)
        labeled, unlabeled = labeled_loss(logits[:B], targets[:B]), unlabeled_loss(logits[B:], targets[B:])
        return batch.mean(labeled) + batch["lambda_u"] * batch.mean(unlabeled)

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        """The second look: rank all examples again by the semi-supervised network, and select anew."""
        if self.how.rounds == 1 or epoch != self.how.look_epoch(self.recipe.epochs):
            return {}
        assert stage.ledger is not None
        assert self.look_again is not None
        selection = self.look_again(stage.ledger)
        self.weight.copy_(torch.from_numpy(learnt(self.task, selection.weight)))
        return {"selected": float(selection.mask.sum())}


@torch.no_grad()
def guess(networks: Sequence[Network], *views: Tensor, apart: bool = False) -> Tensor:
    """Label guessing: the mean prediction over the K views, in train mode like the step itself, no gradient.

    `apart`: a pass for each view, whose BatchNorm statistics are then its own.
    """
    passes = views if apart else (torch.cat(views),)
    guesses = torch.cat([network(one).softmax(1) for network in networks for one in passes])
    return guesses.view(len(networks) * len(views), len(views[0]), -1).mean(0)


def interleaved(batches: Sequence[Tensor]) -> list[Tensor]:
    """The first batch and each other one exchange a share, so that all are alike; done twice, all is as it was."""
    k, B = len(batches), len(batches[0])
    shares = [list(batch.tensor_split([i * B // k for i in range(1, k)])) for batch in batches]
    for i in range(1, k):
        shares[0][i], shares[i][i] = shares[i][i], shares[0][i]
    return [torch.cat(share) for share in shares]


def sharpen(p: Tensor, temperature: float) -> Tensor:
    """q ← p^(1/T) / Σ p^(1/T), by logarithms: a small T would leave nothing of a small p."""
    return (p.log() / temperature).softmax(1)


def mixing(draws: Draws, alpha: float, name: str, times: list[int], entries: int, each: int = 1) -> dict[str, Tensor]:
    """What `mixup` takes beside each step: λ' = max(λ, 1 − λ), λ ~ Beta(α, α), one or so many, and all partners."""
    lam = draws.beta(alpha, f"{name}/lambda", times, draws.slots(each))
    return {"lam": torch.maximum(lam, 1 - lam), "partner": draws.permutations(f"{name}/partner", times, entries)}


def mixup(inputs: Tensor, targets: Tensor, lam: Tensor, partner: Tensor) -> tuple[Tensor, Tensor]:
    """Each entry with its partner: λ ≥ 1/2, so an entry stays closer to itself and keeps its place in L' or U'."""
    scale = lam.view(-1, *[1] * (inputs.ndim - 1))
    mixed = scale * inputs + (1 - scale) * inputs[partner]
    return mixed, lam[:, None] * targets + (1 - lam[:, None]) * targets[partner]


def labeled_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """L_x = 1/|L'| Σ H(p, g(x)): of each example, before the mean."""
    return -(targets * log_softmax(logits, 1)).sum(1)


def unlabeled_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """L_u = 1/(c |U'|) Σ ‖q − g(u)‖²: bounded, so a wrong guess costs little. Of each class, before the mean."""
    return (logits.softmax(1) - targets) ** 2
