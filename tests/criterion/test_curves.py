"""The mean loss of a group over the epochs, where the group is known only at the end."""

import numpy as np

from ledgers import LOSSES, filled, go_on, ledger_of
from smallloss.criterion import history
from smallloss.criterion.history import LossCurves
from smallloss.criterion.ledger import LossLedger

EVERYONE = np.ones(20, bool)


def test_the_mean_of_a_group_in_each_epoch():
    group = np.arange(20) % 3 == 0
    np.testing.assert_allclose(filled(LOSSES).curves.mean(group), LOSSES[:, group].mean(1), rtol=1e-6)


def test_an_example_counts_only_in_the_epochs_that_saw_it():
    curves = ledger_of(3, [([0, 1], [1.0, 5.0])], [([1], [7.0])]).curves
    np.testing.assert_array_equal(curves.mean(np.array([True, True, False])), [3.0, 7.0])
    np.testing.assert_array_equal(curves.mean(np.array([True, False, True])), [1.0, np.nan])
    assert LossLedger(3).curves.mean(np.ones(3, bool)).shape == (0,)


def test_a_ledger_that_kept_none_is_blank_there_and_goes_on():
    state = filled(LOSSES[:2]).arrays()
    del state["curves"]
    old = go_on(LossLedger.from_arrays(state), LOSSES[2:3])
    np.testing.assert_allclose(old.curves.mean(EVERYONE), [np.nan, np.nan, LOSSES[2].mean()], rtol=1e-6)


def test_what_is_kept_has_a_bound(monkeypatch):
    monkeypatch.setattr(history, "SAMPLED", 10)
    monkeypatch.setattr(history, "EPOCHS", 3)
    sampled = filled(LOSSES).curves
    assert np.array(sampled.rows).shape == (3, 10)
    assert len(set(sampled.index.tolist())) == 10
    np.testing.assert_array_equal(sampled.index, LossCurves(20).index)
    np.testing.assert_allclose(sampled.mean(EVERYONE), LOSSES[:3, sampled.index].mean(1), rtol=1e-6)
