"""Confident learning (Northcutt et al., JAIR 2021): cleanlab's default rule removes, cross entropy learns the rest."""

import numpy as np

from smallloss.engine.stage import Stage
from smallloss.engine.task import Task
from smallloss.methods.out_of_sample import out_of_sample
from smallloss.methods.settings import CPU, FAST, PAPER, Settings
from smallloss.methods.small_loss import Learned, Noise, choose, new_network, warm_up
from smallloss.methods.supervised import Supervised
from smallloss.noise.confident import label_issues

NAME = "Confident learning"
RECIPES = {"paper": {"rsl": PAPER}, "fast": {"rsl": FAST}, "cpu": {"rsl": CPU}}  # what is left is learnt as RSL does
NEEDS = None  # it counts its own rates


def train(task: Task, settings: Settings, noise: Noise) -> Learned:
    """Predictions out of sample by two half-trainings; the confident joint says how many to remove of each label."""
    rows, labels = task.train, task.dataset.labels
    probabilities = np.asarray(np.nanmean(out_of_sample(task, settings), axis=0, dtype=np.float64))
    issue = label_issues(probabilities[rows], labels[rows])
    score = (1 - probabilities[np.arange(len(labels)), labels]) / 2
    score[rows] += issue  # whatever is removed comes last
    removed, of = (np.bincount(some, minlength=task.classes) for some in (labels[rows][issue], labels[rows]))
    selection = choose(task, settings, Noise(removed / np.maximum(of, 1)), score, beta=0.0)
    kept = rows[task.learnt(selection.mask)]
    objective = Supervised(task, "confident_learning", kept, settings.recipe("rsl"), recipe_name="rsl")
    module = new_network(task, settings.last_net, "confident_learning")
    fitted = Stage(task, "confident_learning", objective, settings.recipe("rsl"), [module]).fit()
    stages = {name: task.finished[name] for name in ("half0", "half1")} | {"confident_learning": fitted}
    ledger = warm_up(task, settings).ledger  # plain training's, which is not this method's own cost
    evidence = "predictions out of sample"
    return Learned("confident_learning", settings.last_net, fitted, selection, score, evidence, ledger, stages)
