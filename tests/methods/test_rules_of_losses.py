"""The rules of the methods that change the loss: determinant, truncation and pruning, correction, dimension."""

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import smallloss as sl
from small import settings
from smallloss import methods
from smallloss.criterion.transition import pairwise, uniform
from smallloss.engine.task import Task
from smallloss.errors import InputError
from smallloss.methods.d2l import Dimensionality, lid, turns
from smallloss.methods.f_correction import Corrected, anchored
from smallloss.methods.l_dmi import Determinant, holding_all
from smallloss.methods.small_loss import warm_up
from smallloss.methods.truncated_lq import TruncatedLq
from smallloss.noise.model import NoiseModel
from tables import networks, six, touched

RATE = NoiseModel(noise_rate=0.2)


# --- L_DMI ---------------------------------------------------------------------------------------------------


def test_the_determinant_begins_where_plain_training_ended(make_task):
    task = make_task()
    start = warm_up(task, settings())
    objective = Determinant(task, settings(), start)
    (module,) = objective.modules()
    ended = start.network.module.state_dict()
    assert all(torch.equal(value, ended[name]) for name, value in module.state_dict().items())
    batch, labels = six(task)
    nets, (log_p,) = networks(3)
    U = np.array([np.exp(log_p)[labels == k].sum(0) for k in range(3)])
    assert objective.loss(nets, batch).item() == pytest.approx(-np.log(abs(np.linalg.det(U)) + 1e-3), rel=1e-4)


def test_how_many_batches_hold_all_classes():
    """Two of 10 and 30 examples: (1 - .75^8)(1 - .25^8) of batches of 8; of 100 equal ones hardly any of 256."""
    assert holding_all(np.array([10, 30]), 8) == pytest.approx((1 - 0.75**8) * (1 - 0.25**8))
    assert holding_all(np.full(100, 450), 256) < 0.001
    assert holding_all(np.array([5, 0]), 1000) == 0


@pytest.mark.parametrize(
    "batch, classes, words",
    [
        (3, 3, r"needs all 3 classes in a batch, and of batches of 3 only .* hold them: give --set l_dmi\.batch=6"),
        (32, 40, r"of batches of 32 only 0\.0 % would hold them: use elr or truncated_lq"),
    ],
)
def test_too_many_classes_for_a_batch_are_told_before_anything_is_trained(batch, classes, words, make_task, tiny):
    task = make_task(dataset=replace(tiny, labels=np.arange(96) % classes, classes=tuple(map(str, range(classes)))))
    with pytest.raises(InputError, match=words):
        methods.refuse_task("l_dmi", task, settings(**{"l_dmi.batch": batch}), NoiseModel())
    with pytest.raises(InputError, match="L_DMI needs all 3 classes"):
        sl.clean(tiny, method="l_dmi", settings={"l_dmi.batch": 2}, epochs=1)


# --- Truncated L_q -------------------------------------------------------------------------------------------


def said_of(task: Task, p: Sequence[float]) -> Any:
    """A stage whose network gives the first labels these probabilities, and all others .9."""
    of = np.concatenate([p, np.full(len(task.dataset) - len(p), 0.9)])
    said = np.repeat((1 - of[:, None]) / 2, 3, 1)
    said[np.arange(len(of)), task.targets.numpy()] = of
    return SimpleNamespace(probabilities=lambda rows: torch.from_numpy(said[rows]).float())


def test_truncation_by_hand(make_task):
    """Mean of v (L_q(p) - L_q(k)): before the first pruning of all, after it of those with p > k alone."""
    task = make_task()
    how = settings(**{"truncated_lq.k": 0.5, "truncated_lq.q": 0.5, "truncated_lq.start": 0.5, "truncated_lq.every": 3})
    objective = TruncatedLq(task, how)
    batch, labels = six(task)
    (net,), (log_p,) = networks(3)
    gain = (1 - np.exp(log_p)[np.arange(6), labels] ** 0.5) / 0.5 - (1 - 0.5**0.5) / 0.5
    prunings = [[0.1, 0.6, 0.5, 0.7, 0.4, 0.8], [0.9] * 6]
    kept = {0: range(6), 3: range(6), 4: [1, 3, 5], 6: [1, 3, 5], 7: range(6)}  # of 8 epochs, pruned from 4 on
    stages = iter(said_of(task, p) for p in prunings)
    stage = SimpleNamespace(probabilities=lambda rows: next(stages).probabilities(rows))
    for epoch in range(8):
        objective.before_epoch(stage, epoch)
        if epoch in kept:
            net.module.logits.grad = None
            loss = objective.loss([net], batch)
            loss.backward()
            assert loss.item() == pytest.approx(gain[list(kept[epoch])].sum() / 6, rel=1e-5)
            assert touched(net) == list(kept[epoch])
            assert objective.after_epoch(stage, epoch) == {"pruned": 6 - len(kept[epoch])}


