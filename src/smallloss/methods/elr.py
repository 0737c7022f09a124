"""ELR (Liu et al., NeurIPS 2020): what was predicted early is held on to, so that wrong labels are not learnt late."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from smallloss.engine import losses
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import fit
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel

NAME = "ELR"
NEEDS = None
COSTS = "one network; a row of probabilities kept for each example"
_PAPER = Recipe(epochs=120, lr=0.02, weight_decay=1e-3, milestones=(1 / 3, 2 / 3), factor=0.01)
RECIPES = {"paper": _PAPER, "fast": FAST, "cpu": CPU}


@dataclass(frozen=True)
class Own(Knobs):
    """The authors' for CIFAR-10 under symmetric noise; .9 and 1 where it is asymmetric, .9 and 7 for CIFAR-100."""

    beta: float = knob(0.7, "How much of an example's target stays at each look at it.", least=0, below=1)
    strength: float = knob(3.0, "Weight of staying with the targets (lambda).", least=0)


class EarlyLearning(OfMethod):
    """t_i, the running mean of what the network said of example i, is a target beside its label."""

    def __init__(self, task: Task, settings: Settings) -> None:
        super().__init__(task, settings, "elr")
        self.held = losses.ELR(len(task.dataset), task.classes, self.own.beta, self.own.strength, task.device)

    def buffers(self) -> dict[str, Tensor]:
        return {"t": self.held.t}

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        """Eq. 6: CE + λ ln(1 − ⟨t, p⟩), after t ← β t + (1 − β) p."""
        return batch.mean(self.held(nets[0](batch.x), batch.y, batch.index))


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """One fresh network on all examples."""
    return Learned("elr", fit(task, EarlyLearning(task, settings)))
