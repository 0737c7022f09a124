"""What a recipe says reaches the steps: rates, weight averages, BatchNorm, optimisers, views."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from smallloss.engine.networks import Network, batchnorms
from smallloss.engine.objective import Batch
from smallloss.engine.recipe import Recipe
from smallloss.engine.schedule import learning_rates
from smallloss.engine.stage import Stage
from smallloss.engine.views import PLAIN, Inputs
from smallloss.errors import InputError
from smallloss.methods.supervised import Supervised
from smallloss.models.quick_convnet import QuickConvNet, whitening_filters

RECIPE = Recipe(epochs=4, batch=32, lr=0.1, schedule="constant", pad=1, crop_offsets=3)  # of 80: 3 steps an epoch


class All(Supervised):
    """Every network learns the same; `teachers` are remembered."""

    def __init__(self, *given: Any, nets: Sequence[nn.Module]) -> None:
        super().__init__(*given, None)
        self.given, self.networks = nets, len(nets)

    def modules(self) -> list[nn.Module]:
        return list(self.given)

    def loss(self, nets: Sequence[Network], batch: Batch) -> Tensor:
        self.teachers = [net.teacher for net in nets]
        return torch.stack([cross_entropy(net(batch.x), batch.y) for net in nets]).sum()


def build(task: Any, recipe: Recipe, *nets: nn.Module) -> Stage:
    return Stage(task, All(task, "stage", task.train, recipe, nets=nets))


def after_each_step(stage: Stage, look: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `look` sees once the optimiser has stepped."""
    seen: list[Any] = []
    optimiser = stage.stepper.optimisers["optimiser"]
    step = optimiser.step

    def watched() -> None:
        step()
        seen.append(look())

    monkeypatch.setattr(optimiser, "step", watched)
    return seen


def rates(recipe: Recipe) -> np.ndarray:
    """Of all 4 epochs of 3 steps, as one stage."""
    return np.concatenate([learning_rates(recipe, epoch, 3) for epoch in range(4)])


def weights(network: Network) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in network.module.parameters()])


def buffers(network: Network) -> Tensor:
    return torch.cat([buffer.double().flatten() for buffer in network.module.buffers()])


# --- rates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [{"schedule": "multistep", "milestones": (0.25, 0.7), "factor": 0.4, "warmup_steps": 5}, {"schedule": "cosine"}],
)
def test_every_step_has_the_rate_that_the_recipe_says(changes, make_task, make_net, monkeypatch):
    recipe = replace(RECIPE, **changes)
    stage = build(make_task(), recipe, make_net())
    groups = stage.stepper.optimisers["optimiser"].param_groups
    seen = after_each_step(stage, lambda: {float(group["lr"]) for group in groups}, monkeypatch)
    stage.fit()
    by_hand = rates(recipe)
    assert seen == [{float(rate)} for rate in by_hand]
    assert len(set(by_hand.tolist())) > 4


def test_the_rate_of_a_step_counts_for_that_step(make_task, make_net, monkeypatch):
    """Without momentum and decay, what a step does to the weights is the rate times the gradient."""
    recipe = replace(RECIPE, momentum=0.0, weight_decay=0.0, schedule="cosine")
    stage = build(make_task(), recipe, make_net())
    (network,) = stage.networks
    before = weights(network)

    def look() -> tuple[Tensor, Tensor]:
        return weights(network), torch.cat([p.grad.flatten() for p in network.module.parameters()])

    seen = after_each_step(stage, look, monkeypatch)
    stage.fit()
    for rate, (after, gradient) in zip(rates(recipe), seen, strict=True):
        torch.testing.assert_close(after, before - float(rate) * gradient)
        before = after


# --- what a step sees -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows, batch, keep, plans",
    [
        (80, 32, True, [(2, 32), (1, 16)]),
        (80, 32, False, [(2, 32)]),
        (65, 32, True, [(2, 32)]),  # BatchNorm cannot learn from one
        (80, 1000, False, [(1, 80)]),
    ],
)
def test_the_batches_of_an_epoch(rows, batch, keep, plans, make_task, make_net):
    task, recipe = make_task(), replace(RECIPE, epochs=2, batch=batch, keep_short_batch=keep)
    objective = Supervised(task, "stage", task.train[:rows], recipe, make_net())
    assert [plan.views["labeled"].index.shape for plan in objective.plan(0)] == plans
    stage, steps = Stage(task, objective), sum(number for number, _ in plans)
    assert [row["steps"] for row in stage.fit().history] == [steps] * 2
    assert int(stage.stepper.clock) == 2 * steps


def test_nothing_to_learn_from_is_a_sentence(make_task):
    with pytest.raises(InputError, match="0 examples to learn from"):
        Supervised(make_task(), "rsl", np.array([], dtype=np.int64), RECIPE, None)


def test_each_epoch_sees_every_training_row_once_and_no_held_out_row(make_task):
    task = make_task()
    assert task.held_out.tolist() == list(range(80, 96))
    objective = Supervised(task, "stage", task.train, RECIPE, None)
    orders = []
    for epoch in range(3):
        seen = torch.cat([plan.views["labeled"].index.flatten() for plan in objective.plan(epoch)])
        assert sorted(seen.tolist()) == task.train.tolist()
        orders.append(seen.tolist())
    assert all(a != b for a, b in pairwise(orders))


# --- weight averages -----------------------------------------------------------------------------------------


