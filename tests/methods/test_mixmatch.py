"""Weighted MixMatch against arithmetic done by hand."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch
from smallloss.engine.recipe import Recipe
from smallloss.errors import InputError
from smallloss.methods.mixmatch import (
    MixMatchSettings,
    WeightedMixMatch,
    guess,
    labeled_loss,
    mixup,
    sharpen,
    unlabeled_loss,
)

RECIPE = Recipe(epochs=10, batch=8, optimiser="adam", lr=0.002, schedule="constant", pad=1, crop_offsets=3)
HOW = MixMatchSettings(steps_per_epoch=5)


def objective(task: Any, weight: np.ndarray | None = None, recipe: Recipe = RECIPE, **how: Any) -> WeightedMixMatch:
    """`weight` has one entry per training row; by default the first 50 of 80 are selected."""
    if weight is None:
        weight = np.where(np.arange(len(task.train)) < 50, 1.0, 0.0)
    selection: Any = SimpleNamespace(weight=weight)
    return WeightedMixMatch(task, "wm", weight, recipe, None, replace(HOW, **how), lambda ledger: selection)


def close(left: torch.Tensor, right: Any) -> None:
    torch.testing.assert_close(left, torch.as_tensor(right, dtype=left.dtype), rtol=1e-6, atol=1e-7)


class Logits(torch.nn.Module):
    """The inputs are the logits."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_guess_is_the_mean_prediction_over_the_views():
    network = Network(Logits(), torch.device("cpu"))
    u1 = torch.log(torch.tensor([[0.2, 0.8], [0.5, 0.5]]))
    u2 = torch.log(torch.tensor([[0.6, 0.4], [0.1, 0.9]]))
    close(guess([network], u1, u2), [[0.4, 0.6], [0.3, 0.7]])


def test_guess_passes_no_gradient_and_works_in_train_mode():
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    module.train()
    network = Network(module, torch.device("cpu"))
    guessed = guess([network], torch.randn(4, 2), torch.randn(4, 2))
    assert not guessed.requires_grad
    assert int(module[1].num_batches_tracked) == 1  # the statistics of the batch were used, and taken


def test_sharpen():
    p = torch.tensor([[0.6, 0.3, 0.1]])
    close(sharpen(p, 0.5), [[36 / 46, 9 / 46, 1 / 46]])
    close(sharpen(p, 1.0), p)
    close(sharpen(torch.full((1, 100), 0.01), 0.01), torch.full((1, 100), 0.01))  # .01^100 is 0 in any float
    close(sharpen(torch.tensor([[0.6, 0.4, 0.0]]), 0.01), [[1, 0, 0]])


def test_mixup_by_hand():
    inputs = torch.tensor([[[[10.0]]], [[[20.0]]], [[[40.0]]]])
    targets = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    mixed, labels = mixup(inputs, targets, torch.tensor([0.75, 1.0, 0.5]), torch.tensor([2, 0, 1]))
    close(mixed.flatten(), [0.75 * 10 + 0.25 * 40, 20, 0.5 * 40 + 0.5 * 20])
    close(labels, [[0.75 + 0.125, 0.125], [0, 1], [0.25, 0.75]])


def test_losses_by_hand():
    logits = torch.log(torch.tensor([[0.7, 0.2, 0.1], [0.25, 0.25, 0.5]]))
    targets = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.4, 0.6]])
    by_hand = -(math.log(0.7) + 0.4 * math.log(0.25) + 0.6 * math.log(0.5)) / 2
    assert float(labeled_loss(logits, targets).mean()) == pytest.approx(by_hand, rel=1e-6)
    squares = 0.3**2 + 0.2**2 + 0.1**2 + 0.25**2 + 0.15**2 + 0.1**2
    assert float(unlabeled_loss(logits, targets).mean()) == pytest.approx(squares / (3 * 2), rel=1e-6)


