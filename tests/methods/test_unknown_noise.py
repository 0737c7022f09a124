"""Rates that nobody knows: what the estimate is told."""

from typing import Any

import numpy as np
import pytest

from smallloss.data.source import load
from smallloss.engine.task import Task
from smallloss.methods import unknown_noise
from smallloss.methods.settings import get_preset
from smallloss.methods.unknown_noise import learn_noise
from smallloss.noise.estimate import Estimate, estimate

SETTINGS = get_preset("cpu").changed({"stage1.epochs": 6})


def test_the_estimate_is_of_all_labels_and_told_what_each_network_predicts(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = load("digits")
    rows = np.random.default_rng(0).permutation(len(digits))[:300]
    task = Task(digits, np.sort(rows[:240]), {}, seed=1)
    told: list[Any] = []

    def watched(*arguments: Any, **options: Any) -> Estimate:
        told.extend(arguments)
        return estimate(*arguments, **options)

    monkeypatch.setattr(unknown_noise, "estimate", watched)
    found = learn_noise(task, SETTINGS)
    assert told[0] is found.probabilities
    np.testing.assert_array_equal(told[1], np.array(digits.classes)[digits.labels])
    assert found.estimate.notes == []  # nobody is left out
    assert found.estimate.differ is not None
    assert np.array_equal(found.noise.noise_rate, found.estimate.noise_rate)