def test_every_average_follows_its_network_step_by_step(make_task, make_net, monkeypatch):
    """v̄ ← v̄ + f (v − v̄) after each step, f = max(9 / (10 + t), 1 − decay), t counted over all epochs: here 1 − decay
    takes over in the fourth one."""
    stage = build(make_task(), replace(RECIPE, ema=0.5, ema_warmup=True), make_net(), make_net(seed=1))
    expected = [weights(network) for network in stage.networks]
    seen = after_each_step(stage, lambda: [weights(network) for network in stage.networks], monkeypatch)
    stage.fit()
    assert len(seen) == 12
    for t, live in enumerate(seen):
        factor = max(9 / (10 + t), 0.5)
        expected = [average + factor * (new - average) for average, new in zip(expected, live, strict=True)]
    assert len(stage.averages) == 2
    for average, by_hand in zip(stage.averages, expected, strict=True):
        torch.testing.assert_close(weights(average.network), by_hand)


@pytest.mark.parametrize("ema", [None, 0.9])
def test_teachers_are_the_weight_averages_where_there_are_any(ema, make_task, make_net):
    stage = build(make_task(), replace(RECIPE, epochs=1, ema=ema), make_net(), make_net(seed=1))
    stage.fit()
    expected = stage.networks if ema is None else [average.network for average in stage.averages]
    assert [id(teacher) for teacher in stage.objective.teachers] == [id(network) for network in expected]


@pytest.mark.parametrize("how", ["copy", "recompute"])
def test_statistics_of_an_average_are_copied_or_taken_afresh(how, make_task, make_net):
    """Afresh means over all that is learnt from (80 rows, one batch of at most 256), not a running mean."""
    stage = build(make_task(), replace(RECIPE, ema=0.5, ema_batchnorm=how), make_net())
    stage.fit()
    (average,), (network,) = stage.averages, stage.networks
    assert torch.equal(buffers(average.network), buffers(network)) == (how == "copy")
    counted = [int(norm.num_batches_tracked) for norm in batchnorms(average.network.module)]
    assert counted == [12 if how == "copy" else 1] * 3


def test_every_network_is_looked_ahead_of(make_task, make_net):
    """After the very last step the weights are their average: a network trained on alone would be another."""
    stage = build(make_task(), replace(RECIPE, lookahead=2), make_net(), make_net(seed=1))
    stage.fit()
    for network, ahead in zip(stage.networks, stage.lookaheads, strict=True):
        state = network.state()
        assert all(torch.equal(state[name], average) for name, average in ahead.average.items())


# --- the first layer of some, and mirror images ------------------------------------------------------------------


@pytest.mark.parametrize("path", ["resident", "streaming"])
def test_a_whitening_layer_is_that_of_what_is_learnt_from(path, make_task):
    """As it is seen plainly: not of what is held out. The average has it too."""
    task = make_task(path=path)
    net = QuickConvNet(3, (3, 8, 8), (4,))
    stage = build(task, replace(RECIPE, ema=0.9), net)
    inputs = Inputs(task.dataset, task.device, PLAIN, resident=True)
    expected = whitening_filters(inputs.see(inputs.plain(task.train)))
    for module in (net, stage.averages[0].network.module):
        torch.testing.assert_close(module.filters, expected)


@pytest.mark.parametrize("flip", [True, False])
def test_mirror_images_are_judged_where_pictures_are_mirrored(flip, make_task, make_net, tiny):
    """The mean of both predictions, as they are trained and as they are left."""
    task = make_task(dataset=replace(tiny, flip=flip))
    stage = build(task, replace(RECIPE, mirror=True), make_net())
    rows, (network,) = np.arange(5), stage.networks
    x = stage.inputs.see(stage.inputs.plain(rows))
    network.module.eval()
    plain, mirrored = (network(seen).softmax(1).detach() for seen in (x, x.flip(3)))
    torch.testing.assert_close(stage.probabilities(rows), (plain + mirrored) / 2 if flip else plain)
    torch.testing.assert_close(stage.fit().network.module(x).softmax(1), stage.probabilities(rows))


# --- BatchNorm -----------------------------------------------------------------------------------------------


def test_batchnorm_forgets_as_fast_as_the_recipe_says(make_task, make_net):
    """From 0, one step leaves the momentum times the mean of its batch."""
    means = []
    for momentum in (0.1, 0.4):
        stage = build(make_task(), replace(RECIPE, epochs=1, batch=80, batchnorm_momentum=momentum), make_net())
        stage.fit()
        means.append(batchnorms(stage.network.module)[0].running_mean)
    assert means[0].abs().max() > 0
    torch.testing.assert_close(means[1], 4 * means[0])


# --- views and where inputs live -----------------------------------------------------------------------------


@pytest.mark.parametrize("scoring, same", [("plain", True), ("augmented", False)])
def test_augmented_scoring_takes_another_crop_every_epoch(scoring, same, make_task, make_net):
    """The network is the same both times: only the view can differ."""
    stage = build(make_task(), replace(RECIPE, scoring=scoring), make_net())
    first, second = (stage.score(epoch, np.arange(96)).loss for epoch in (0, 1))
    assert torch.equal(first, second) == same


def test_a_memory_map_stays_on_the_disk(make_task, tiny, tmp_path):
    """On a CPU what is in memory is held there anyway; of what is not, only a batch at a time."""
    np.save(tmp_path / "pictures.npy", tiny.inputs)
    mapped = replace(tiny, inputs=np.load(tmp_path / "pictures.npy", mmap_mode="r"))
    assert make_task(dataset=tiny).resident()
    assert not make_task(dataset=mapped).resident()
    assert make_task(dataset=mapped, path="resident").resident()