def test_a_corrected_label_is_never_pruned(make_task):
    task = make_task(pins={0: 2, 1: 1})  # the first is labelled 1, the other one rightly
    objective = TruncatedLq(task, settings(**{"truncated_lq.k": 0.5}))
    objective.before_epoch(said_of(task, [0.1, 0.1, 0.1]), objective.start)
    assert (objective.p[:4] > 0.5).tolist() == [True, False, False, True]


def test_a_class_of_which_nothing_would_be_left_is_not_pruned(make_task):
    """Until the next pruning, when something of it is."""
    task = make_task()
    labels, objective = task.dataset.labels[task.train], TruncatedLq(task, settings(**{"truncated_lq.k": 0.5}))
    objective.before_epoch(said_of(task, np.where(task.dataset.labels == 1, 0.2, 0.9)), objective.start)
    assert objective.v(objective.examples).all()
    p = np.where(task.dataset.labels == 1, 0.2, 0.9)
    p[task.train[labels == 1][0]] = 0.6
    objective.before_epoch(said_of(task, p), objective.start)
    assert objective.v(objective.examples).numpy()[labels == 1].tolist() == [True, *[False] * 27]


def test_such_a_class_is_named(make_task):
    learned = methods.train("truncated_lq", make_task(), settings(**{"truncated_lq.k": 0.99}), RATE)
    (said,) = learned.notes
    assert re.fullmatch(r"Nothing labelled .*'b'.* was pruned: the network was sure of none of it\.", said)
    task = make_task()
    assert learned.selection.mask[task.dataset.labels[task.train] == 1].all()


def test_what_was_pruned_is_what_is_not_selected(make_task):
    learned = methods.train("truncated_lq", make_task(), settings(**{"truncated_lq.k": 0.35}), RATE)
    pruned = int(learned.fitted.last["pruned"])
    assert 0 < pruned < 60
    assert (~learned.selection.mask).sum() == learned.selection.is_label_issue.sum() == pruned
    never = methods.train("truncated_lq", make_task(), settings(**{"truncated_lq.start": 1.0}), RATE)
    assert never.selection is None


# --- F-correction --------------------------------------------------------------------------------------------


