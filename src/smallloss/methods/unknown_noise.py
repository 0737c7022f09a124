"""When nobody knows the noise rates: estimate them from predictions out of sample, and say how sure."""

from dataclasses import replace

from smallloss.engine.task import Task
from smallloss.methods.cross import out_of_sample
from smallloss.methods.settings import Settings
from smallloss.methods.small_loss import warm_up
from smallloss.noise.estimate import count
from smallloss.noise.model import NoiseModel
from smallloss.noise.probabilities import matrices_of


def learn_noise(task: Task, settings: Settings, given: NoiseModel | None = None) -> NoiseModel:
    """Rates, prior and intervals of all labels, held out or not; classes are balanced towards a prior given."""
    warm_up(task, settings)
    probabilities = out_of_sample(task, settings)
    found = count(matrices_of(probabilities), task.dataset.labels, list(task.dataset.classes))
    return replace((given or NoiseModel()).beside(found), probabilities=probabilities)