@pytest.mark.parametrize("guess_by", ["network", "average"])
def test_a_whole_step_by_hand(guess_by, make_task):
    """L = L_x + λ_u L_u on hand-made logits: the inputs of the step are the logits themselves."""
    task = make_task()
    step = objective(task, guess_by=guess_by, temperature=0.5)
    x, u1, u2 = (torch.randn(8, 3, generator=torch.Generator().manual_seed(i)) for i in range(3))
    index = {"labeled": torch.arange(8), "view_1": torch.arange(50, 58), "view_2": torch.arange(50, 58)}
    lam, partner = torch.linspace(0.5, 1, 24), torch.roll(torch.arange(24), 5)
    tables = {"lam": lam[None], "partner": partner[None], "lambda_u": torch.tensor(7.5)}

    class Doubled(Logits):
        def forward(self, z: torch.Tensor) -> torch.Tensor:
            return 2 * z

    network, teacher = (Network(module, torch.device("cpu")) for module in (Logits(), Doubled()))
    network._average = teacher
    loss = step.loss([network], Batch(index, {"labeled": x, "view_1": u1, "view_2": u2}, tables, task.targets))

    factor = 1 if guess_by == "network" else 2
    p = ((factor * u1).softmax(1) + (factor * u2).softmax(1)).numpy() / 2
    q = p**2 / (p**2).sum(1, keepdims=True)
    y = np.eye(3)[task.dataset.labels[:8]]
    z, t = torch.cat([x, u1, u2]).numpy(), np.concatenate([y, q, q])
    weight = lam.numpy()[:, None]
    z, t = weight * z + (1 - weight) * z[partner], weight * t + (1 - weight) * t[partner]
    soft = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    expected = -(t[:8] * np.log(soft[:8])).sum(1).mean() + 7.5 * ((soft[8:] - t[8:]) ** 2).mean()
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_two_networks_guess_together_and_each_learns_from_its_own_mix(make_task):
    task = make_task()
    step = objective(task, networks=2)
    x, u1, u2 = (torch.randn(8, 3, generator=torch.Generator().manual_seed(i)) for i in range(3))
    index = {name: torch.arange(8) for name in ("labeled", "view_1", "view_2")}
    drawn = {name: table[0] for name, table in step.plan(0)[0].tables.items()}
    tables = drawn | {"lambda_u": torch.tensor(7.5)}
    assert not torch.equal(drawn["lam"][0], drawn["lam"][1])
    assert not torch.equal(drawn["partner"][0], drawn["partner"][1])
    scales = [torch.nn.Parameter(torch.tensor(scale)) for scale in (1.0, 3.0)]

    class Scaled(torch.nn.Module):
        def __init__(self, scale: torch.nn.Parameter) -> None:
            super().__init__()
            self.scale = scale

        def forward(self, z: torch.Tensor) -> torch.Tensor:
            return self.scale * z

    networks = [Network(Scaled(scale), torch.device("cpu")) for scale in scales]
    loss = step.loss(networks, Batch(index, {"labeled": x, "view_1": u1, "view_2": u2}, tables, task.targets))
    loss.backward()
    p = torch.stack([(scale * u).softmax(1) for scale in (1.0, 3.0) for u in (u1, u2)]).mean(0)
    q = sharpen(p, 0.5)
    y = torch.eye(3)[torch.from_numpy(task.dataset.labels[:8])]
    expected = 0.0
    for scale, lam, partner in zip((1.0, 3.0), drawn["lam"], drawn["partner"], strict=True):
        alone = torch.tensor(scale, requires_grad=True)
        z, t = mixup(torch.cat([x, u1, u2]), torch.cat([y, q, q]), lam, partner)
        own = labeled_loss(alone * z[:8], t[:8]).mean() + 7.5 * unlabeled_loss(alone * z[8:], t[8:]).mean()
        own.backward()
        expected += own.item()
        close(scales[int(scale > 1)].grad, alone.grad)
    assert loss.item() == pytest.approx(expected, rel=1e-6)


def test_two_networks_start_apart_and_the_first_starts_and_mixes_as_one_alone_does(make_task):
    """From equal weights neither would teach the other anything."""
    one, two = (objective(make_task(), networks=n) for n in (1, 2))
    one.net = two.net = "small-convnet"
    alone, first, second = (next(module.parameters()) for module in (*one.modules(), *two.modules()))
    assert torch.equal(alone, first)
    assert not torch.equal(first, second)
    for name in ("lam", "partner"):
        assert torch.equal(*(step.plan(2)[0].tables[name][:, 0] for step in (one, two)))


@pytest.mark.parametrize("lambda_u, ramp, steps", [(75.0, 1.0, 50), (15.0, 0.3, 15)])
def test_lambda_u_rises_over_the_whole_run_or_a_share_of_it(lambda_u, ramp, steps, make_task):
    """Over all steps, linearly, as in the authors' code; after a shorter ramp it stays at the top."""
    step = objective(make_task(), lambda_u=lambda_u, ramp=ramp)
    table = torch.cat([step.plan(epoch)[0].tables["lambda_u"] for epoch in range(10)])
    close(table, [lambda_u * min(1, t / steps) for t in range(50)])


