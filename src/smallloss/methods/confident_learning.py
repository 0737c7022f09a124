"""Confident learning (Northcutt et al., JAIR 2021): cleanlab's default rule removes, cross entropy learns the rest."""

import numpy as np

from smallloss.engine.task import Task
from smallloss.methods.cross import half_work, out_of_sample
from smallloss.methods.settings import CPU, FAST, PAPER, Settings
from smallloss.methods.small_loss import Learned, chosen, retrain
from smallloss.noise.confident import label_issues
from smallloss.noise.model import NoiseModel

NAME = "Confident learning"
RECIPES = {"paper": {"rsl": PAPER}, "fast": {"rsl": FAST}, "cpu": {"rsl": CPU}}  # what is left is learnt as RSL does
NEEDS = None  # it counts its own rates
COSTS = "two trainings on a half each, and one on what was kept"


def work(settings: Settings) -> dict[str, float]:
    return {**half_work(settings), "confident_learning": settings.recipe("rsl").epochs}


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Predictions out of sample by two half-trainings; the confident joint says how many to remove of each label."""
    rows, labels = task.train, task.dataset.labels
    probabilities = np.asarray(np.nanmean(out_of_sample(task, settings), axis=0, dtype=np.float64))
    issue = label_issues(probabilities[rows], labels[rows])
    selection, score = chosen(task, settings, 1 - probabilities[np.arange(len(labels)), labels], issue)
    fitted = retrain(task, settings, rows[task.learnt(selection.mask)], "confident_learning")
    halves = task.finished["half0"], task.finished["half1"]
    return Learned("confident_learning", fitted, selection, score, "predictions out of sample", halves)
