"""Rates that nobody knows: what of stage 1 the estimate is told."""

from typing import Any

import numpy as np
import pytest

from smallloss.data.source import load
from smallloss.learning.task import Check, Task
from smallloss.methods import presets, unknown_noise
from smallloss.methods.small_loss import warm_up
from smallloss.methods.unknown_noise import learn_noise
from smallloss.noise.estimate import Estimate, estimate

SETTINGS = presets.change(presets.get("cpu"), {"stage1.epochs": 6})


def test_the_estimate_is_told_which_labels_stage_1_contradicts_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = load("digits")
    rows = np.random.default_rng(0).permutation(len(digits))[:300]
    train = np.sort(rows[:240])
    # The labels are right, so the share of the training part that is not contradicted is stage 1's last accuracy.
    task = Task(digits, train, {"test": Check(digits, train, np.asarray(digits.labels)[train])}, seed=1)
    told: list[dict[str, Any]] = []

    def watched(*arguments: Any, **options: Any) -> Estimate:
        told.append(options)
        return estimate(*arguments, **options)

    monkeypatch.setattr(unknown_noise, "estimate", watched)
    found = learn_noise(task, SETTINGS)
    stage1 = warm_up(task, SETTINGS)
    against = told[0]["contradicted"]
    assert stage1.ledger is not None
    assert against.dtype == bool
    assert 1 - against.mean() == pytest.approx(stage1.last["test"])
    assert (against != (stage1.ledger.mean_margin < 0)[train]).any()
    assert np.array_equal(found.noise.noise_rate, found.estimate.noise_rate)
