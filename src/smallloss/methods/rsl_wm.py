"""RSL_WM (Gui, Wang, Tian, IJCAI 2021, section 4): RSL's selection, and MixMatch with the rest as unlabeled data."""

from dataclasses import replace

import numpy as np

from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.selection import Selection
from smallloss.engine.stage import fit
from smallloss.engine.task import Task
from smallloss.errors import InputError
from smallloss.methods.mixmatch import MixMatchSettings, WeightedMixMatch
from smallloss.methods.settings import CPU, FAST, PAPER, Settings
from smallloss.methods.small_loss import Learned, choose, rank, refuse_one_module, warm_up
from smallloss.noise.model import NoiseModel

NAME = "RSL_WM"
NEEDS = "noise rate"
COSTS = "plain training, and a longer one with and without labels"
RECIPES = {
    "paper": {
        "rsl_wm": replace(
            PAPER, epochs=500, batch=64, optimiser="adam", lr=0.002, weight_decay=0.02, decay_last=True,
            schedule="constant", ema=0.999, ema_batchnorm="copy", padding="reflect", crop_offsets=8, ties="earlier",
        ),
        "mixmatch": MixMatchSettings(),
    },
    "fast": {
        "rsl_wm": replace(
            FAST, epochs=44, batch=128, lr=0.15, schedule="cosine", warmup_steps=500, ema=0.999, padding="reflect"
        ),
        "mixmatch": MixMatchSettings(
            steps_per_epoch=800, lambda_u=15, ramp=0.3, mix_per="example", passes="joined", rounds=2
        ),
    },
    "cpu": {
        "rsl_wm": replace(CPU, epochs=20, lr=0.15, schedule="cosine", ema=0.99),
        # A small net has no room to spare for mixed pictures: α is small, and most are hardly mixed.
        "mixmatch": MixMatchSettings(
            steps_per_epoch=None, alpha=0.2, lambda_u=15, ramp=0.3, mix_per="example", passes="joined",
            guess_by="average", rounds=2,
        ),
    },
}  # fmt: skip


def follows(settings: Settings) -> tuple[str, ...]:
    """Its steps are as many as ever, however few the pictures; with epochs that are passes there may be too many."""
    return ("epochs",) if settings.own["mixmatch"].steps_per_epoch is None else ()


def work(settings: Settings) -> dict[str, float]:
    """Labelled and unlabelled batches, mixed, and twice the views."""
    return {"rsl_wm": 4 * settings.recipe("rsl_wm").epochs}


def refuse(settings: Settings, stage: str = "rsl_wm") -> None:
    """Several networks are made by a function, or by name; an average of the weights can guess where there is one."""
    networks = settings.own["mixmatch"].networks
    if settings.own["mixmatch"].guess_by == "average" and settings.recipe(stage).ema is None:
        raise InputError(f"mixmatch.guess_by is average, but {stage}.ema is none: there is no average to guess by.")
    if networks > 1:
        refuse_one_module(settings.last_net, f"mixmatch.networks={networks} needs networks")


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """D_sel_WM = Weighted_MixMatch(D_sel, D_u): Algorithm 1 with its last line replaced."""
    stage1 = warm_up(task, settings)
    score, evidence = rank(stage1, settings)
    selection = choose(task, settings, noise, score)

    recipe, how = settings.recipe("rsl_wm"), settings.own["mixmatch"]
    ledger = LossLedger(len(task.dataset)) if how.rounds > 1 else None

    def look_again(ledger: LossLedger) -> Selection:
        return choose(task, settings, noise, ledger.score(settings.criterion.score), beta=how.second_beta)

    objective = WeightedMixMatch(task, "rsl_wm", selection.weight, recipe, settings.last_net, how, look_again)
    first = objective.weight.numpy().copy()
    final = fit(task, objective, ledger=ledger, record=how.scored_epochs(recipe.epochs))
    last = objective.weight.numpy()
    if final.ledger is None:
        return Learned("rsl_wm", final, _told(selection, first, last), score, evidence, (stage1,))
    # The semi-supervised network has seen right labels almost alone: its losses are the better evidence.
    score, evidence = rank(final, settings, "learning from what was kept (second look)")
    told = _told(look_again(final.ledger), first, last)
    return Learned("rsl_wm", final, told, score, evidence, (stage1,), how.second_beta)


def _told(selection: Selection, first: np.ndarray, last: np.ndarray) -> Selection:
    """With a note where there was no D_u, by the weights trained with before and after the second look."""
    before, after = bool((first > 0).all()), bool((last > 0).all())
    if not before and not after:
        return selection
    when = "" if before and after else " before its second look" if before else " after its second look"
    note = (
        f"Every training example was learnt with a label{when}: RSL_WM had no unlabelled data, and used these for that "
        "too."
    )
    return replace(selection, notes=(*selection.notes, note))
