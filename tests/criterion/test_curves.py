"""The mean loss of a group over the epochs, where the group is known only at the end."""

import numpy as np
import pytest

from smallloss.criterion import history
from smallloss.criterion.history import LossCurves
from smallloss.criterion.ledger import LossLedger


@pytest.fixture
def losses() -> np.ndarray:
    return np.random.default_rng(0).exponential(size=(4, 30))


def filled(losses: np.ndarray) -> LossLedger:
    ledger = LossLedger(losses.shape[1])
    for row in losses:
        ledger.update(np.arange(len(row)), row)
        ledger.end_epoch()
    return ledger


def test_the_mean_of_a_group_in_each_epoch(losses):
    group = np.arange(30) % 3 == 0
    np.testing.assert_allclose(filled(losses).curves.mean(group), losses[:, group].mean(1), rtol=1e-6)


def test_an_example_counts_only_in_the_epochs_that_saw_it():
    ledger = LossLedger(3)
    ledger.update([0, 1], [1.0, 5.0])
    ledger.end_epoch()
    ledger.update([1], [7.0])
    ledger.end_epoch()
    np.testing.assert_array_equal(ledger.curves.mean(np.array([True, True, False])), [3.0, 7.0])
    np.testing.assert_array_equal(ledger.curves.mean(np.array([True, False, True])), [1.0, np.nan])
    assert LossLedger(3).curves.mean(np.ones(3, bool)).shape == (0,)


def test_they_go_through_a_stop(losses, tmp_path):
    whole, begun = filled(losses), filled(losses[:2])
    resumed = LossLedger.load(begun.save(tmp_path / "ledger.npz"))
    for row in losses[2:]:
        resumed.update(np.arange(30), row)
        resumed.end_epoch()
    np.testing.assert_array_equal(np.array(resumed.curves.rows), np.array(whole.curves.rows))


def test_a_ledger_that_kept_none_is_blank_there_and_goes_on(losses):
    state = filled(losses[:2]).arrays()
    del state["curves"]
    old = LossLedger.from_arrays(state)
    old.update(np.arange(30), losses[2])
    old.end_epoch()
    everyone = np.ones(30, bool)
    np.testing.assert_allclose(old.curves.mean(everyone), [np.nan, np.nan, losses[2].mean()], rtol=1e-6)


def test_ranks_fill_each_others_blanks(losses):
    ranks = [LossLedger(30), LossLedger(30)]
    for row in losses:
        for rank, ledger in enumerate(ranks):
            ledger.update(np.arange(rank, 30, 2), row[rank::2])
            ledger.end_epoch()
    merged = LossLedger.merge(*ranks)
    np.testing.assert_array_equal(np.array(merged.curves.rows), np.array(filled(losses).curves.rows))


def test_what_is_kept_has_a_bound(losses, monkeypatch):
    monkeypatch.setattr(history, "SAMPLED", 10)
    monkeypatch.setattr(history, "EPOCHS", 3)
    sampled = filled(losses).curves
    assert np.array(sampled.rows).shape == (3, 10)
    assert len(set(sampled.index.tolist())) == 10
    np.testing.assert_array_equal(sampled.index, LossCurves(30).index)
    np.testing.assert_allclose(sampled.mean(np.ones(30, bool)), losses[:3, sampled.index].mean(1), rtol=1e-6)