@pytest.mark.parametrize("mix_per, distinct", [("step", 1), ("example", 24)])
def test_one_coefficient_a_step_or_an_example(mix_per, distinct, make_task):
    tables = objective(make_task(), mix_per=mix_per).plan(0)[0].tables
    assert tables["lam"].shape == (5, 1, distinct)
    assert all(len(set(row)) == distinct for (row,) in tables["lam"].tolist())
    assert len(set(tables["lam"].flatten().tolist())) == 5 * distinct
    assert float(tables["lam"].min()) >= 0.5
    assert float(tables["lam"].max()) <= 1


@pytest.mark.parametrize("batch, steps", [(8, 50), (1, 80)])
def test_an_epoch_may_follow_the_data(batch, steps, make_task):
    """80 rows to train on: a pass over them, but never fewer than 50 steps."""
    step = objective(make_task(), recipe=replace(RECIPE, batch=batch), steps_per_epoch=None)
    assert step.plan(0)[0].steps == steps
    close(step.plan(1)[0].tables["lambda_u"][0], HOW.lambda_u * steps / (10 * steps))


def test_partners_are_a_permutation_of_the_whole_step_and_others_in_every_step(make_task):
    step = objective(make_task())
    partner = torch.cat([step.plan(epoch)[0].tables["partner"] for epoch in (0, 3)])
    assert torch.equal(partner.sort(2).values, torch.arange(24).expand(10, 1, 24))
    assert len({tuple(row) for (row,) in partner.tolist()}) == 10


def test_unlabeled_passes_cover_d_u_once_each_and_go_on_across_epochs(make_task):
    step = objective(make_task())  # D_u: rows 50..79, 40 of them a plan: a pass ends within an epoch
    drawn = torch.cat([step.plan(epoch)[0].views["view_1"].index.flatten() for epoch in range(6)])
    passes = drawn.view(8, 30)
    for one in passes:
        assert sorted(one.tolist()) == list(range(50, 80))
    assert len({tuple(one) for one in passes.tolist()}) == 8


def test_both_views_are_of_the_same_examples_but_not_the_same(make_task):
    views = objective(make_task()).plan(0)[0].views
    assert torch.equal(views["view_1"].index, views["view_2"].index)
    assert not torch.equal(views["view_1"].dy, views["view_2"].dy)
    assert not torch.equal(views["view_1"].flip, views["view_2"].flip)


def test_labeled_examples_are_drawn_by_weight_with_replacement(make_task):
    weight = np.zeros(80)
    weight[[3, 10, 40]] = 0.7, 0.7, 1.4
    step = objective(make_task(), weight, recipe=replace(RECIPE, batch=64), steps_per_epoch=500)
    drawn = step.plan(0)[0].views["labeled"].index.flatten().numpy()
    counts = np.bincount(drawn, minlength=80)
    assert set(np.flatnonzero(counts)) == {3, 10, 40}
    expected = len(drawn) * np.array([0.25, 0.25, 0.5])
    chi_square = ((counts[[3, 10, 40]] - expected) ** 2 / expected).sum()
    assert chi_square < 13.8  # 2 degrees of freedom, p = .001


def test_without_unlabeled_data_the_selected_serve_as_that_too(make_task):
    step = objective(make_task(), np.ones(80))
    drawn = torch.cat([step.plan(epoch)[0].views["view_1"].index.flatten() for epoch in range(2)])
    assert sorted(drawn.tolist()) == list(range(80))


def test_an_empty_selection_is_a_sentence(make_task):
    with pytest.raises(InputError, match="Nothing was selected"):
        objective(make_task(), np.zeros(80))


def test_weights_belong_to_training_rows_not_to_rows_of_the_dataset(make_task):
    """`train` need not be the first rows."""
    task = make_task()
    task.train = np.arange(96)[::-1][:80].copy()
    step = objective(task, np.where(np.arange(80) == 0, 1.0, 0.0))
    assert set(step.plan(0)[0].views["labeled"].index.flatten().tolist()) == {95}
    assert 95 not in step.plan(0)[0].views["view_1"].index


def test_a_plan_is_the_same_whenever_it_is_asked_for(make_task):
    first, second = objective(make_task()), objective(make_task())
    for epoch in range(4):
        second.plan(epoch)
    left, right = first.plan(4)[0], second.plan(4)[0]
    for name in left.views:
        assert torch.equal(left.views[name].index, right.views[name].index)
        assert torch.equal(left.views[name].dx, right.views[name].dx)
    for name in left.tables:
        assert torch.equal(left.tables[name], right.tables[name])


@pytest.mark.parametrize("epochs, look, window", [(60, 23, 11), (20, 7, 3), (1, 0, 0), (5, 1, 0)])
def test_when_the_second_look_happens(epochs, look, window):
    how = MixMatchSettings(rounds=2, look_at=0.4)
    assert how.look_epoch(epochs) == look
    assert how.scored_epochs(epochs) == range(window, epochs)
