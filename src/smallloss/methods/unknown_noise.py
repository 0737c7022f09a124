"""When nobody knows the noise rates: estimate them from predictions out of sample, and say how sure."""

from dataclasses import dataclass, replace

import numpy as np

from smallloss.criterion.selection import Selection
from smallloss.engine.task import Task
from smallloss.methods.cross import out_of_sample
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Noise, warm_up
from smallloss.noise.answers import PROMISE
from smallloss.noise.estimate import Estimate, estimate
from smallloss.noise.verdict import Judgement, judge


@dataclass
class NoiseFound:
    """Estimated rates in the form a selection takes them, and what they stand on."""

    noise: Noise
    estimate: Estimate
    probabilities: np.ndarray  # out of sample, (networks, rows of the dataset, classes); NaN where a network learnt it


def learn_noise(task: Task, settings: Settings, given: Noise | None = None) -> NoiseFound:
    """Rates, prior and intervals of all labels, held out or not; a prior that was given is kept."""
    warm_up(task, settings)
    probabilities, data = out_of_sample(task, settings), task.dataset
    found = estimate(probabilities, np.array(data.classes)[data.labels], classes=data.classes)
    noise = replace(given or Noise(), noise_rate=found.noise_rate, upper=found.upper)
    return NoiseFound(noise if noise.prior is not None else replace(noise, prior=found.prior), found, probabilities)


def verdict_of(noise: Noise, found: NoiseFound | None, selection: Selection, promise: float = PROMISE) -> Judgement:
    """Before anybody has answered: what T says where it is known, what the estimate says where that is all there is."""
    estimated, T = (None, noise.transition) if found is None else (found.estimate, None)
    return judge(selection, estimate=estimated, transition=T, promise=promise)
