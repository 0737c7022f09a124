"""Decoupling (Malach, Shalev-Shwartz, NeurIPS 2017): two networks, updated only where they disagree."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor
from torch.nn.functional import cross_entropy

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Plan
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import fit
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned, two_at_once, two_networks
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel

NAME = "Decoupling"
refuse, work = two_networks("decoupling"), two_at_once("decoupling")
NEEDS = None
COSTS = "two networks, trained together"
# The authors' own is for faces: SGD at .002, halved every 5,000 steps. This is Han et al.'s, who took it to CIFAR, and
# that of Co-teaching+ and JoCoR: level, then straight down to 0. Their β1 falls as well, which ours does not.
_PAPER = Recipe(optimiser="adam", lr=1e-3, weight_decay=0, schedule="linear", milestones=(0.4,), pad=0)
RECIPES = {"paper": _PAPER, "fast": replace(FAST, optimiser="adam", lr=1e-3), "cpu": CPU}
_FEWEST = 0.1  # of a batch: the mean over fewer would be a step by a handful


@dataclass(frozen=True)
class Own(Knobs):
    """Two networks at random disagree on almost everything, so Decoupling hardly needs it."""

    together: float = knob(
        0.1, "Share of the stage before disagreement decides: till then all examples are learnt.", least=0, most=1
    )


class Decoupling(OfMethod):
    """What both networks call the same teaches neither: wrong labels of agreed examples are not learnt."""

    networks = 2

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__(task, settings, "decoupling")

    def plan(self, epoch: int) -> Iterable[Plan]:
        for plan in super().plan(epoch):
            yield plan.beside(apart=epoch >= self.own.together * self.recipe.epochs)

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        """Σ CE over those they disagree on, by their number; by a tenth of the batch, where they are fewer."""
        logits = [net(batch.x) for net in nets]
        first, second = (cross_entropy(one, batch.y, reduction="none") for one in logits)
        among = disagree(*logits) | ~batch["apart"]
        return (among * (first + second)).sum() / among.sum().clamp(min=_FEWEST * len(among))


def disagree(first: Tensor, second: Tensor) -> Tensor:
    """Which examples two networks call differently."""
    return first.argmax(1) != second.argmax(1)


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Two fresh networks on all examples. Disagreement says what is worth learning, not which labels are right: the
    examples are judged by stage 1."""
    return Learned("decoupling", fit(task, Decoupling(task, settings)))
