"""When nobody knows the noise rates: estimate them from predictions out of sample, and say how sure."""

from dataclasses import dataclass, replace

import numpy as np

from smallloss.criterion.selection import SAFETY_LEVEL, Selection
from smallloss.learning.inference import outputs
from smallloss.learning.task import Task
from smallloss.methods.out_of_sample import out_of_sample
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Noise, warm_up
from smallloss.noise.estimate import Estimate, estimate
from smallloss.noise.verdict import Judgement, judge


@dataclass
class NoiseFound:
    """Estimated rates in the form a selection takes them, and what they stand on."""

    noise: Noise
    estimate: Estimate
    probabilities: np.ndarray  # out of sample, for every row of the dataset


def learn_noise(task: Task, settings: Settings, given: Noise | None = None) -> NoiseFound:
    """Rates, prior and intervals of the training part; a prior that was given is kept."""
    stage1 = warm_up(task, settings)
    probabilities = out_of_sample(task, settings)
    rows, labels = task.train, task.dataset.labels
    at_its_end = outputs(task, stage1.network, task.dataset, rows).argmax(1)  # whatever epochs the ledger recorded
    found = estimate(
        probabilities[rows],
        np.array(task.dataset.classes)[labels[rows]],
        classes=task.dataset.classes,
        contradicted=at_its_end != labels[rows],
        seed=task.seed,
    )
    noise = replace(given or Noise(), noise_rate=found.noise_rate, upper=found.upper(SAFETY_LEVEL))
    return NoiseFound(noise if noise.prior is not None else replace(noise, prior=found.prior), found, probabilities)


def verdict_of(noise: Noise, found: NoiseFound | None, selection: Selection) -> Judgement:
    """Before anybody has answered: what T says where it is known, what the estimate says where that is all there is."""
    return judge(
        selection, estimate=None if found is None else found.estimate, transition=None if found else noise.transition
    )
