"""The one training loop. A method supplies an objective; everything else happens here."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from smallloss.criterion.ledger import LossLedger
from smallloss.data.dataset import Dataset
from smallloss.engine import checkpoint, device
from smallloss.engine.device import StepLimits, less_data, room
from smallloss.engine.networks import (
    Lookahead,
    Network,
    WeightAverage,
    ensemble,
    may_draw,
    optimiser_tensors,
    recompute_batchnorm,
    set_batchnorm_momentum,
)
from smallloss.engine.objective import Objective
from smallloss.engine.recipe import Recipe
from smallloss.engine.scoring import Scores, features, predict, probabilities, score
from smallloss.engine.stepper import Stepper
from smallloss.engine.task import Check, Task
from smallloss.engine.views import Inputs, draw_views
from smallloss.errors import InputError
from smallloss.models.quick_convnet import QuickConvNet
from smallloss.words import percent, stage_words

_FRESH_STATISTICS_BATCHES = 32
_WHITENED_PIXELS = 5_000_000  # as many pictures as have that many: 4,882 of 32 x 32
_MANY, _FIVE = 50, 5  # classes, from which on also the five most probable are looked at
_TEN = 10  # last epochs, whose mean accuracy is reported where nothing validates


@dataclass
class Fitted:
    """What a stage leaves behind: the network to use, its curve, and the ledger if one was kept."""

    name: str
    net: Any  # what the network was made of
    network: Network
    history: list[dict[str, Any]]
    ledger: LossLedger | None
    recipe: Recipe

    @property
    def best(self) -> dict[str, Any]:
        """The row of the epoch with the best validation accuracy; the last one where nothing validates."""
        rows = [row for row in self.history if "validation" in row]
        if not rows:
            return self.history[-1]
        ordered = rows if self.recipe.ties == "earlier" else rows[::-1]
        return max(ordered, key=lambda row: row["validation"])

    @property
    def last(self) -> dict[str, Any]:
        return self.history[-1]

    def mean_of_last_ten(self, on: str) -> float | None:
        """The mean accuracy after each of the last ten epochs; None where there were fewer, or some without one."""
        shares = [row[on] for row in self.history[-_TEN:] if on in row]
        return float(np.mean(shares)) if len(shares) == _TEN else None

    @property
    def seconds(self) -> float:
        return float(sum(row["seconds"] for row in self.history))


class Stage:
    """One objective trained by its recipe, resumable at every epoch end.

    After the epochs in `record` the network is made ready to be asked, and scores go into the ledger, if one is given:
    all epochs then, else those that the objective looks at, if not told otherwise. `network` is the one to judge by:
    the weight average where there is one, an ensemble where several judge together.
    """

    def __init__(
        self, task: Task, objective: Objective, *, ledger: LossLedger | None = None, record: range | None = None
    ) -> None:
        self.task, self.objective, self.ledger = task, objective, ledger
        self.name, self.recipe = objective.name, objective.recipe
        recipe, modules = self.recipe, objective.modules()
        half = recipe.precision == "bf16"
        device.prepare(task.device, deterministic=task.deterministic, exact=not half)
        self._random = any(may_draw(module) for module in modules)
        with room(f"holding the data and the network of {stage_words(self.name)}", less_data(resident=task.resident())):
            self.inputs = task.inputs(task.dataset, objective.augmentation)
            for module in modules:
                set_batchnorm_momentum(module, recipe.batchnorm_momentum)
                self._whiten(module)
            compiled = recipe.compile and task.device.type == "cuda"
            self.networks = [Network(module, task.device, compiled=compiled, half=half) for module in modules]
            judges = self.networks[: objective.networks]
            self.averages = [] if recipe.ema is None else [
                WeightAverage(network, recipe.ema, warmup=recipe.ema_warmup, compiled=compiled) for network in judges
            ]  # fmt: skip
            self.lookaheads = [] if recipe.lookahead is None else [Lookahead(network) for network in self.networks]
            self.stepper = Stepper(
                objective, self.networks, self.averages, self.inputs, lookaheads=self.lookaheads, random=self._random
            )
        self.judges = [network.teacher for network in judges]
        speaking = self.judges if objective.judges == "mean" else self.judges[:1]
        self.network = ensemble(speaking, mirror=recipe.mirror and task.dataset.flip)
        usual = objective.looks if ledger is None else range(recipe.epochs)
        self.record = usual if record is None else record
        self.history: list[dict[str, Any]] = []
        self._limits = StepLimits(
            self.name, objective.recipe_name, recipe, None if task.folder is None else task.folder.path
        )
        self._check_inputs: dict[int, Inputs] = {}
        self._saved_at = 0.0

    def _whiten(self, module: nn.Module) -> None:
        """Some networks take their first layer from what is learnt from, as it is seen; its labels do not count."""
        if not isinstance(module, QuickConvNet):
            return
        train, some = self.task.train, max(2, _WHITENED_PIXELS // int(np.prod(self.inputs.size)))
        drawn = self.task.draws.permutations("whitening", [0], len(train))[0][:some].cpu().numpy()
        views = self.inputs.plain(np.sort(train[drawn]))
        module.whiten(next(self.inputs.stream([views])))

    def fit(self) -> Fitted:
        """Train to the last epoch, from the last checkpoint if there is one."""
        start = self._resume()
        if self.ledger is not None:
            self.ledger.curves.start = self.record.start
        self.task.progress.stage(stage_words(self.name), self.recipe.epochs, start)
        self._saved_at = time.perf_counter()
        for epoch in range(start, self.recipe.epochs):
            with self.task.draws.by_modules(f"{self.name}/epoch/{epoch}", on_device=self._random):
                self._epoch(epoch)
        for module in [*self._modules(), self.network.module]:
            module.eval()
        return Fitted(self.name, self.objective.net, self.network, self.history, self.ledger, self.recipe)

    def _epoch(self, epoch: int) -> None:
        begun = time.perf_counter()
        row: dict[str, Any] = {"stage": self.name, "epoch": epoch, **self._train(epoch)}
        row["train_seconds"] = time.perf_counter() - begun
        with room(f"while {stage_words(self.name)} was scored", less_data(resident=self.inputs.resident)):
            row |= self._judge(epoch)
        row["seconds"] = time.perf_counter() - begun
        self.history.append(row)
        self._save(epoch)
        if self.task.folder is not None:
            self.task.folder.add_metrics(row)
        test = f", test {percent(row['test'])}" if "test" in row else ""
        self.task.progress.epoch(f"loss {row['loss']:.3f}{test}")

    def _train(self, epoch: int) -> dict[str, Any]:
        """The steps of an epoch."""
        for module in self._modules():
            module.train()
        self.objective.before_epoch(self, epoch)
        with self._limits.steps(len(self.task.train)):
            steps = self.stepper.epoch(epoch, self._tensors() | self.objective.buffers())
            loss = float(self.stepper.loss_sum) / max(steps, 1)
        self._limits.require_finite("loss", loss, epoch)
        # The loss of a step is taken before its weights are changed: the last change of an epoch shows in them alone.
        self._limits.require_finite("size of the weights", self._size_of_weights(), epoch)
        return {"loss": loss, "steps": steps}

    def _size_of_weights(self) -> float:
        """Their sum of squares, which overflows before the network itself does."""
        weights = [p.detach() for network in self.networks for p in network.module.parameters()]
        return float(torch.stack([weight.float().square().sum() for weight in weights]).sum())

    def _judge(self, epoch: int) -> dict[str, Any]:
        """What follows the steps: scores, accuracies, and what the method makes of them."""
        begun = time.perf_counter()
        recorded = epoch in self.record
        every = self.recipe.evaluate_every
        # The last ten one by one, but for a stage that nobody asks the accuracy of.
        least = _TEN if "validation" not in self.task.checks and every < self.recipe.epochs else 1
        evaluated = (epoch + 1) % every == 0 or epoch + least >= self.recipe.epochs
        if recorded or evaluated:
            self._refresh_average(epoch)
        row: dict[str, Any] = self._record(epoch) if recorded and self.ledger is not None else {}
        row["score_seconds"] = time.perf_counter() - begun
        if evaluated:
            for name, check in self.task.checks.items():
                row |= self._accuracies(name, check)
        return row | self.objective.after_epoch(self, epoch)

    def _modules(self) -> list[nn.Module]:
        return [network.module for network in [*self.networks, *(average.network for average in self.averages)]]

    def score(self, epoch: int, index: np.ndarray, network: int | None = None) -> Scores:
        """Scores of some rows, under the recipe's scoring view; by those who judge, or by one network of several."""
        views = self.inputs.plain(index)
        rows = views.index
        if self.recipe.scoring == "augmented" and self.inputs.pictures:
            purpose = f"{self.name}/scoring"
            views = draw_views(self.task.draws, self.objective.augmentation.weak, purpose, [epoch], rows, rows)
        judge = self.network if network is None else self.judges[network]
        return score(judge, self.inputs, views, self.task.labels[rows])

    def probabilities(self, index: np.ndarray, *, mirror: bool = False) -> Tensor:
        """The whole output for some rows, plainly viewed, by those who judge. `mirror`: the mean of that and of what is
        said of the mirror image, where pictures are mirrored."""
        judge = ensemble([self.network], mirror=mirror and self.task.dataset.flip)
        return probabilities(judge, self.inputs, self.inputs.plain(index))

    def features(self, index: np.ndarray) -> Tensor:
        """What the last layer of the first network is given of some rows, plainly viewed."""
        return features(self.judges[0], self.inputs, self.inputs.plain(index))

    def _record(self, epoch: int) -> dict[str, Any]:
        """All scores, into the ledger; and with how many of the labels it was trained on the network agrees."""
        assert self.ledger is not None
        every = np.arange(len(self.task.dataset))
        scores = self.score(epoch, every)
        self.ledger.update(every, **vars(scores))
        self.ledger.end_epoch()
        rows = torch.from_numpy(self.task.train).to(self.task.device)
        return {"train": float((scores.predicted == self.task.labels)[rows].float().mean())}

    def _refresh_average(self, epoch: int) -> None:
        """Give the weight average buffers to be judged with: those of the network, and its own BatchNorm statistics."""
        for average in self.averages:
            average.copy_buffers()
            if self.recipe.ema_batchnorm == "recompute":
                recompute_batchnorm(average.network, self._fresh_batches(epoch))

    def _fresh_batches(self, epoch: int) -> Iterator[Tensor]:
        purpose = f"{self.name}/statistics"
        train = torch.from_numpy(self.task.train).to(self.task.device)
        order = train[self.task.draws.permutations(purpose, [epoch], len(train))[0]]
        batches = [rows for rows in order.split(max(self.recipe.batch, 256)) if len(rows) > 1]
        batches = batches[:_FRESH_STATISTICS_BATCHES]
        how, draws = self.objective.augmentation, self.task.draws
        yield from self.inputs.stream([draw_views(draws, how, purpose, [epoch], rows, rows) for rows in batches])

    def _accuracies(self, name: str, check: Check) -> dict[str, float]:
        """The share that is predicted; of many classes also that of labels among the five most probable."""
        inputs = self._inputs_of(check.dataset)
        first = predict(self.network, inputs, inputs.plain(check.index), _FIVE if self.task.classes >= _MANY else 1)
        right = first.cpu().numpy() == check.labels[:, None]
        found = {name: float(right[:, 0].mean())}
        return found | ({f"{name}_top5": float(right.any(1).mean())} if right.shape[1] == _FIVE else {})

    def _inputs_of(self, dataset: Dataset) -> Inputs:
        if dataset.inputs is self.task.dataset.inputs:
            return self.inputs
        if id(dataset) not in self._check_inputs:
            self._check_inputs[id(dataset)] = self.task.inputs(dataset)
        return self._check_inputs[id(dataset)]

    def _tensors(self) -> dict[str, Tensor]:
        named = {f"network{i}": network.state() for i, network in enumerate(self.networks)}
        named |= {f"average{i}": average.network.state() for i, average in enumerate(self.averages)}
        named |= {f"lookahead{i}": one.average for i, one in enumerate(self.lookaheads)}
        named |= {name: optimiser_tensors(optimiser) for name, optimiser in self.stepper.optimisers.items()}
        return {f"{part}.{name}": tensor for part, tensors in named.items() for name, tensor in tensors.items()}

    def _saved(self) -> dict[str, Tensor]:
        return self._tensors() | {f"stepper.{name}": tensor for name, tensor in self.stepper.tensors().items()}

    def _save(self, epoch: int) -> None:
        path = self.task.checkpoint(self.name)
        last = epoch + 1 == self.recipe.epochs
        if path is None or (time.perf_counter() - self._saved_at < self.recipe.checkpoint_seconds and not last):
            return
        arrays = {f"objective.{name}": buffer.cpu().numpy() for name, buffer in self.objective.buffers().items()}
        if self.ledger is not None:
            arrays |= {f"ledger.{name}": array for name, array in self.ledger.arrays().items()}
        checkpoint.write(path, self._saved(), arrays, {"epoch": epoch, "history": self.history})
        self._saved_at = time.perf_counter()

    def _resume(self) -> int:
        path = self.task.checkpoint(self.name)
        if path is None or not path.exists():
            return 0
        stored, arrays, facts = checkpoint.read(path)
        measured = {name for row in facts["history"] for name in row.keys() & self.task.checks.keys()}
        if measured and measured != self.task.checks.keys():  # a column true_label that was not there before
            raise InputError(
                f"{path.parent.parent} holds a run that did not know the true labels of this data. Leave them out to "
                "go on with it, or name another --out."
            )
        checkpoint.load_into(self._saved(), stored, path)
        kept = {name: torch.from_numpy(array) for name, array in _part(arrays, "objective.").items()}
        checkpoint.load_into(self.objective.buffers(), kept, path)
        if self.ledger is not None:
            self.ledger = LossLedger.from_arrays(_part(arrays, "ledger."))
        self.history = facts["history"]
        return int(facts["epoch"]) + 1


def fit(task: Task, objective: Objective, *, ledger: LossLedger | None = None, record: range | None = None) -> Fitted:
    """Train an objective to the last epoch of its recipe, from the checkpoint of its name if there is one."""
    return Stage(task, objective, ledger=ledger, record=record).fit()


def _part(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
