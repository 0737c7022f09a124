"""RSL in flight: RSL's selection, then one network on all examples, which labels the others itself as it learns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from smallloss.criterion.selection import Selection
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch
from smallloss.engine.stage import Stage, fit
from smallloss.engine.task import Task
from smallloss.knobs import Knobs, knob
from smallloss.methods.mixmatch import sharpen
from smallloss.methods.settings import CPU, FAST, PAPER, QUICK, Settings
from smallloss.methods.small_loss import Learned, choose, learnt, rank, warm_up
from smallloss.methods.supervised import OfMethod
from smallloss.noise.model import NoiseModel
from smallloss.words import counted

NAME = "RSL in flight"
NEEDS = "noise rate"
COSTS = "plain training, and a longer one on all examples"
RECIPES = {
    "paper": replace(PAPER, label_smoothing=0.1, strong=True),
    "fast": replace(FAST, label_smoothing=0.1, padding="reflect", strong=True),
    "cpu": CPU,
}
_WIDE = replace(QUICK, epochs=92, label_smoothing=0.1, cutout=0.5, strong=True)  # 4,000 steps of 45,000 pictures
NETS = {"fast": ("quick-convnet:192-512-768", _WIDE)}
_LEAST = 1e-30  # of a probability, so that a logarithm is a number


@dataclass(frozen=True)
class Own(Knobs):
    """How the network's own predictions become labels."""

    temperature: float = knob(0.5, "Lower sharpens its own predictions more.", above=0)
    begin: float = knob(0.1, "Share of the stage after which its own predictions are first taken.", least=0, most=1)
    memory: float = knob(0.8, "How much of the running mean of its predictions stays after an epoch.", least=0, below=1)
    look_every: int = knob(5, "Epochs between two selections.", least=1)
    second_beta: float = knob(0.05, "`beta` of the selections on the way.", least=0, most=1)

    def looks(self, epochs: int) -> range:
        """The epochs after which predictions are taken."""
        return range(min(max(0, round(self.begin * epochs) - 1), epochs - 1), epochs)


OWN = {"cpu": Own(begin=0.5)}  # a small network is unformed for longer


class InFlight(OfMethod):
    """Kept examples learn their label, the others q̄, the running mean of what the network says of them, sharpened; by
    the square of its largest probability, and by nothing until there is one."""

    def __init__(
        self, task: Task, settings: Settings, selection: Selection, look_again: Callable[[np.ndarray], Selection]
    ) -> None:
        super().__init__(task, settings, "rsl_flight", net=settings.net_of("rsl_flight"))
        self.looks, self.look_again = self.own.looks(self.recipe.epochs), look_again
        self.mean = torch.zeros(len(task.dataset), task.classes, device=task.device)
        self.kept = torch.zeros(len(task.dataset), dtype=torch.bool, device=task.device)
        self._keep(selection)

    def buffers(self) -> dict[str, Tensor]:
        return {"mean": self.mean, "kept": self.kept}

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        """Σ w H(t, g(x)) / B: t = ỹ and w = 1 where kept, else t = sharpen(q̄) and w = (max q̄)²."""
        logits, mean, kept = nets[0](batch.x), self.mean[batch.index], self.kept[batch.index]
        own = self.cross_entropy(logits, sharpen(mean.clamp(min=_LEAST), self.own.temperature))
        given = self.cross_entropy(logits, batch.y)
        return batch.mean(torch.where(kept, given, mean.amax(1).square() * own))

    def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
        """q̄ ← memory q̄ + (1 − memory) g(x), of the picture and its mirror image; now and then a new selection by it."""
        if epoch not in self.looks:
            return {}
        said = stage.probabilities(np.arange(len(self.mean)), mirror=True)
        begun = epoch > self.looks.start
        self.mean.copy_(self.own.memory * self.mean + (1 - self.own.memory) * said if begun else said)
        if begun and (epoch - self.looks.start) % self.own.look_every == 0 and epoch < self.looks[-1]:
            self._keep(self.look_again(self.score()))
        return {"selected": float(self.kept.sum())}

    def score(self) -> np.ndarray:
        """−log q̄ of each label: the loss of that mean."""
        given = self.mean.gather(1, self.task.labels[:, None])[:, 0]
        return -given.double().clamp(min=_LEAST).log().cpu().numpy()

    def _keep(self, selection: Selection) -> None:
        self.kept[self.examples] = torch.from_numpy(learnt(self.task, selection.mask)).to(self.kept.device)


def train(task: Task, settings: Settings, noise: NoiseModel) -> Learned:
    """Algorithm 1 up to its last line; then all examples, with labels of two kinds."""
    own = settings.own["rsl_flight"]
    stage1 = warm_up(task, settings)
    score, _ = rank(stage1, settings)

    def look_again(score: np.ndarray) -> Selection:
        return choose(task, settings, noise, score, beta=own.second_beta)

    objective = InFlight(task, settings, choose(task, settings, noise, score), look_again)
    final = fit(task, objective)
    score = objective.score()
    selection, kept = look_again(score), int(objective.kept.sum())
    note = (
        f"At the end {kept:,} of {counted(len(task.train), 'training example')} were learnt with the label given, the "
        "others with what the network itself had come to say of them."
    )
    told = replace(selection, notes=(*selection.notes, note))
    evidence = "loss of the mean prediction while learning from what was kept"
    return Learned("rsl_flight", final, told, score, evidence, (stage1,), own.second_beta)
