"""Labels corrected by hand are learnt with the class that was named, and ranked by the label they had."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from small import RECIPE, settings
from smallloss import methods
from smallloss.engine.networks import Network
from smallloss.engine.objective import Batch
from smallloss.engine.scoring import outputs
from smallloss.engine.task import Task
from smallloss.errors import TooFewError
from smallloss.methods import mixmatch
from smallloss.methods.mixmatch import WeightedMixMatch
from smallloss.methods.supervised import Supervised
from smallloss.noise.answers import NONE
from smallloss.noise.model import NoiseModel

SETTINGS = settings(**{"mixmatch.rounds": 2})
NOISE = NoiseModel(noise_rate=0.5)  # so that half are not selected


@pytest.fixture
def task(make_task):
    """Answers on six rows of the training part: two right, three wrong, one in no class; and on one held out."""
    plain: Task = make_task()
    rows, labels = plain.train[:6].tolist(), plain.dataset.labels
    other = {row: (int(labels[row]) + 1) % plain.classes for row in rows}
    pins = {row: int(labels[row]) for row in rows[:2]} | {row: other[row] for row in rows[2:5]} | {rows[5]: NONE}
    held_out = int(plain.held_out[0])
    return make_task(pins=pins | {held_out: (int(labels[held_out]) + 1) % plain.classes})


def test_what_was_named_is_the_target_and_the_label_stays(task):
    labels = torch.from_numpy(np.asarray(task.dataset.labels))
    assert torch.equal(task.labels, labels)
    different = torch.nonzero(task.targets != labels).flatten().tolist()
    corrected = sorted(row for row, true in task.pins.items() if true not in (NONE, int(labels[row])))
    assert different == corrected
    assert [int(task.targets[row]) for row in corrected] == [task.pins[row] for row in corrected]
    assert task.train[task.corrected].tolist() == task.train[2:5].tolist()


def test_without_answers_nothing_is_different(make_task):
    task = make_task()
    assert task.targets is task.labels
    assert not task.corrected.any()
    weight = np.linspace(0, 1, len(task.train))
    assert np.array_equal(task.learnt(weight), weight)


def test_they_are_learnt_in_full(task):
    weight = np.full(len(task.train), 0.25)
    assert task.learnt(weight)[:7].tolist() == [0.25, 0.25, 1, 1, 1, 0.25, 0.25]
    selected = np.arange(len(task.train)) == 7
    assert task.learnt(selected).dtype == bool
    assert task.train[task.learnt(selected)].tolist() == task.train[[2, 3, 4, 7]].tolist()


def test_the_loss_is_that_of_the_class_that_was_named(task):
    rows = torch.from_numpy(task.train[:6])
    logits = torch.randn(6, task.classes, generator=torch.Generator().manual_seed(0))
    network, batch = (
        Network(torch.nn.Identity(), torch.device("cpu")),
        Batch({"labeled": rows}, {"labeled": logits}, {}, task.targets),
    )
    loss = Supervised(task, "x", task.train, RECIPE, None).loss([network], batch)
    named = torch.tensor([task.pins[row] if task.pins[row] != NONE else int(task.labels[row]) for row in rows.tolist()])
    torch.testing.assert_close(loss, cross_entropy(logits, named))


class Logits(torch.nn.Module):
    """One row of logits for whatever it sees."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.row = torch.nn.Parameter(torch.arange(float(classes)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.row.expand(len(x), -1)


def test_mixmatch_mixes_the_class_that_was_named(task):
    weight = np.zeros(len(task.train))
    weight[-10:] = 1.0  # so that there is something beside what was corrected
    recipe, how = replace(RECIPE, batch=8), replace(SETTINGS.own["mixmatch"], guess_by="network")
    objective = WeightedMixMatch(task, "x", weight, recipe, None, how)
    corrected = torch.from_numpy(np.resize(task.train[2:5], 8))
    views = {name: torch.zeros(8, 3, 8, 8) for name in ("labeled", "view_1", "view_2")}
    tables = {"lam": torch.ones(1, 24), "partner": torch.arange(24)[None], "lambda_u": torch.tensor(0.0)}
    batch = Batch({"labeled": corrected}, views, tables, task.targets)
    loss = objective.loss([Network(Logits(task.classes), torch.device("cpu"))], batch)
    logits = torch.arange(float(task.classes)).expand(8, -1)
    torch.testing.assert_close(loss, cross_entropy(logits, task.targets[corrected]))
    assert not torch.isclose(loss, cross_entropy(logits, task.labels[corrected]))


@pytest.mark.parametrize("method", ["rsl", "rsl_wm"])
def test_corrections_alone_are_too_few(task, method):
    """Otherwise a network of three examples would be handed out, where plain cross entropy has learnt from all."""
    with pytest.raises(TooFewError, match="only labels corrected by hand are left to learn from"):
        methods.get(method).train(task, SETTINGS, NoiseModel(noise_rate=0.999))


def test_rsl_learns_from_them_too(task, monkeypatch):
    seen = []
    monkeypatch.setattr("smallloss.methods.rsl.retrain", lambda task, settings, rows: seen.append(rows))
    learned = methods.get("rsl").train(task, SETTINGS, NOISE)
    assert not learned.selection.mask[2:6].any()  # by the labels they have, they are wrong
    assert sorted(seen[0]) == sorted([*task.train[learned.selection.mask], *task.train[2:5]])


def test_rsl_wm_learns_from_them_before_and_after_its_second_look(task, monkeypatch):
    seen, learnt = [], mixmatch.learnt

    def spy(task, weight):
        seen.append(learnt(task, weight))
        return seen[-1]

    monkeypatch.setattr(mixmatch, "learnt", spy)
    learned = methods.get("rsl_wm").train(task, SETTINGS, NOISE)
    assert len(seen) == 2
    assert all((weight[2:5] == 1).all() and weight[5] == 0 for weight in seen)
    assert not learned.selection.mask[2:6].any()


@pytest.mark.parametrize("method", ["co_teaching", "cross_entropy"])
def test_a_network_learns_what_was_corrected(method, make_task):
    """All labels are wrong, and all are corrected: without that the network would learn the wrong classes."""
    plain = make_task()
    truth = np.asarray(plain.dataset.labels)
    shifted = plain.dataset.with_labels((truth + 1) % plain.classes)
    task = Task(shifted, plain.train, {}, pins={int(row): int(truth[row]) for row in plain.train})
    how = SETTINGS.changed({"stage1.epochs": 12})
    learned = methods.train(method, task, how, NoiseModel(noise_rate=0.2))
    predicted = outputs(task, learned.fitted.network, task.dataset, plain.train).argmax(1)
    assert (predicted == truth[plain.train]).mean() > 0.6
    if learned.ledger is not None:  # the losses are those of the labels
        assert learned.ledger.mean_loss[plain.train].mean() > np.log(plain.classes)
