"""Algorithm 1, lines 1-14: train on everything, keep the ledger, rank class by class, select."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.selection import Selection
from smallloss.engine.objective import new_network
from smallloss.engine.stage import Fitted, fit
from smallloss.engine.task import Task
from smallloss.errors import InputError, TooFewError
from smallloss.methods.settings import Settings
from smallloss.methods.supervised import Plain
from smallloss.noise.model import NoiseModel
from smallloss.record.judge import select_rows
from smallloss.record.run import RELABELLED


@dataclass
class Learned:
    """What a method leaves behind."""

    method: str
    fitted: Fitted
    selection: Selection | None = None
    score: np.ndarray | None = None
    evidence: str = ""
    before: tuple[Fitted, ...] = ()  # the stages that led to it
    beta: float | None = None  # of the selection, where it is not the settings'
    notes: tuple[str, ...] = ()  # what the report must say of it

    @property
    def net(self) -> Any:
        return self.fitted.net

    @property
    def ledger(self) -> LossLedger | None:
        """Of the last stage that kept one."""
        return next((stage.ledger for stage in (self.fitted, *self.before) if stage.ledger is not None), None)

    @property
    def stages(self) -> dict[str, Fitted]:
        return {stage.name: stage for stage in (*self.before, self.fitted)}


def try_nets(task: Task, settings: Settings, method: str) -> None:
    """Refuse now a network that a later stage could not train."""
    for net in (settings.net, settings.last_net, settings.net_of(method)):
        new_network(task, net, "tried")


def try_views(task: Task, settings: Settings, method: str) -> None:
    """Refuse now pictures that a later stage could not crop."""
    _, *size = task.dataset.in_shape
    for name in ("stage1", method) if task.dataset.is_image else ():
        try:
            settings.recipe(name).augmentation(flip=False).require_room((size[0], size[1]))
        except InputError as error:
            raise InputError(f"{settings.group(name)}.{error}") from None


def refuse_one_module(net: Any, need: str) -> None:
    """One module cannot become several networks that start apart."""
    if isinstance(net, nn.Module):
        raise InputError(f"{need} that differ: give net a function that makes one, not a module.")


def two_networks(method: str) -> Callable[[Settings], None]:
    """The `refuse` of a method that trains two: they are made by a function, or by name."""
    return lambda settings: refuse_one_module(settings.net, f"{method} needs two networks")


def two_at_once(method: str) -> Callable[[Settings], dict[str, float]]:
    """And its `work`: an epoch of both is two of stage 1."""
    return lambda settings: {method: 2 * settings.recipe(method).epochs}


def warm_up(task: Task, settings: Settings) -> Fitted:
    """Lines 1-7: E epochs on the noisy labels; after each, every example's loss goes into the ledger."""
    if "stage1" not in task.finished:
        objective = Plain(task, "stage1", task.train, settings.recipe("stage1"), settings.net)
        record = settings.criterion.scored_epochs(objective.recipe.epochs)
        task.finished["stage1"] = fit(task, objective, ledger=LossLedger(len(task.dataset)), record=record)
    return task.finished["stage1"]


def rank(fitted: Fitted, settings: Settings, when: str = "learning from all labels") -> tuple[np.ndarray, str]:
    """What ranks: the score that the settings name, of the epochs that a stage kept; and that in words."""
    assert fitted.ledger is not None
    return fitted.ledger.score(settings.criterion.score), f"{settings.criterion.score_in_words} while {when}"


def choose(
    task: Task,
    settings: Settings,
    noise: NoiseModel,
    score: np.ndarray,
    *,
    index: np.ndarray | None = None,
    beta: float | None = None,
) -> Selection:
    """Lines 8-14: class by class, the num(i) examples with the smallest score, of the training part or `index`."""
    how, rows = settings.criterion, task.train if index is None else index
    how = how if beta is None else replace(how, beta=beta)
    return select_rows(task.dataset, rows, score, noise, how, task.pins)


def learnt(task: Task, selected: np.ndarray) -> np.ndarray:
    """Of the training part, what is learnt by its label, or by which weight: selected, or corrected by hand."""
    found = task.learnt(selected)
    if not found.any():
        raise TooFewError("Nothing was selected, so there is nothing to learn from. Lower noise_rate or beta.")
    return found


def chosen(task: Task, settings: Settings, suspicion: np.ndarray, removed: np.ndarray) -> tuple[Selection, np.ndarray]:
    """The selection of a method that chooses for itself, and its score: what it removed of the training part last, by
    `suspicion`, which lies in 0..1 and is of every row."""
    rows, labels = task.train, task.dataset.labels[task.train]
    score = suspicion / 2
    score[rows] += removed
    of, gone = (np.bincount(some, minlength=task.classes) for some in (labels, labels[removed]))
    rate = np.minimum(gone, of - 1) / np.maximum(of, 1)  # of a class that is gone as a whole one is named as kept
    return choose(task, settings, NoiseModel(noise_rate=np.maximum(rate, 0)), score, beta=0.0), score


def overall_rate(task: Task, settings: Settings, noise: NoiseModel) -> float:
    """The rates of the observed classes, weighted by how many examples carry each label."""
    quota = choose(task, settings, noise, np.zeros(len(task.dataset))).quota
    return float(np.average(quota.noise_rate, weights=quota.n))


def retrain(task: Task, settings: Settings, examples: np.ndarray, name: str = "rsl") -> Fitted:
    """Line 15: a fresh network on the examples alone."""
    return fit(
        task, Plain(task, name, examples, settings.recipe("rsl"), settings.last_net, recipe_name="rsl", chosen=True)
    )


def retrain_relabelled(task: Task, settings: Settings, wrong: np.ndarray, suggested: np.ndarray) -> Learned:
    """A fresh network on all examples, the wrong ones under the class suggested, if nobody has answered for them."""
    recipe, net = settings.recipe("rsl"), settings.last_net
    objective = Plain(task, RELABELLED, task.train, recipe, net, recipe_name="rsl", chosen=True)
    free = ~np.isin(wrong, list(task.pins))
    objective.targets = task.targets.clone()
    objective.targets[torch.from_numpy(wrong[free])] = torch.from_numpy(suggested[free]).to(task.targets)
    return Learned(RELABELLED, fit(task, objective))
