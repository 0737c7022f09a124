"""Predictions by networks that never saw the example, and the rates that are counted with them."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from small import settings
from smallloss.data.source import load
from smallloss.engine.stage import Stage, fit
from smallloss.engine.task import Task
from smallloss.methods import cross as module
from smallloss.methods.cross import NEITHER, Fold, cross_predict, deal, learn_noise, out_of_sample
from smallloss.methods.settings import get_preset
from smallloss.noise.estimate import estimate
from smallloss.noise.model import NoiseModel


@pytest.fixture
def task() -> Task:
    digits = load("digits")
    rows = np.random.default_rng(0).permutation(len(digits))[:300]
    return Task(digits, np.sort(rows[:240]), {}, seed=1)


SETTINGS = get_preset("cpu").changed({"stage1.epochs": 6})


def test_each_class_is_divided_evenly_and_at_random(task: Task) -> None:
    half = deal(task, task.train, "halves")
    labels = task.dataset.labels[task.train]
    counts = np.array([np.bincount(half[labels == k], minlength=2) for k in range(10)])
    assert np.abs(counts[:, 0] - counts[:, 1]).max() <= 1
    assert not np.array_equal(half, deal(Task(task.dataset, task.train, {}, seed=2), task.train, "halves"))


def test_nobody_is_judged_by_a_network_that_learnt_from_them(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt: list[np.ndarray] = []

    def watched(task: Task, objective: Fold, **more: Any) -> Any:
        learnt.append(np.isin(np.arange(len(task.dataset)), objective.examples))
        return fit(task, objective, **more)

    monkeypatch.setattr(module, "fit", watched)
    found = out_of_sample(task, SETTINGS)
    assert np.array_equal(learnt[0] | learnt[1], np.isin(np.arange(len(task.dataset)), task.train))
    assert np.array_equal(np.isnan(found).any(2), learnt)
    np.testing.assert_allclose(found[~np.isnan(found).any(2)].sum(1), 1, atol=1e-5)


def test_they_know_something(task: Task) -> None:
    found = np.nanmean(out_of_sample(task, SETTINGS.changed({"stage1.epochs": 15})), axis=0)
    assert (found.argmax(1) == task.dataset.labels)[task.train].mean() > 0.6


def test_where_nothing_is_held_out_a_tenth_is_learnt_by_neither(task: Task) -> None:
    """So that both judge it: how often they differ is counted there."""
    whole = Task(task.dataset, np.arange(len(task.dataset)), {}, seed=1)
    half = deal(whole, whole.train, "halves", apart=True)
    counts = np.array([np.bincount(half[whole.dataset.labels == k] % 3, minlength=3) for k in range(10)])
    assert np.abs(counts[:, NEITHER % 3] - counts.sum(axis=1) / 10).max() <= 2
    assert np.median(np.abs(counts[:, 0] - counts[:, 1])) <= 1  # of one class many are alike, and stay together
    assert not (deal(task, task.train, "halves") == NEITHER).any()
    found = out_of_sample(whole, SETTINGS.changed({"stage1.epochs": 2}))
    np.testing.assert_array_equal((~np.isnan(found[:, :, 0])).sum(axis=0), 1 + (half == NEITHER))


@pytest.mark.parametrize("weights", [None, "incv"])
def test_networks_begin_apart_unless_they_share_a_draw(task: Task, weights: str | None, monkeypatch: Any) -> None:
    """The weights that each fold begins with, by the networks it would make."""
    begun, fit = [], module.fit

    def watched(task: Task, fold: Fold, **how: Any) -> Any:
        begun.append(next(iter(fold.modules()[0].parameters())).detach().clone())
        return fit(task, fold, **how)

    monkeypatch.setattr(module, "fit", watched)
    folds = deal(task, task.train, "halves")
    cross_predict(task, get_preset("cpu"), task.train, folds, epochs=1, weights=weights)
    assert bool((begun[0] == begun[1]).all()) == (weights == "incv")


def test_half_trainings_are_as_long_as_said_and_judge_in_the_window_alone(make_task, monkeypatch):
    """Two thirds of 6 epochs are 4, of which the window takes the last two. Held-out rows are judged by both halves."""
    made: list[Any] = []

    class Watched(module.Fold):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.judged: list[Tensor] = []
            made.append(self)

        def after_epoch(self, stage: Stage, epoch: int) -> dict[str, float]:
            self.judged.append(stage.probabilities(self.others))
            return super().after_epoch(stage, epoch)

    monkeypatch.setattr(module, "Fold", Watched)
    task = make_task()
    found = module.out_of_sample(task, settings(**{"window": "0.5,1", "stage1.epochs": 6}))
    for half in made:
        assert len(half.judged) == 4
        late, alone = torch.stack(half.judged[2:]).mean(0).numpy(), np.isin(half.others, task.train)
        np.testing.assert_allclose(found[int(half.name[-1]), half.others[alone]], late[alone], rtol=1e-5)
    module.out_of_sample(task, settings(half_epochs=1.0))
    assert [len(half.judged) for half in made] == [4, 4, 3, 3]


def test_duplicates_go_into_the_same_half(make_task, tiny):
    """Rows 40 to 79 repeat rows 0 to 39, under other labels."""
    tiny.inputs[40:80] = tiny.inputs[:40]
    task = make_task(dataset=tiny)
    half = module.deal(task, task.train, "halves")
    assert half[40:].tolist() == half[:40].tolist()
    assert 10 < half[:40].sum() < 30


def test_estimated_rates_come_with_their_upper_ends_and_the_prior(make_task):
    task, how = make_task(), settings()
    found = learn_noise(task, how)
    assert (found.upper >= found.noise_rate).all()
    labels = task.dataset.labels[task.train]
    assert np.array_equal(found.of(labels).prior, found.prior)
    given = learn_noise(task, how, NoiseModel.given("abc", prior="uniform"))
    assert given.of(labels).prior.tolist() == [1 / 3] * 3
    assert np.array_equal(given.noise_rate, found.noise_rate)


def test_the_estimate_is_of_all_labels_and_told_what_each_network_predicts(task: Task) -> None:
    found, digits = learn_noise(task, SETTINGS), task.dataset
    told = estimate(list(found.probabilities), np.array(digits.classes)[digits.labels], classes=digits.classes)
    assert found.to_dict() == told.to_dict()
    assert found.notes == []  # nobody is left out
    assert found.differ is not None
