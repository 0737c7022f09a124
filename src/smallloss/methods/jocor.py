"""JoCoR (Wei et al., CVPR 2020): two networks that must agree learn together from the small joint losses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor
from torch.nn.functional import nll_loss

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch
from smallloss.engine.task import Task
from smallloss.knobs import knob
from smallloss.methods import co_teaching, decoupling
from smallloss.methods.settings import CPU, Settings
from smallloss.methods.small_loss import Learned, two_at_once, two_networks
from smallloss.noise.model import NoiseModel

NAME = "JoCoR"
refuse, work = two_networks("jocor"), two_at_once("jocor")
NEEDS = "noise rate"
COSTS = "two networks, trained together"
RECIPES = decoupling.RECIPES | {"cpu": replace(CPU, optimiser="adam", lr=1e-3)}


@dataclass(frozen=True)
class Own(co_teaching.Own):
    """λ beside Co-teaching's T_k. The authors' for CIFAR-10; another network may want another."""

    agreement: float = knob(0.9, "Weight of the two networks' agreement.", least=0, most=1)


OWN = {"cpu": Own(agreement=0.5)}  # small networks that must agree so much hardly learn labels


class JoCoR(co_teaching.CoTeaching):
    """Co-teaching's R(t); one Adam over both networks, which judge together."""

    judges = "mean"

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        """ℓ = (1 − λ)(CE_1 + CE_2) + λ (KL(p_1 ‖ p_2) + KL(p_2 ‖ p_1)); the R(t) B smallest are descended."""
        log_p, log_q = (net(batch.x).log_softmax(1) for net in nets)
        labelled = nll_loss(log_p, batch.y, reduction="none") + nll_loss(log_q, batch.y, reduction="none")
        apart = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(1)  # KL both ways
        agreement = self.own.agreement
        joint = (1 - agreement) * labelled + agreement * apart
        return (batch.smallest(joint, batch["kept"]) * joint).sum() / batch["kept"]


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Two fresh networks on all examples; τ is the overall noise rate."""
    return co_teaching.taught(JoCoR, "jocor", task, settings, noise)
