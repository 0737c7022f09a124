"""Cross Entropy: no special treatment of label noise. The baseline beside everything else."""

from smallloss.engine.task import Task
from smallloss.methods.settings import Settings
from smallloss.methods.small_loss import Learned, warm_up
from smallloss.noise.model import NoiseModel

NAME = "Cross Entropy"
NEEDS = None
COSTS = "plain training"


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Stage 1 of RSL *is* plain cross entropy on the noisy labels, so the two share it."""
    return Learned("cross_entropy", warm_up(task, settings))
