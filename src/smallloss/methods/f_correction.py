"""F-correction (Patrini et al., CVPR 2017): the loss is corrected by T, which makes labels of true classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from smallloss.engine import losses
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch
from smallloss.engine.recipe import Recipe
from smallloss.engine.scoring import outputs
from smallloss.engine.stage import Fitted, fit
from smallloss.engine.task import Task
from smallloss.errors import InputError
from smallloss.knobs import Knobs, knob
from smallloss.methods.settings import CPU, FAST, Settings
from smallloss.methods.small_loss import Learned, warm_up
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel
from smallloss.words import percent

NAME = "F-correction"
NEEDS = "matrix"
COSTS = "plain training; and one more before it, where T is found by anchor points"
_PAPER = Recipe(epochs=120, weight_decay=1e-4, milestones=(1 / 3, 2 / 3), factor=0.1)
RECIPES = {"paper": _PAPER, "fast": FAST, "cpu": CPU}
_FROM = {"given": "as given", "drawn": "of the noise that was drawn", "estimated": "as estimated"}


@dataclass(frozen=True)
class Own(Knobs):
    """The authors' for CIFAR-10; for CIFAR-100 they take the surest example itself, percentile 100."""

    correction: str = knob("forward", "Which of the two corrections.", choices=("forward", "backward"))
    transition: str = knob(
        "known",
        "T as it is given or estimated, or by the authors' anchor points: what stage 1 says where it is surest.",
        choices=("known", "anchors"),
    )
    percentile: float = knob(97.0, "The surest examples above it are no anchor points.", above=0, most=100)


class Corrected(OfMethod):
    """ℓ of labels, and no more of classes."""

    def __init__(self, task: Task, settings: Settings, T: np.ndarray) -> None:
        super().__init__(task, settings, "f_correction")
        self.corrected = losses.by_transition(self.own.correction, T, task.device)

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        return batch.mean(self.corrected(nets[0](batch.x), batch.y, batch.index))


def refuse_task(task: Task, settings: Settings, noise: NoiseModel) -> None:
    """Rates alone are no T, and a T that is singular has no inverse."""
    own: Own = settings.own["f_correction"]
    if own.transition == "anchors" or not noise.is_known:
        return
    if noise.transition is None:
        raise InputError(
            "F-correction needs a transition matrix, and noise rates are none: give T with --transition, or leave the "
            "rates out to have it estimated, or find it by anchor points, --set f_correction.transition=anchors."
        )
    if own.correction == "backward":
        losses.inverse(noise.transition)


def anchored(p: np.ndarray, percentile: float) -> np.ndarray:
    """T_ij = p_j(x*_i), x*_i the example that the network is surest of to be an i; but for outliers above a percentile
    of p_i, the last of whom it follows."""
    outliers = int((1 - percentile / 100) * len(p) + 1e-9)
    surest = np.argsort(-p, axis=0, kind="stable")[min(outliers, len(p) - 1)]
    return p[surest] / p[surest].sum(1, keepdims=True)


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """A fresh network on all examples; for anchor points plain training comes before it."""
    own: Own = settings.own["f_correction"]
    before: tuple[Fitted, ...] = ()
    if own.transition == "anchors":
        before = (warm_up(task, settings),)
        p = outputs(task, before[0].network, task.dataset, task.train).astype(np.float64)
        T, source = anchored(p, own.percentile), "by anchor points"
    else:
        assert noise.transition is not None
        T, source = noise.transition, _FROM.get(noise.source, "as given")
    told = f"F-correction ({own.correction}) was told T {source}, by which {_kept(T)} of a class keep their label."
    return Learned("f_correction", fit(task, Corrected(task, settings, T)), before=before, notes=(told,))


def _kept(T: np.ndarray) -> str:
    low, high = T.diagonal().min(), T.diagonal().max()
    return percent(low) if percent(low) == percent(high) else f"{percent(low)} to {percent(high)}"