def test_the_anchor_points_by_hand():
    """Of class 0 the third row is surest, then the first; without the surest fifth the first is taken."""
    p = np.array([[0.8, 0.2], [0.1, 0.9], [0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
    assert anchored(p, 100).tolist() == [p[2].tolist(), p[1].tolist()]
    assert anchored(p, 80).tolist() == [p[0].tolist(), p[4].tolist()]


@pytest.mark.parametrize("correction", ["forward", "backward"])
def test_the_correction_of_a_batch(correction, make_task):
    task, T = make_task(), uniform(0.3, 3)
    how = settings(**{"f_correction.correction": correction})
    batch, labels = six(task)
    nets, (log_p,) = networks(3)
    by_hand = {
        "forward": -np.log((np.exp(log_p) @ T)[np.arange(6), labels]),
        "backward": -(np.linalg.inv(T)[labels] * log_p).sum(1),
    }
    loss = Corrected(task, how, T).loss(nets, batch)
    assert loss.item() == pytest.approx(by_hand[correction].mean(), rel=1e-4)


def test_the_report_says_which_t_it_was_told(tiny):
    asked: list[tuple[dict[str, Any], str]] = [
        ({"transition": uniform(0.3, 3)}, r"\(forward\) was told T as given, by which 80\.0 % of a class keep"),
        ({"noise": "uniform:0.3", "settings": {"f_correction.correction": "backward"}}, r"\(backward\) was told T of"),
        ({"settings": {"f_correction.transition": "anchors"}, "noise_rate": 0.2}, "told T by anchor points, by which"),
        ({}, "told T as estimated"),
    ]
    for how, words in asked:
        notes = sl.clean(tiny, method="f_correction", epochs=1, net="mlp", **how).result.notes
        (said,) = (note for note in notes if note.startswith("F-correction"))
        assert re.search(words, said)


@pytest.mark.parametrize(
    "noise, changes, words",
    [
        (RATE, {"transition": "known"}, r"and noise rates are none: give T .*f_correction\.transition=anchors"),
        (NoiseModel(transition=pairwise(0.5, 4)), {"transition": "known", "correction": "backward"}, "inverted"),
    ],
)
def test_a_t_that_does_not_do_is_told_before_anything_is_trained(noise, changes, words, make_task):
    how = settings(**{f"f_correction.{name}": value for name, value in changes.items()})
    with pytest.raises(InputError, match=words):
        methods.refuse_task("f_correction", make_task(), how, noise)
    methods.refuse_task("f_correction", make_task(), settings(), noise)  # anchor points need no T
    methods.refuse_task("f_correction", make_task(), how, NoiseModel())  # it will be estimated


# --- D2L -----------------------------------------------------------------------------------------------------


def test_the_dimension_by_hand():
    """0, 1, 3 and 7 on a line, two neighbours: -2 / ln(r_1 / r_2)."""
    found = lid(torch.tensor([[0.0], [1], [3], [7]]).double(), 2)
    by_hand = [-2 / np.log(near / far) for near, far in ((1, 3), (1, 2), (2, 3), (4, 6))]
    np.testing.assert_allclose(found, by_hand, rtol=1e-6)


def test_neighbours_equally_far_tell_nothing():
    assert torch.isnan(lid(torch.zeros(5, 2).double(), 3)).all()
    assert torch.isnan(lid(torch.eye(4).double(), 3)).all()
    assert torch.isnan(lid(torch.randn(2, 3).double(), 20)).all()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_dimension_is_that_of_where_the_points_lie(d):
    """In ten coordinates, of which d are free; 3,000 of them, for their border counts little."""
    x = np.random.default_rng(0).random((1500, d)) @ np.random.default_rng(1).normal(size=(d, 10))
    assert lid(torch.from_numpy(x), 20).nanmean() == pytest.approx(d, rel=0.15)


def test_the_turning_point():
    """5 epochs of mean 5 and deviation √.004 = .0632: above 5.1265 it turns."""
    before = [9.0, 5.0, 5.0, 5.1, 4.9, 5.0]
    assert [turns(np.array([*before, last]), 5) for last in (5.12, 5.13, np.nan)] == [False, True, False]


def test_after_the_turning_point_labels_give_way_to_predictions(make_task, monkeypatch):
    """α = exp(-(t / E) LID_t / min LID); the epoch that turned is taken back, and no later one."""
    task = make_task()
    objective = Dimensionality(task, settings(**{"d2l.begin": 0.25, "d2l.window": 2}))  # of 8 epochs
    dimensions = [5.0, 9.0, 3.0, 3.2, 4.0, 6.0, 5.0, 7.0]
    monkeypatch.setattr(objective, "_dimension", lambda stage, epoch: dimensions[epoch])
    nets, (log_p,) = networks(3)
    objective.groups(nets)
    stage, weights = SimpleNamespace(networks=nets), nets[0].module.logits
    for epoch in range(8):
        objective.before_epoch(stage, epoch)
        # Not yet: .25 of 8 and 2 are 4; then 4.0 is above 3.1 + 2 * .1.
        alpha = 1.0 if epoch < 4 else np.exp(-epoch / 8 * dimensions[epoch] / 3.0)
        assert objective.alpha == pytest.approx(alpha)
        assert {plan.tables["alpha"].unique().item() for plan in objective.plan(epoch)} == {np.float32(alpha)}
        with torch.no_grad():
            weights += 1
    # At the start of epoch 4 it went back to what it was at that of epoch 3: one step of 8 is lost.
    np.testing.assert_allclose(weights.detach().log_softmax(1), log_p, atol=1e-5)
    assert (weights - networks(3)[0][0].module.logits).mean().item() == pytest.approx(7, rel=1e-5)


def test_the_targets_of_d2l_by_hand(make_task):
    task = make_task()
    batch, labels = six(task, alpha=0.3)
    nets, (log_p,) = networks(3)
    expected = -0.3 * log_p[np.arange(6), labels] - 0.7 * log_p.max(1)
    loss = Dimensionality(task, settings()).loss(nets, batch)
    assert loss.item() == pytest.approx(expected.mean(), rel=1e-5)


def test_the_run_that_is_stopped_everywhere_has_a_turning_point(make_task):
    """tests/methods/test_every_method.py would else not see whether what was turned is resumed."""
    learned = methods.train("d2l", make_task(), settings(), RATE)
    alphas = [row["alpha"] for row in learned.fitted.history]
    assert alphas[:3] == [1, 1, 1]
    assert alphas[5] < 1
