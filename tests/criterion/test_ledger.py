"""The ledger's means are those of a plain float64 computation, whatever brings the losses."""

import numpy as np
import pytest
import torch

from ledgers import LOSSES, filled, go_on, ledger_of
from smallloss.criterion.ledger import LossLedger
from smallloss.errors import InputError

NAN = np.nan
LOGITS = [[2.0, 0.5, -1.0], [0.0, 1.0, 3.0]]
NEAR_3 = np.random.default_rng(1).exponential(1e-3, size=(1000, 5)).astype(np.float32) + np.float32(3)


@pytest.mark.parametrize("losses", [LOSSES, NEAR_3], ids=["few", "a thousand in float32"])
def test_mean_count_and_last(losses):
    ledger = filled(losses)
    np.testing.assert_allclose(ledger.mean_loss, losses.astype(np.float64).mean(axis=0), rtol=1e-13)
    assert ledger.epochs == len(losses)
    assert set(ledger.count.tolist()) == {len(losses)}
    np.testing.assert_array_equal(ledger.last_loss, losses[-1].astype(np.float32))


@pytest.mark.parametrize(
    "epochs, mean, last, count",
    [
        ([[([3, 0], [1, 2]), ([1], [5])], [([0], [4])]], [3, 5, NAN, 1], [4, 5, NAN, 1], [2, 1, 0, 1]),
        ([[([0, 1, 0], [1, 7, 3]), ([0], [5])], [([0], [9])]], [6, 7, NAN, NAN], [9, 7, NAN, NAN], [2, 1, 0, 0]),
    ],
    ids=["in any order, not every epoch", "a repeated one counts once per epoch"],
)
def test_examples_come_as_they_come(epochs, mean, last, count):
    ledger = ledger_of(4, *epochs)
    np.testing.assert_array_equal(ledger.mean_loss, mean)
    np.testing.assert_array_equal(ledger.last_loss, last)
    assert ledger.count.tolist() == count


@pytest.mark.parametrize(
    "logits",
    [LOGITS, np.array(LOGITS), torch.tensor(LOGITS, requires_grad=True), torch.tensor(LOGITS, dtype=torch.bfloat16)],
    ids=["list", "numpy", "torch", "bfloat16"],
)
@pytest.mark.parametrize("label", [[0, 1], (0, 1), np.array([0, 1], np.int32), torch.tensor([0, 1])])
def test_logits_of_any_kind_give_margin_probability_and_prediction(logits, label):
    ledger = LossLedger(3)
    ledger.update([1, 0], logits=logits, label=label)
    ledger.update([2], logits=[[1.0, 3.0]], label=[0])  # two classes are enough
    ledger.end_epoch()
    z = np.exp(LOGITS)
    right = [z[1, 1] / z[1].sum(), z[0, 0] / z[0].sum(), 1 / (1 + np.e**2)]
    np.testing.assert_allclose(ledger.mean_margin, [-2.0, 1.5, -2], rtol=1e-6)
    np.testing.assert_allclose(ledger.mean_probability, right, rtol=1e-6)
    np.testing.assert_allclose(ledger.mean_loss, -np.log(right), rtol=1e-6)
    assert ledger.predicted.tolist() == [2, 0, 1]
    np.testing.assert_allclose(ledger.score("mean_margin"), [2.0, -1.5, 2], rtol=1e-6)


def test_values_computed_by_an_engine_are_taken_as_they_are():
    ledger = LossLedger(2)
    ledger.update([0, 1], [0.1, 0.2], margin=[1.0, -2.0], probability=[0.9, 0.8], predicted=[4, 2])
    ledger.end_epoch()
    assert ledger.mean_margin.tolist() == [1.0, -2.0]
    assert ledger.mean_probability.tolist() == [0.9, 0.8]
    assert ledger.predicted.tolist() == [4, 2]


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_a_reused_buffer_cannot_change_what_was_recorded(make):
    index, loss = make([0, 1]), make([1.0, 2.0])
    ledger = LossLedger(4)
    ledger.update(index, loss)
    index += 2
    loss *= 10
    ledger.update(index, loss)
    loss *= 0
    ledger.end_epoch()
    assert ledger.mean_loss.tolist() == [1.0, 2.0, 10.0, 20.0]


