"""RSL (Gui, Wang, Tian, IJCAI 2021): the reformalised small-loss criterion, Algorithm 1."""

from smallloss.engine.task import Task
from smallloss.methods.settings import CPU, FAST, PAPER, Settings
from smallloss.methods.small_loss import Learned, choose, rank, retrain, warm_up
from smallloss.noise.model import NoiseModel

NAME = "RSL"
NEEDS = "noise rate"
COSTS = "plain training, and one more on what was kept"
RECIPES = {"paper": PAPER, "fast": FAST, "cpu": CPU}


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Algorithm 1, whole."""
    stage1 = warm_up(task, settings)  # lines 1-7
    score, evidence = rank(stage1, settings)
    selection = choose(task, settings, noise, score)  # lines 8-14
    final = retrain(task, settings, task.train[task.learnt(selection.mask)])  # line 15
    return Learned("rsl", final, selection, score, evidence, (stage1,))
