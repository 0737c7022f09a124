"""Rates that nobody knows: what the estimate is told."""

import numpy as np

from smallloss.data.source import load
from smallloss.engine.task import Task
from smallloss.methods.cross import learn_noise
from smallloss.methods.settings import get_preset
from smallloss.noise.estimate import estimate

SETTINGS = get_preset("cpu").changed({"stage1.epochs": 6})


def test_the_estimate_is_of_all_labels_and_told_what_each_network_predicts() -> None:
    digits = load("digits")
    rows = np.random.default_rng(0).permutation(len(digits))[:300]
    found = learn_noise(Task(digits, np.sort(rows[:240]), {}, seed=1), SETTINGS)
    told = estimate(list(found.probabilities), np.array(digits.classes)[digits.labels], classes=digits.classes)
    assert found.to_dict() == told.to_dict()
    assert found.notes == []  # nobody is left out
    assert found.differ is not None
