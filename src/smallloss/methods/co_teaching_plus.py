"""Co-teaching+ (Yu et al., ICML 2019): Co-teaching, but only on the examples on which the two networks disagree."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Plan
from smallloss.engine.task import Task
from smallloss.knobs import knob
from smallloss.methods import co_teaching, decoupling
from smallloss.methods.decoupling import disagree
from smallloss.methods.settings import Settings
from smallloss.methods.small_loss import Learned, two_at_once, two_networks
from smallloss.noise.model import NoiseModel

NAME = "Co-teaching+"
refuse, work = two_networks("co_teaching_plus"), two_at_once("co_teaching_plus")
NEEDS = "noise rate"
COSTS = "two networks, trained together"
RECIPES = decoupling.RECIPES


@dataclass(frozen=True)
class Own(co_teaching.Own):
    """Beside Co-teaching's T_k. The authors have 20 epochs of 200 for CIFAR-10, and 5 for CIFAR-100."""

    together: float = knob(
        0.1, "Share of the stage before disagreement decides: till then it is Co-teaching.", least=0, most=1
    )


class CoTeachingPlus(co_teaching.CoTeaching):
    """Of those they disagree on, each network learns the (1 − R(t)) share with the smallest losses of the other."""

    def plan(self, epoch: int) -> Iterable[Plan]:
        """With how many are kept of 0, 1, 2, ... beside each step: how many they disagree on is known in it alone."""
        for plan in super().plan(epoch):
            kept = torch.tensor([max(1, self.kept(epoch, some)) for some in range(plan.size + 1)])
            kept = kept.to(self.task.device).expand(plan.steps, -1)
            yield plan.beside(kept=kept, apart=epoch >= self.own.together * self.recipe.epochs)

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        """Where they agree on everything there is nothing to learn: the loss is 0. (The authors' code takes logits for
        what was a softmax already, divides twice, and then learns the whole batch in early steps.)"""
        logits = [net(batch.x) for net in nets]
        first, second = (cross_entropy(one, batch.y, reduction="none") for one in logits)
        among = disagree(*logits) | ~batch["apart"]
        kept = batch["kept"].take(among.sum())
        # Ranks are constants, so one backward through the sum gives each network its own gradient alone.
        by_first, by_second = (
            batch.smallest(one.masked_fill(~among, torch.inf), kept) * among for one in (first, second)
        )
        return (by_second * first + by_first * second).sum() / kept


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Two fresh networks on all examples; τ is the overall noise rate."""
    return co_teaching.taught(CoTeachingPlus, "co_teaching_plus", task, settings, noise)
