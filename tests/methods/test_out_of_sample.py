"""Predictions by networks that never saw the example."""

from typing import Any

import numpy as np
import pytest

from smallloss.data.source import load
from smallloss.engine.stage import fit
from smallloss.engine.task import Task
from smallloss.methods import cross as module
from smallloss.methods.cross import NEITHER, Fold, cross_predict, deal, out_of_sample
from smallloss.methods.settings import get_preset


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
