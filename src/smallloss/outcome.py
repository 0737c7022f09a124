"""What a run found, from what its methods learnt: the parts and the accuracies."""

import numpy as np

from smallloss.criterion.selection import Selection
from smallloss.learning.inference import outputs
from smallloss.learning.stage import Fitted
from smallloss.learning.task import Task
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Learned, Noise, choose
from smallloss.methods.unknown_noise import NoiseFound
from smallloss.models.ensemble import Ensemble
from smallloss.noise.accuracy import without_answers
from smallloss.report.result import Accuracy, Part
from smallloss.run_files import net_name

Known = tuple[np.ndarray, np.ndarray | None, float | None, np.ndarray | None]  # as `without_answers` takes it


def judge_by_stage1(baseline: Learned, settings: Settings) -> Learned:
    """A method that keeps no ledger of its own is judged beside plain cross entropy's."""
    assert baseline.ledger is not None
    baseline.score = baseline.ledger.score(settings.score)
    baseline.evidence = f"{settings.score_in_words} over stage 1"
    return baseline


def parts_of(task: Task, settings: Settings, noise: Noise, evidence: Learned) -> list[Part]:
    """The training part as the method selected it; the held-out part ranked among itself, out of sample."""
    assert evidence.score is not None
    score = evidence.score
    train = evidence.selection or choose(task, settings, noise, score, beta=evidence.beta)
    parts = [Part("train", task.train, train)]
    if len(task.held_out):
        # Rates and prior as the training part had them: of a small class perhaps nobody is held out.
        names, quota = train.classes.tolist(), train.quota
        prior = None if quota.prior is None else dict(zip(names, quota.prior.tolist(), strict=True))
        known = Noise(dict(zip(names, quota.noise_rate.tolist(), strict=True)), prior=prior, upper=noise.upper)
        apart = choose(task, settings, known, score, index=task.held_out, beta=evidence.beta)
        parts.append(Part("held out", task.held_out, apart))
    return parts


def accuracy_of(task: Task, name: str, learned: Learned, noise: Known | None = None) -> Accuracy:
    """`noise` is that of the labels, where accuracy is taken by labels that may be wrong."""
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
        name, best, fitted.last[on], fitted.seconds, predicted == at.labels, f"{several}{net_name(learned.net)}", ten
    )
    found.agrees = agrees
    if noise is not None and on == "validation" and task.dataset.true_labels is None:
        found.true = without_answers(task.dataset.labels[at.index], predicted, *noise)
    return found


def noise_of(train: Selection, noise: Noise, found: NoiseFound | None) -> Known:
    """Of all labels: the rates, how the wrong ones are spread, and the ends of the overall rate that are known."""
    rates, classes = np.asarray(train.quota.noise_rate, np.float64), len(train.classes)
    if found is not None:
        joint = found.estimate.prior[:, None] * found.estimate.transition
        return rates, joint, found.estimate.overall[1], None
    given = train.quota.prior
    prior = np.bincount(train.class_index, minlength=classes) / len(train.class_index) if given is None else given
    spread = None if noise.transition is None else prior[:, None] * noise.transition
    return rates, spread, None, None if noise.upper is None else np.fmax(noise.upper, rates)


def stages_of(everything: dict[str, Learned]) -> dict[str, Fitted]:
    return {name: stage for learned in everything.values() for name, stage in learned.stages.items()}
