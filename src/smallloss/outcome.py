"""What a run found, from what its methods learnt: the parts and the accuracies."""

from smallloss.learning.inference import outputs
from smallloss.learning.stage import Fitted
from smallloss.learning.task import Task
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Learned, Noise, choose
from smallloss.models.ensemble import Ensemble
from smallloss.report.result import Accuracy, Part
from smallloss.run_files import net_name


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


def accuracy_of(task: Task, name: str, learned: Learned) -> Accuracy:
    on = "test" if "test" in task.checks else "validation"
    fitted = learned.fitted
    at = task.checks[on]
    right = outputs(task, fitted.network, at.dataset, at.index).argmax(1) == at.labels
    validated = "validation" in task.checks
    best, ten = (fitted.best[on], None) if validated else (None, fitted.mean_of_last_ten(on))
    judges = fitted.network.module
    several = f"{len(judges.members)} x " if isinstance(judges, Ensemble) else ""
    return Accuracy(name, best, fitted.last[on], fitted.seconds, right, f"{several}{net_name(learned.net)}", ten)


def stages_of(everything: dict[str, Learned]) -> dict[str, Fitted]:
    return {name: stage for learned in everything.values() for name, stage in learned.stages.items()}
