"""The rules of AUM, DivideMix and SSR, on numbers computed by hand."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from small import RECIPE, settings
from smallloss import methods
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch
from smallloss.errors import InputError
from smallloss.methods import aum
from smallloss.methods.aum import Margins, behind, level
from smallloss.methods.dividemix import DivideMix, clean
from smallloss.methods.ssr import NeighboursSelect, neighbours_vote
from smallloss.noise.model import NoiseModel


class Rows(torch.nn.Module):
    """Logits of each row, which its input names."""

    def __init__(self, seed: int, classes: int = 3) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.randn(6, classes, generator=torch.Generator().manual_seed(seed)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.logits[x[:, 0].long()]


def network(seed: int, classes: int = 3) -> tuple[Network, np.ndarray]:
    made = Network(Rows(seed, classes), torch.device("cpu"))
    return made, made.module.logits.detach().double().numpy()


def views(*names: str) -> dict[str, Any]:
    return {name: torch.arange(6) for name in names}


# --- AUM -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schedule, epochs", [("constant", 10), ("multistep", 5), ("linear", 5), ("cosine", 1), ("trapezoid", 7)]
)
def test_margins_count_until_the_rate_falls(schedule: str, epochs: int):
    assert level(replace(RECIPE, epochs=10, schedule=schedule, milestones=(0.5, 0.75))) == epochs


def test_margins_are_added_up_as_the_batches_occur(make_task):
    """z_y - max of the others over c + 1 logits; row 1 is a threshold sample, and so of class 3."""
    task = make_task()
    objective = Margins(task, "aum_0", np.array([1]), settings())
    (net, z), index = network(0, 4), torch.arange(6)
    for counts in (1.0, 1.0, 0.0):  # the last lies behind the first drop of the rate
        told = {"counts": torch.tensor(counts)}
        objective.loss([net], Batch({"x": index}, {"x": index[:, None].float()}, told, objective.targets))
        with torch.no_grad():
            net.module.logits *= 2
    labels = [int(task.dataset.labels[i]) if i != 1 else 3 for i in range(6)]
    margins = [z[i, label] - max(np.delete(z[i], label)) for i, label in enumerate(labels)]
    np.testing.assert_allclose(objective.aum()[:6], 1.5 * np.array(margins), rtol=1e-5)  # the mean of 1 and 2 times it
    assert objective.modules()[0](torch.zeros(1, 3, 8, 8)).shape == (1, 4)


def test_the_threshold_is_a_percentile_of_the_threshold_samples():
    margins = np.array([0.0, 4.0, -1.0, 3.0, 2.5])
    gap = behind(margins, np.array([0, 1]), 75)  # of 0 and 4: 3
    np.testing.assert_allclose(gap, [np.nan, np.nan, 4, 0, 0.5])


def test_what_every_run_flags_that_may_judge_it_goes(make_task, monkeypatch):
    task, runs, learnt = make_task(), [], []

    def fitted(task: Any, objective: Any) -> Any:
        if isinstance(objective, Margins):
            rng = np.random.default_rng(len(runs))
            found = rng.normal(size=len(task.dataset)).astype(np.float32)
            found[(objective.targets == 3).numpy()] = 0.3  # the threshold, then
            objective.total, objective.times = torch.from_numpy(found), torch.ones(len(found))
            runs.append((found, set(np.flatnonzero(objective.targets == 3))))
        else:
            learnt.append(set(objective.examples.tolist()))
        return SimpleNamespace(name="")

    monkeypatch.setattr(aum, "fit", fitted)
    learned = methods.train("aum", task, settings(), NoiseModel())
    assert [len(apart) for _, apart in runs] == [80 // 3] * 2
    assert not runs[0][1] & runs[1][1]
    gone = {
        row for row in task.train.tolist()
        if all(found[row] < np.float32(0.3) for found, apart in runs if row not in apart)
    }  # fmt: skip
    assert learnt == [set(task.train.tolist()) - gone]
    assert set(task.train[learned.selection.is_label_issue].tolist()) == gone
    assert gone & runs[0][1]  # the other run alone judged these


def test_one_module_has_no_extra_class(make_task, make_net):
    with pytest.raises(InputError, match=r"aum needs a class more than there are: give net a function"):
        methods.train("aum", make_task(), settings(net=make_net()), NoiseModel())


# --- DivideMix -----------------------------------------------------------------------------------------------


def test_the_mixture_splits_losses_by_hand():
    """Means .05 and .95, both of the variance .0025 + .0005: log odds at x are .9 (1 - 2 x) / .006."""
    train = np.array([1.0, 1.4, 4.6, 5.0])  # 0, .1, .9 and 1, once scaled
    x = np.array([0.5, 0.495, 0.5025])
    said = clean(np.concatenate([train, 1 + 4 * x, [99.0]]), np.arange(4))
    np.testing.assert_allclose(said[4:7], 1 / (1 + np.exp(-0.9 * (1 - 2 * x) / 0.006)), rtol=1e-3)
    np.testing.assert_allclose(said[[0, 1, 2, 3, 7]], [1, 1, 0, 0, 0], atol=1e-9)


def test_equal_losses_are_no_failure():
    assert np.isfinite(clean(np.full(5, 2.0), np.arange(3))).all()


def dividing(task: Any, **changes: Any) -> DivideMix:
    return DivideMix(task, settings(**{"dividemix.batch": 8, "dividemix.epochs": 20} | changes))


def test_each_network_learns_on_the_split_of_the_other(make_task):
    task = make_task()
    objective = dividing(task, **{"dividemix.ramp_epochs": 4, "dividemix.lambda_u": 8})
    assert [len(list(objective.plan(epoch))) for epoch in (0, 1)] == [1, 1]  # the warm-up
    objective.w[0, :30], objective.w[0, 30:], objective.w[1, :50], objective.w[1, 50:] = 0.9, 0.1, 0.4, 0.8
    first, second = objective.plan(3)
    assert (first.updates, second.updates) == (("optimiser0",), ("optimiser1",))
    for plan, k, labeled, w in ((first, 0, range(50, 80), 0.8), (second, 1, range(30), 0.9)):
        assert (plan.steps, plan.size) == (5, 8)
        x, u = (plan.views[f"{which}1 of {k}"].index.flatten().tolist() for which in "xu")
        assert set(x[:30]) == set(labeled)  # a whole pass, and then the next one
        assert not set(u) & set(labeled)
        assert plan.tables["w"].unique().item() == pytest.approx(w)
        np.testing.assert_allclose(plan.tables["lambda_u"], 8 * (1 + np.arange(5) / 5) / 4, rtol=1e-6)
    assert next(iter(objective.plan(19))).tables["lambda_u"].unique().item() == 8


@pytest.mark.parametrize("w", [0.0, 1.0])
def test_an_empty_side_has_all_examples(w, make_task):
    objective = dividing(make_task())
    objective.w.fill_(w)
    for plan in objective.plan(5):
        sides = [set(views.index.flatten().tolist()) for views in plan.views.values()]
        assert all(len(side) == 40 and side <= set(range(80)) for side in sides)


def test_a_step_of_dividemix_by_hand(make_task):
    task = make_task()
    objective = dividing(task)
    (first, z), (second, other) = network(0), network(1)
    w, i = np.array([0.0, 0.3, 0.5, 0.7, 1.0, 0.9]), np.arange(6)
    # Row i of X is mixed with row i of U, which stands at 5 - i there: the inputs are equal, the targets are not.
    partner = torch.from_numpy(np.concatenate([17 - i, 23 - i, 5 - i, 11 - i]))
    index = views("x1 of 0", "x2 of 0", "u1 of 0", "u2 of 0")
    seen = {name: rows[:, None].float() for name, rows in index.items()}
    seen["u1 of 0"], seen["u2 of 0"] = seen["u1 of 0"].flip(0), seen["u2 of 0"].flip(0)
    told = {"w": torch.tensor(w).float(), "lam": torch.tensor([0.8]), "partner": partner}
    batch = Batch(index, seen, told | {"lambda_u": torch.tensor(5.0)}, task.targets)
    loss = objective.loss([first, second], batch)
    loss.backward()
    p, q = (np.exp(one) / np.exp(one).sum(1, keepdims=True) for one in (z, other))
    y = np.eye(3)[task.dataset.labels[:6]]

    def sharp(p: np.ndarray) -> np.ndarray:
        return p**2 / (p**2).sum(1, keepdims=True)

    refined, guessed = sharp(w[:, None] * y + (1 - w[:, None]) * p), sharp((p + q) / 2)
    x, u = 0.8 * refined + 0.2 * guessed, 0.8 * guessed + 0.2 * refined
    even = -np.log(3 * p.mean(0)).mean()  # of all four views, each of which sees every row
    expected = -(x * np.log(p)).sum(1).mean() + 5 * ((p - u) ** 2).mean() + even
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert second.module.logits.grad is None
    assert second.module.training


def test_the_warm_up_has_a_penalty_on_sure_predictions(make_task):
    task = make_task()
    nets, said = zip(*(network(seed) for seed in (0, 1)), strict=True)
    index = torch.arange(6)
    batch = Batch({"labeled": index}, {"labeled": index[:, None].float()}, {}, task.targets)
    found = dividing(task, **{"dividemix.confidence": 0.5}).loss(nets, batch).item()
    log_p = [z - np.log(np.exp(z).sum(1, keepdims=True)) for z in said]
    labels = task.dataset.labels[:6]
    expected = [-one[range(6), labels].mean() + 0.5 * (np.exp(one) * one).sum(1).mean() for one in log_p]
    assert found == pytest.approx(sum(expected), rel=1e-5)


# --- SSR -----------------------------------------------------------------------------------------------------


def test_neighbours_vote_by_hand():
    """Of a's 3, b's 1: nearest two of the first are a and b, which counts three times as much."""
    angle = torch.tensor([0.0, 0.1, 1.0, 2.0])
    among = torch.stack([angle.cos(), angle.sin()], 1)
    labels = torch.tensor([0, 1, 0, 0])
    votes = neighbours_vote(among[[0, 3]], among, labels, 3, 2)
    torch.testing.assert_close(votes, torch.tensor([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]]))
    all_of_them = neighbours_vote(among, among, labels, 3, 4)
    torch.testing.assert_close(all_of_them, torch.tensor([[0.5, 0.5, 0.0]]).expand(4, 3))


def test_the_sure_are_relabelled_and_then_neighbours_select(make_task):
    """Features show the true class; rows 0, 5, 10 ... are labelled wrongly, and of row 5 the network is sure."""
    task = make_task(pins={10: 2, 20: 1})
    objective = NeighboursSelect(task, settings(**{"ssr.neighbours": 5}))
    truth, n = task.dataset.true_labels, len(task.dataset)
    p = np.full((n, 3), 1 / 3)
    p[5], p[10] = np.eye(3)[truth[5]], np.eye(3)[truth[10]]
    stage = SimpleNamespace(
        probabilities=lambda rows: torch.tensor(p)[rows], features=lambda rows: torch.eye(3)[truth[rows]]
    )
    objective.before_epoch(stage, 0)  # type: ignore[arg-type]
    assert int(objective.targets[5]) == truth[5] != task.dataset.labels[5]
    assert objective.targets[[10, 20]].tolist() == [2, 1]  # nobody overrules an answer, and what it changed is learnt
    assert np.flatnonzero(objective.clean == 0).tolist() == [row for row in range(0, 80, 5) if row not in (5, 20)]
    assert objective.vote[0] < 0.5 < objective.vote[93]  # for the given label, of the held-out ones too


def test_draws_are_balanced_over_the_new_classes_of_the_clean(make_task):
    task = make_task()
    objective = NeighboursSelect(task, settings(**{"ssr.batch": 2}))
    objective.targets[:70], objective.targets[70:78], objective.targets[78:] = 0, 1, 2
    objective.clean[78:] = 0
    drawn = np.concatenate(
        [plan.views["view_1"].index.flatten() for epoch in range(10) for plan in objective.plan(epoch)]
    )
    assert drawn.max() < 78
    assert (drawn < 70).mean() == pytest.approx(0.5, abs=0.05)
    objective.clean[:] = 0
    assert sum(plan.steps for plan in objective.plan(0)) == 40
