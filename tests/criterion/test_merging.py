"""Ledgers of several ranks become one."""

import numpy as np
import pytest

from ledgers import LOSSES, filled, ledger_of
from smallloss.criterion.ledger import LossLedger
from smallloss.errors import InputError


def assert_same(merged, one):
    np.testing.assert_allclose(merged.mean_loss, one.mean_loss, rtol=1e-14)
    np.testing.assert_allclose(merged.last_loss, one.last_loss, rtol=1e-6)
    np.testing.assert_array_equal(merged.count, one.count)
    assert merged.epochs == one.epochs


def shards(epoch, ranks):
    """Different ones in each epoch, as a distributed sampler deals them."""
    order = np.random.default_rng(epoch).permutation(20)
    return [order[rank::ranks] for rank in range(ranks)]


def test_merging_disjoint_shards_equals_one_ledger():
    ranks = [
        ledger_of(20, *([(shards(epoch, 3)[rank], row[shards(epoch, 3)[rank]])] for epoch, row in enumerate(LOSSES)))
        for rank in range(3)
    ]
    merged, one = LossLedger.merge(*ranks), filled(LOSSES)
    assert_same(merged, one)
    np.testing.assert_array_equal(np.array(merged.curves.rows), np.array(one.curves.rows))


def test_merging_open_epochs_counts_padded_duplicates_once():
    one, total = LossLedger(20), LossLedger(20)
    for epoch, row in enumerate(LOSSES):
        order = np.random.default_rng(epoch).permutation(20)
        padded = np.append(order, order[0])
        ranks = [LossLedger(20) for _ in range(3)]
        for rank, ledger in enumerate(ranks):
            ledger.update(padded[rank::3], row[padded[rank::3]])
        one.update(padded, row[padded])
        one.end_epoch()
        total = LossLedger.merge(total, *(LossLedger.from_arrays(rank.arrays()) for rank in ranks))
        total.end_epoch()
    assert_same(total, one)


def test_merging_closed_overlapping_shards_keeps_the_mean_of_all_records():
    halves = [(np.arange(12), slice(12), 0), (np.arange(8, 20), slice(8, None), 1)]
    ranks = [ledger_of(20, *([(index, row[some] + more)] for row in LOSSES)) for index, some, more in halves]
    both = ([(index, row[some] + more) for index, some, more in halves] for row in LOSSES)
    assert_same(LossLedger.merge(*ranks), ledger_of(20, *both))


@pytest.mark.parametrize("window", [None, (2, 5)])
def test_every_rank_may_go_on_from_the_merged_ledger(window):
    """Epochs that all have in common count once, though each drops some of its examples, as drop_last does."""
    one = LossLedger(20, window=window)
    ranks = [LossLedger(20, window=window) for _ in range(2)]
    for epoch, row in enumerate(LOSSES):
        order = np.random.default_rng(epoch).permutation(20)[:16]
        for rank, ledger in enumerate(ranks):
            ledger.update(order[rank::2], row[order[rank::2]], predicted=order[rank::2] + epoch)
        one.update(order, row[order], predicted=order + epoch)
        one.end_epoch()
        gathered = LossLedger.merge(*ranks)
        gathered.end_epoch()
        ranks = [LossLedger.from_arrays(gathered.arrays()) for _ in ranks]
    for ledger in ranks:
        assert_same(ledger, one)
        np.testing.assert_array_equal(ledger.last_loss, one.last_loss)
        np.testing.assert_array_equal(ledger.predicted, one.predicted)
        np.testing.assert_array_equal(np.array(ledger.curves.rows), np.array(one.curves.rows))


def test_the_last_loss_is_the_mean_of_all_ranks_that_saw_it_last():
    merged = LossLedger.merge(*(ledger_of(2, [([0], [loss])]) for loss in (0.0, 0.5, 4.0)))
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


def with_margin():
    ledger = LossLedger(20)
    ledger.update([0], [1.0], margin=[2.0])
    return ledger


@pytest.mark.parametrize(
    "ledgers, sentence",
    [
        ([LossLedger(3), LossLedger(4)], "Ledger 1 is for 4 examples"),
        ([LossLedger(3), LossLedger(3, window=(1, None))], "Ledger 1 is for 3 examples and window"),
        ([], "merge takes ledgers one after another"),
        ([[LossLedger(3), LossLedger(3)]], "merge takes ledgers one after another"),
        ([filled(LOSSES), with_margin()], "Ledger 1 holds loss, margin, others loss: give the same"),
        ([filled(LOSSES), filled(LOSSES[:5])], "Ledger 1 has closed 5 epochs, another 7"),
    ],
)
def test_only_ledgers_of_one_run_are_merged(ledgers, sentence):
    with pytest.raises(InputError, match=sentence):
        LossLedger.merge(*ledgers)
