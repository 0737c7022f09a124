"""Ledgers of several ranks become one."""

import numpy as np
import pytest

from smallloss.criterion.ledger import LossLedger
from smallloss.errors import InputError


@pytest.fixture
def losses():
    """Seven epochs of twenty examples."""
    return np.random.default_rng(0).exponential(size=(7, 20))


def filled(losses):
    ledger = LossLedger(losses.shape[1])
    for row in losses:
        ledger.update(np.arange(len(row)), row)
        ledger.end_epoch()
    return ledger


def test_merging_disjoint_shards_equals_one_ledger(losses):
    """Shards change from epoch to epoch, as a distributed sampler deals them."""
    one, ranks = filled(losses), [LossLedger(20) for _ in range(3)]
    for epoch, row in enumerate(losses):
        order = np.random.default_rng(epoch).permutation(20)
        for rank, ledger in enumerate(ranks):
            ledger.update(order[rank::3], row[order[rank::3]])
            ledger.end_epoch()
    merged = LossLedger.merge(*ranks)
    np.testing.assert_allclose(merged.mean_loss, one.mean_loss, rtol=1e-14)
    np.testing.assert_array_equal(merged.last_loss, one.last_loss)
    np.testing.assert_array_equal(merged.count, one.count)
    assert merged.epochs == 7


def test_merging_open_epochs_counts_padded_duplicates_once(losses):
    one, total = LossLedger(20), LossLedger(20)
    for epoch, row in enumerate(losses):
        order = np.random.default_rng(epoch).permutation(20)
        padded = np.append(order, order[0])
        ranks = [LossLedger(20) for _ in range(3)]
        for rank, ledger in enumerate(ranks):
            ledger.update(padded[rank::3], row[padded[rank::3]])
        one.update(padded, row[padded])
        one.end_epoch()
        total = LossLedger.merge(total, *(LossLedger.from_arrays(rank.arrays()) for rank in ranks))
        total.end_epoch()
    np.testing.assert_allclose(total.mean_loss, one.mean_loss, rtol=1e-15)
    np.testing.assert_array_equal(total.count, one.count)


def test_merging_closed_overlapping_shards_keeps_the_mean_of_all_records(losses):
    one, ranks = LossLedger(20), [LossLedger(20), LossLedger(20)]
    for row in losses:
        halves = [(np.arange(12), row[:12]), (np.arange(8, 20), row[8:] + 1)]
        for ledger, (index, values) in zip(ranks, halves, strict=True):
            ledger.update(index, values)
            ledger.end_epoch()
            one.update(index, values)
        one.end_epoch()
    merged = LossLedger.merge(*ranks)
    np.testing.assert_allclose(merged.mean_loss, one.mean_loss, rtol=1e-14)
    np.testing.assert_allclose(merged.last_loss, one.last_loss, rtol=1e-6)
    np.testing.assert_array_equal(merged.count, one.count)


def test_only_ledgers_of_one_run_are_merged(losses):
    with pytest.raises(InputError, match="Ledger 1 is for 4 examples"):
        LossLedger.merge(LossLedger(3), LossLedger(4))
    with pytest.raises(InputError, match="Ledger 1 is for 3 examples and window"):
        LossLedger.merge(LossLedger(3), LossLedger(3, window=(1, None)))
    for not_ledgers in ((), ([LossLedger(3), LossLedger(3)],)):
        with pytest.raises(InputError, match=r"merge takes ledgers one after another"):
            LossLedger.merge(*not_ledgers)
    with_margin = LossLedger(20)
    with_margin.update([0], [1.0], margin=[2.0])
    with pytest.raises(InputError, match=r"Ledger 1 holds loss, margin, others loss: give the same"):
        LossLedger.merge(filled(losses), with_margin)
    with pytest.raises(InputError, match=r"Ledger 1 has closed 5 epochs, another 7"):
        LossLedger.merge(filled(losses), filled(losses[:5]))


@pytest.mark.parametrize("window", [None, (2, 5)])
def test_every_rank_may_go_on_from_the_merged_ledger(losses, window):
    """Epochs that all have in common count once, though each drops some of its examples, as drop_last does."""
    one = LossLedger(20, window=window)
    ranks = [LossLedger(20, window=window) for _ in range(2)]
    for epoch, row in enumerate(losses):
        order = np.random.default_rng(epoch).permutation(20)[:16]
        for rank, ledger in enumerate(ranks):
            ledger.update(order[rank::2], row[order[rank::2]], predicted=order[rank::2] + epoch)
        one.update(order, row[order], predicted=order + epoch)
        one.end_epoch()
        gathered = LossLedger.merge(*ranks)
        gathered.end_epoch()
        ranks = [LossLedger.from_arrays(gathered.arrays()) for _ in ranks]
    for ledger in ranks:
        np.testing.assert_allclose(ledger.mean_loss, one.mean_loss, rtol=1e-14)
        np.testing.assert_array_equal(ledger.count, one.count)
        np.testing.assert_array_equal(ledger.last_loss, one.last_loss)
        np.testing.assert_array_equal(ledger.predicted, one.predicted)
        np.testing.assert_array_equal(np.array(ledger.curves.rows), np.array(one.curves.rows))
        assert ledger.epochs == 7


def test_the_last_loss_is_the_mean_of_all_ranks_that_saw_it_last():
    ranks = [LossLedger(2) for _ in range(3)]
    for ledger, loss in zip(ranks, (0.0, 0.5, 4.0), strict=True):
        ledger.update([0], [loss])
        ledger.end_epoch()
    merged = LossLedger.merge(*ranks)
    assert merged.last_loss[0] == merged.mean_loss[0] == 1.5
    assert np.isnan(merged.last_loss[1])
    assert merged.count.tolist() == [1, 0]


def test_predictions_come_from_whoever_saw_an_example_last():
    first, second = LossLedger(3), LossLedger(3)
    for ledger, epochs in ((first, ([0, 1], [0])), (second, ([2], [1, 2]))):
        for epoch, index in enumerate(epochs):
            ledger.update(index, np.ones(len(index)), predicted=np.array(index) + 10 * epoch)
            ledger.end_epoch()
    assert LossLedger.merge(first, second).predicted.tolist() == [10, 11, 12]
    assert LossLedger.merge(second, first).predicted.tolist() == [10, 11, 12]
