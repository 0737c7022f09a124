"""Confident learning as a method: what the rule removes is not learnt, and nothing else is left out."""

import numpy as np

from small import settings
from smallloss import methods
from smallloss.methods.cross import out_of_sample
from smallloss.noise.confident import label_issues
from smallloss.noise.model import NoiseModel


def test_it_keeps_exactly_what_the_rule_leaves(make_task):
    task, how = make_task(), settings()
    learned = methods.get("confident_learning").train(task, how, NoiseModel(noise_rate=0.9))
    probabilities = np.nanmean(out_of_sample(make_task(), how), axis=0, dtype=np.float64)
    issue = label_issues(probabilities[task.train], task.dataset.labels[task.train])
    assert np.array_equal(learned.selection.mask, ~issue)
    assert np.array_equal(learned.selection.is_label_issue, issue)
    assert 0 < issue.sum() < 40
    assert set(learned.stages) == {"half0", "half1", "confident_learning"}  # what it costs: no stage 1
