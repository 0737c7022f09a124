"""MixMatch (Berthelot et al., NeurIPS 2019): a share of each class keeps its labels, the rest is unlabelled data."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from smallloss.criterion.ranking import rank_class_by_class
from smallloss.engine.stage import fit
from smallloss.engine.task import Task
from smallloss.errors import TooFewError
from smallloss.knobs import Knobs, knob
from smallloss.methods import rsl_wm
from smallloss.methods.mixmatch import WeightedMixMatch
from smallloss.methods.settings import Settings
from smallloss.methods.small_loss import Learned
from smallloss.noise.answers import NONE, UNSURE
from smallloss.noise.model import NoiseModel
from smallloss.words import listed

NAME = "MixMatch"
NEEDS = None
COSTS = "one longer training, with and without labels"
# It mixes and learns as RSL_WM, from which it then differs by the labels that are kept. The authors: 1,024 epochs.
RECIPES = {
    preset: {"plain_mixmatch": said["rsl_wm"], "mixmatch": said["mixmatch"]} for preset, said in rsl_wm.RECIPES.items()
}
RECIPES["paper"]["plain_mixmatch"] = rsl_wm.RECIPES["paper"]["rsl_wm"].changed({"epochs": 1024})
follows = rsl_wm.follows
_HALF = 0.5  # of labels as they come: on digits under uniform .5 a tenth gives 80 %, a quarter 87, half 96


@dataclass(frozen=True)
class Own(Knobs):
    """What it is given beside unlabelled data. The authors' labels are right; ours are as they come, or answered."""

    labelled: float | None = knob(
        None, "Share of each class that keeps its labels, beside answers; `none`: 0 where all have answers, else 0.5.",
        least=0, most=1,
    )  # fmt: skip


def work(settings: Settings) -> dict[str, float]:
    """As RSL_WM's."""
    return {"plain_mixmatch": 4 * settings.recipe("plain_mixmatch").epochs}


def refuse(settings: Settings) -> None:
    rsl_wm.refuse(settings, "plain_mixmatch")


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """One fresh network. Which labels it keeps is drawn, and says nothing of them: they are judged by stage 1."""
    how = replace(settings.own["mixmatch"], rounds=1)
    objective = WeightedMixMatch(
        task, "plain_mixmatch", keep(task, settings.own["plain_mixmatch"].labelled),
        settings.recipe("plain_mixmatch"), settings.last_net, how, recipe_name="plain_mixmatch",
    )  # fmt: skip
    return Learned("plain_mixmatch", fit(task, objective))


def keep(task: Task, share: float | None) -> np.ndarray:
    """1 where a label of the training part is kept, else 0: so many of each class, rounded up, and all that was
    answered but what belongs to no class."""
    codes = task.dataset.labels[task.train]
    answers = np.array([task.pins.get(row, UNSURE) for row in task.train.tolist()])
    missing = np.setdiff1d(codes, answers)
    if share is None:
        share = _HALF if len(missing) else 0.0
    if share == 0 and len(missing):
        names = listed([task.dataset.classes[k] for k in missing])
        raise TooFewError(
            f"plain_mixmatch.labelled is 0, so that only examples answered by hand are labelled, but of {names} there "
            "is none: answer some, or keep the labels of a larger share."
        )
    n = np.bincount(codes, minlength=task.classes)
    drawn = task.draws.uniform("plain_mixmatch/labelled", [0], torch.from_numpy(task.train))[0].cpu().numpy()
    kept = rank_class_by_class(drawn, codes, n, n) <= np.ceil(share * n)[codes]
    return np.where(answers == UNSURE, kept, answers != NONE).astype(np.float64)
