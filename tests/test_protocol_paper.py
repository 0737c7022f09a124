"""The protocol of the paper: an epoch is chosen by true labels, and its accuracy is the one reported."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from smallloss.data.dataset import Dataset
from smallloss.engine.networks import Network
from smallloss.engine.recipe import Recipe
from smallloss.engine.stage import Fitted
from smallloss.engine.task import Check
from smallloss.methods.small_loss import Learned
from smallloss.run.pipeline import accuracy_of
from smallloss.run.prepare import divide


@pytest.mark.parametrize("protocol, labels", [("paper", "true_labels"), ("honest", "labels")])
def test_what_the_validation_part_is_compared_with(protocol, labels, tiny: Dataset):
    """Of 96 labels every fifth is wrong, so the two kinds of labels differ in any tenth that is drawn here."""
    dataset = replace(tiny, test=tiny)
    _, checks, accuracy_on, used = divide(dataset, protocol, 3, np.arange(len(tiny)))
    validation = checks["validation"]
    assert used == protocol
    assert validation.labels.tolist() == getattr(tiny, labels)[validation.index].tolist()
    assert (tiny.labels != tiny.true_labels)[validation.index].any()
    assert accuracy_on == "the official test set (96 examples)"


def learned(net: Any, history: list[dict[str, Any]]) -> Learned:
    rows = [{"seconds": 1.0, **row} for row in history]
    return Learned(
        "rsl", Fitted("rsl", "small-convnet", Network(net.eval(), torch.device("cpu")), rows, None, Recipe())
    )


def test_the_best_accuracy_is_that_of_the_epoch_that_validates_best(make_task, make_net):
    """Neither the best on the test set, which nobody may choose by, nor the last."""
    task = make_task()
    task.checks["test"] = Check(task.dataset, task.held_out, task.dataset.true_labels[task.held_out])
    curve = [(0.2, 0.9), (0.7, 0.5), (0.6, 0.4)]
    history = [{"validation": validation, "test": test} for validation, test in curve]
    found = accuracy_of(task, "rsl", learned(make_net(), history))
    assert (found.best, found.last, found.mean_of_last_ten) == (0.5, 0.4, None)
    assert len(found.right) == len(task.held_out)


def test_where_nothing_validates_no_epoch_is_the_best(make_task, make_net):
    task = make_task()
    task.checks = {"test": task.checks["validation"]}
    history = [{"test": epoch / 20} for epoch in range(12)]
    found = accuracy_of(task, "rsl", learned(make_net(), history))
    assert (found.best, found.last) == (None, 11 / 20)
    assert found.mean_of_last_ten == pytest.approx(np.mean(range(2, 12)) / 20)
