"""What a run found, from what its methods learnt: the parts and the accuracies."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from smallloss import methods
from smallloss.criterion.selection import Selection
from smallloss.engine.inference import outputs
from smallloss.engine.stage import Fitted
from smallloss.engine.task import Task
from smallloss.methods.settings import Settings
from smallloss.methods.small_loss import Learned, choose
from smallloss.models.ensemble import Ensemble
from smallloss.noise.accuracy import TrueAccuracy, without_answers
from smallloss.noise.model import NoiseModel
from smallloss.record import judge as judging
from smallloss.record.examples import Part
from smallloss.record.run import Accuracy
from smallloss.run.files import net_name

ByTrueLabels = Callable[[np.ndarray, np.ndarray], TrueAccuracy | None]  # of rows and their predictions


def judge_by_stage1(baseline: Learned, settings: Settings) -> Learned:
    """A method that keeps no ledger of its own is judged beside plain cross entropy's."""
    assert baseline.ledger is not None
    baseline.score = baseline.ledger.score(settings.criterion.score)
    baseline.evidence = f"{settings.criterion.score_in_words} over stage 1"
    return baseline


def parts_of(task: Task, settings: Settings, noise: NoiseModel, learned: Learned) -> list[Part]:
    """The training part as the method selected it; the held-out part ranked among itself, out of sample."""
    assert learned.score is not None
    train = learned.selection or choose(task, settings, noise, learned.score, beta=learned.beta)
    how = settings.criterion if learned.beta is None else replace(settings.criterion, beta=learned.beta)
    return judging.parts_of(task.dataset, task.train, train, learned.score, noise, how, task.pins)


def accuracy_of(task: Task, name: str, learned: Learned, true: ByTrueLabels | None = None) -> Accuracy:
    on = "test" if "test" in task.checks else "validation"
    fitted, at = learned.fitted, task.checks[on]
    predicted = outputs(task, fitted.network, at.dataset, at.index).argmax(1)
    validated, agrees = task.checks.get("validation"), None
    if validated is not None:
        same = validated.dataset is at.dataset and np.array_equal(validated.index, at.index)
        seen = predicted if same else outputs(task, fitted.network, validated.dataset, validated.index).argmax(1)
        agrees = seen == validated.labels
    best, ten = (fitted.best[on], None) if validated else (None, fitted.mean_of_last_ten(on))
    judges = fitted.network.module
    several = f"{len(judges.members)} x " if isinstance(judges, Ensemble) else ""
    found = Accuracy(
        name, best, fitted.last[on], fitted.seconds, predicted == at.labels, f"{several}{net_name(learned.net)}", ten,
        agrees, called=methods.called(name),
    )  # fmt: skip
    if true is not None and on == "validation":
        found.true = true(at.index, predicted)
    return found


def by_true_labels(task: Task, train: Selection, noise: NoiseModel) -> ByTrueLabels:
    """An estimate, by what is known of the noise; none where the truth is known, or nothing is told."""
    more: dict[str, Any]
    rates, classes = np.asarray(train.quota.noise_rate, np.float64), len(train.classes)
    if noise.is_estimated:
        assert noise.overall is not None
        joint, more = noise.joint(), {"low": noise.overall[1]}
    else:
        share = np.bincount(train.class_index, minlength=classes) / len(train.class_index)
        joint = noise.joint(share if train.quota.prior is None else train.quota.prior)
        more = {"upper": None if noise.upper is None else np.fmax(noise.upper, rates)}

    def estimate(rows: np.ndarray, predicted: np.ndarray) -> TrueAccuracy | None:
        if task.dataset.true_labels is not None or noise.tells_nothing:
            return None
        halves = None if noise.probabilities is None else noise.probabilities[:, rows].argmax(2)
        return without_answers(task.dataset.labels[rows], predicted, rates, joint, halves=halves, **more)

    return estimate


def stages_of(everything: dict[str, Learned]) -> dict[str, Fitted]:
    return {name: stage for learned in everything.values() for name, stage in learned.stages.items()}