def test_update_never_looks_at_a_value():
    """A tensor on the meta device has no values: anything that waited for one would raise."""
    index = torch.arange(4, device="meta")
    LossLedger(4).update(index, logits=torch.empty(4, 3, device="meta"), label=index)
    LossLedger(4).update(index, torch.empty(4, device="meta"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_update_never_synchronises_with_cuda():
    index, z = torch.arange(64, device="cuda"), torch.randn(64, 10, device="cuda")
    ledger = LossLedger(64)
    torch.cuda.set_sync_debug_mode("error")
    try:
        ledger.update(index, logits=z, label=index % 10)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    z.zero_()
    ledger.end_epoch()
    assert ledger.mean_loss.std() > 0.1


def test_mixed_devices_and_types_in_one_epoch():
    halves = torch.tensor([0.5], dtype=torch.float16), torch.tensor([0.5], dtype=torch.bfloat16)
    updates = [(np.array([0], np.int32), halves[0]), (torch.tensor([1, 2]), torch.tensor([1.5, 2.5])), ([3], [3.5])]
    assert ledger_of(5, [*updates, ([4], halves[1])]).mean_loss.tolist() == [0.5, 1.5, 2.5, 3.5, 0.5]


@pytest.mark.parametrize(
    "index, loss, sentence",
    [
        ([0, 2], [1.0, NAN], r"loss of index 2 is nan.* epoch 1; nothing"),
        ([1, 2], [np.inf, 1.0], r"loss of index 1 is inf.* epoch 1"),
        ([0, 3], [1.0, 1.0], r"Index 3 is outside 0\.\.2 in epoch 1"),
        ([-1, 0], [1.0, 1.0], r"Index -1 is outside"),
        ([0.0, 1.0], [1.0, 1.0], r"float64, not whole numbers"),
    ],
)
def test_a_bad_epoch_is_dropped_whole_and_the_ledger_goes_on(index, loss, sentence):
    ledger = ledger_of(3, [([0, 1, 2], [1.0, 2.0, 3.0])])
    before = ledger.arrays()
    ledger.update(np.array(index), np.array(loss))
    with pytest.raises(InputError, match=sentence):
        ledger.end_epoch()
    after = ledger.arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    ledger.update([0], [3.0])
    ledger.end_epoch()
    assert ledger.mean_loss.tolist() == [2.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "brought, sentence",
    [
        ({"logits": np.eye(2), "label": np.array([1, 2])}, "index 8 is nan, or its label is outside"),
        ({"logits": torch.eye(2), "label": torch.tensor([1, 2])}, "index 8 is nan, or its label is outside"),
        ({"loss": [0.1, 0.2], "probability": [0.5, 1.2]}, r"probability of index 8 is 1\.2"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_example(brought, sentence):
    ledger = LossLedger(9)
    ledger.update([7, 8], **brought)
    with pytest.raises(InputError, match=sentence):
        ledger.end_epoch()


@pytest.mark.parametrize(
    "brought, sentence",
    [
        ({"loss": 0.7}, "reduction="),
        ({"loss": [0.1, 0.2, 0.3]}, r"shape \(3,\), index has shape \(2,\)"),
        ({}, "either the losses, or logits="),
        ({"logits": np.zeros((2, 3))}, "together with label"),
        ({"loss": [0.1, 0.2], "label": [0, 1]}, "either the losses"),
        ({"logits": np.zeros((2, 3)), "label": np.zeros((2, 3))}, "give \\(batch, classes\\)"),
        ({"logits": np.zeros((2, 1)), "label": np.zeros(2)}, "two classes"),
        ({"loss": [1.0, 1.0], "margin": [0.0, 0.0]}, "brings loss, margin, earlier ones loss"),
        *(
            ({"logits": eye, "label": label}, "give each example's class as a number from 0 to c - 1")
            for label in ([0.0, 1.0], torch.tensor([0.0, 1.7]), ["a", "b"], [True, False])
            for eye in (np.eye(2), torch.eye(2))
        ),
    ],
)
def test_update_refuses_what_does_not_fit(brought, sentence):
    with pytest.raises(InputError, match=sentence):
        filled(LOSSES).update([0, 1], **brought)


@pytest.mark.parametrize(
    "use, sentence",
    [
        (lambda: filled(LOSSES).end_epoch(), "Epoch 7 has no update"),
        (lambda: filled(LOSSES).score("mean_margin"), "no margin"),
        (lambda: filled(LOSSES).predicted, "no predicted class"),
        (lambda: filled(LOSSES).score("loss"), "no score 'loss'"),
        (lambda: filled(LOSSES).score(window=(0, 6)), "history= to ask for any"),
        (lambda: LossLedger(0), "n, the number of examples, is 0; it must be at least 1"),
        (lambda: LossLedger(10.5), r"n, the number of examples, is 10\.5; it must be a whole number"),
        (lambda: LossLedger(3, window=5), r"window is 5: give \(start, stop\)"),
        (lambda: LossLedger(3, window=(-1, 3)), "start < stop"),
        (lambda: LossLedger(3, window=(3, 3)), "start < stop"),
        (lambda: LossLedger(3, window=(None, 0)), "start < stop"),
        (lambda: LossLedger(3, history="nowhere/h.npy"), r"nowhere/h.npy cannot be written: there is no folder"),
        (lambda: LossLedger.load("absent.npz"), "no ledger at"),
    ],
)
def test_misuse_is_explained(use, sentence):
    with pytest.raises(InputError, match=sentence):
        use()


@pytest.mark.parametrize("window", [(2, 5), (None, 3), (4, None), (0, 99)])
def test_window_at_construction(window):
    ledger, expected = filled(LOSSES, window=window), LOSSES[slice(*window)]
    np.testing.assert_allclose(ledger.score(), expected.mean(axis=0), rtol=1e-14)
    np.testing.assert_array_equal(ledger.score(window=window), ledger.score())
    assert ledger.count.tolist() == [len(expected)] * 20
    np.testing.assert_array_equal(ledger.last_loss, LOSSES[-1].astype(np.float32))
    everything = filled(LOSSES)
    np.testing.assert_array_equal(everything.score(window=(0, 7)), everything.mean_loss)


def test_history_answers_any_window_and_is_a_plain_npy(tmp_path):
    path = tmp_path / "losses.npy"
    ledger = LossLedger(20, history=path)
    for row in LOSSES:
        ledger.update(np.arange(10), row[:10], margin=-row[:10])
        ledger.end_epoch()
    for window in [(0, 1), (2, 5), (None, 3), (6, None)]:
        expected = LOSSES[slice(*window), :10].mean(axis=0)
        np.testing.assert_allclose(ledger.score(window=window)[:10], expected, rtol=1e-6)
        np.testing.assert_allclose(ledger.score("mean_margin", window)[:10], expected, rtol=1e-6)
    assert np.isnan(ledger.score(window=(2, 5))[10:]).all()
    on_disk = np.load(path, allow_pickle=False)
    assert on_disk.dtype == np.float32
    np.testing.assert_array_equal(on_disk[:, :10], LOSSES[:, :10].astype(np.float32))
    with pytest.raises(InputError, match="exists already"):
        LossLedger(20, history=path)


def test_history_goes_on_from_a_checkpoint(tmp_path):
    path, short = tmp_path / "losses.npy", tmp_path / "short.npy"
    ledger = filled(LOSSES[:3], history=path)
    state = ledger.arrays()
    go_on(ledger, LOSSES[6:])  # the epoch that the killed run wrote and did not save
    resumed = go_on(LossLedger.from_arrays(state, history=path), LOSSES[3:])
    np.testing.assert_array_equal(np.load(path), LOSSES.astype(np.float32))
    np.save(short, np.load(path)[:2])
    with pytest.raises(InputError, match="not 7 epochs of 20"):
        LossLedger.from_arrays(resumed.arrays(), history=short)


def test_save_and_load_are_byte_equal_also_once_it_goes_on(tmp_path):
    ledger = LossLedger(20, window=(1, None))
    for row in LOSSES:
        ledger.update(np.arange(20), row, margin=-row, probability=np.exp(-row), predicted=np.arange(20) % 3)
        ledger.end_epoch()
    ledger.update(np.arange(3), LOSSES[0, :3], margin=[0, 0, 0], probability=[1, 1, 1], predicted=[0, 0, 0])
    first = ledger.save(tmp_path / "a.npz")
    again = LossLedger.load(first)
    assert again.save(tmp_path / "b.npz").read_bytes() == first.read_bytes()
    ledger.end_epoch()
    again.end_epoch()
    assert again.save(tmp_path / "b.npz").read_bytes() == ledger.save(tmp_path / "a.npz").read_bytes()


def test_a_damaged_file_is_a_sentence(tmp_path):
    path = filled(LOSSES).save(tmp_path / "ledger.npz")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="cannot be read as an npz file"):
        LossLedger.load(path)
    np.savez(path, count=np.zeros(3))
    with pytest.raises(InputError, match="lacks epochs, last_epoch, last_loss, window"):
        LossLedger.load(path)
