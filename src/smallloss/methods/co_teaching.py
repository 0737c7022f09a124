"""Co-teaching (Han et al., NeurIPS 2018): two networks, each taught by the small-loss examples of the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor
from torch.nn.functional import cross_entropy

from smallloss.criterion.ledger import LossLedger
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch, Plan
from smallloss.engine.stage import fit
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.settings import Settings
from smallloss.methods.small_loss import Learned, choose, overall_rate, rank, two_at_once, two_networks
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel

NAME = "Co-teaching"
refuse, work = two_networks("co_teaching"), two_at_once("co_teaching")
NEEDS = "noise rate"
COSTS = "two networks, trained together"


@dataclass(frozen=True)
class Own(Knobs):
    """T_k, the epochs over which R(t) rises: the first keeps all, so there are two at least."""

    ramp_epochs: int = knob(10, "Epochs over which the share left out rises to the noise rate.", least=2)


class CoTeaching(OfMethod):
    """Per batch each network ranks its own losses; the other one is updated on its (1 − R(t)) B smallest."""

    networks = 2

    def __init__(self, task: Task, name: str, examples: np.ndarray, settings: Settings, rate: float) -> None:
        super().__init__(task, settings, name, examples)
        self.rate = rate

    def kept(self, epoch: int, size: int) -> int:
        """(1 − R(t)) B, R(t) = τ min(t / T_k, 1)."""
        return int((1 - self.rate * min(epoch / (self.own.ramp_epochs - 1), 1.0)) * size)

    def plan(self, epoch: int) -> Iterable[Plan]:
        """With the number of examples that are kept beside each step."""
        for plan in super().plan(epoch):
            yield plan.beside(kept=max(1, self.kept(epoch, plan.size)))

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        first, second = (cross_entropy(net(batch.x), batch.y, reduction="none") for net in nets)
        kept = batch["kept"]
        # Ranks are constants, so one backward through the sum gives each network its own gradient alone.
        return (batch.smallest(second, kept) * first + batch.smallest(first, kept) * second).sum() / kept


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Two fresh networks on all examples; τ is the overall noise rate."""
    return taught(CoTeaching, "co_teaching", task, settings, noise)


def taught(kind: type[CoTeaching], name: str, task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """A step selects in its batch alone; of all examples those 1 − η_k of each label are taken whose losses were the
    smallest while the networks taught each other."""
    objective = kind(task, name, task.train, settings, overall_rate(task, settings, noise))
    record = settings.criterion.scored_epochs(objective.recipe.epochs)
    fitted = fit(task, objective, ledger=LossLedger(len(task.dataset)), record=record)
    score, evidence = rank(fitted, settings, "two networks taught each other")
    selection = choose(task, settings, noise, score, beta=0.0)
    return Learned(name, fitted, selection, score, evidence, beta=0.0)
