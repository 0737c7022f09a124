"""The ledger's means are those of a plain float64 computation, whatever brings the losses."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from smallloss.criterion.ledger import LossLedger
from smallloss.errors import InputError


def filled(losses, **options):
    """A ledger with one epoch per row of `losses`."""
    ledger = LossLedger(losses.shape[1], **options)
    for row in losses:
        ledger.update(np.arange(len(row)), row)
        ledger.end_epoch()
    return ledger


@pytest.fixture
def losses():
    return np.random.default_rng(0).exponential(size=(7, 20))


def test_mean_count_and_last(losses):
    ledger = filled(losses)
    np.testing.assert_allclose(ledger.mean_loss, losses.mean(axis=0), rtol=1e-15)
    assert ledger.epochs == 7
    assert ledger.count.tolist() == [7] * 20
    np.testing.assert_array_equal(ledger.last_loss, losses[-1].astype(np.float32))


def test_a_thousand_float32_updates_keep_the_float64_mean():
    values = np.random.default_rng(1).exponential(1e-3, size=(1000, 5)).astype(np.float32) + np.float32(3)
    np.testing.assert_allclose(filled(values).mean_loss, values.astype(np.float64).mean(axis=0), atol=1e-6)


def test_examples_come_in_any_order_and_not_every_epoch():
    ledger = LossLedger(4)
    ledger.update([3, 0], [1.0, 2.0])
    ledger.update([1], [5.0])
    ledger.end_epoch()
    ledger.update([0], [4.0])
    ledger.end_epoch()
    np.testing.assert_array_equal(ledger.mean_loss, [3.0, 5.0, np.nan, 1.0])
    np.testing.assert_array_equal(ledger.last_loss, [4.0, 5.0, np.nan, 1.0])
    assert ledger.count.tolist() == [2, 1, 0, 1]


def test_repeated_example_counts_once_per_epoch():
    ledger = LossLedger(3)
    ledger.update([0, 1, 0], [1.0, 7.0, 3.0])
    ledger.update([0], [5.0])
    ledger.end_epoch()
    ledger.update([0], [9.0])
    ledger.end_epoch()
    np.testing.assert_array_equal(ledger.mean_loss, [(3.0 + 9.0) / 2, 7.0, np.nan])
    assert ledger.count.tolist() == [2, 1, 0]


@pytest.mark.parametrize("kind", ["numpy", "torch", "bfloat16"])
def test_logits_give_margin_probability_and_prediction(kind):
    z = np.array([[2.0, 0.5, -1.0], [0.0, 1.0, 3.0]])
    label = np.array([0, 1])
    ledger = LossLedger(2)
    if kind == "numpy":
        ledger.update(np.array([1, 0]), logits=z, label=label)
    else:
        logits = torch.tensor(z, dtype=torch.bfloat16 if kind == "bfloat16" else torch.float32)
        ledger.update(torch.tensor([1, 0]), logits=logits.requires_grad_(), label=torch.tensor(label))
    ledger.end_epoch()
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ledger.mean_margin, [-2.0, 1.5], rtol=1e-6)
    np.testing.assert_allclose(ledger.mean_probability, [p[1, 1], p[0, 0]], rtol=1e-6)
    np.testing.assert_allclose(ledger.mean_loss, -np.log([p[1, 1], p[0, 0]]), rtol=1e-6)
    assert ledger.predicted.tolist() == [2, 0]
    np.testing.assert_allclose(ledger.score("mean_margin"), [2.0, -1.5], rtol=1e-6)


@pytest.mark.parametrize(
    "logits", [[[2.0, 0.5, -1.0], [0.0, 1.0, 3.0]], torch.tensor([[2.0, 0.5, -1.0], [0.0, 1.0, 3.0]])]
)
@pytest.mark.parametrize("label", [[0, 1], np.array([0, 1], np.int32), torch.tensor([0, 1]), (0, 1)])
def test_logits_and_labels_of_any_mixture(logits, label):
    """Lists, arrays and tensors, as batches of other libraries have them."""
    ledger = LossLedger(2)
    ledger.update([1, 0], logits=logits, label=label)
    ledger.end_epoch()
    np.testing.assert_allclose(ledger.mean_margin, [-2.0, 1.5], rtol=1e-6)


def test_two_classes_are_enough():
    ledger = LossLedger(1)
    ledger.update([0], logits=[[1.0, 3.0]], label=[0])
    ledger.end_epoch()
    np.testing.assert_allclose(ledger.mean_margin, [-2.0])


@pytest.mark.parametrize("label", [[0.0, 1.0], torch.tensor([0.0, 1.7]), ["a", "b"], [True, False]])
def test_labels_beside_logits_are_class_numbers(label):
    for logits in (np.eye(2), torch.eye(2)):
        with pytest.raises(InputError, match="give each example's class as a number from 0 to c - 1"):
            LossLedger(2).update([0, 1], logits=logits, label=label)


def test_losses_of_bfloat16_are_taken():
    ledger = LossLedger(2)
    ledger.update(torch.tensor([0, 1]), torch.tensor([0.5, 2.0], dtype=torch.bfloat16))
    ledger.end_epoch()
    assert ledger.mean_loss.tolist() == [0.5, 2.0]


def test_a_ledger_says_what_it_holds(tmp_path):
    ledger = LossLedger(3)
    assert repr(ledger) == "<LossLedger of 3 examples: nothing recorded>"
    ledger.update([0], [1.0])
    assert repr(ledger) == "<LossLedger of 3 examples: an open epoch>"
    ledger.end_epoch()
    assert repr(ledger) == "<LossLedger of 3 examples: 1 epochs of loss, 2 never seen>"
    with pytest.raises(InputError, match=r"nowhere/h.npy cannot be written: there is no folder"):
        LossLedger(3, history=tmp_path / "nowhere" / "h.npy")


def test_values_computed_by_an_engine_are_taken_as_they_are():
    ledger = LossLedger(2)
    ledger.update([0, 1], [0.1, 0.2], margin=[1.0, -2.0], probability=[0.9, 0.8], predicted=[4, 2])
    ledger.end_epoch()
    assert ledger.mean_margin.tolist() == [1.0, -2.0]
    assert ledger.mean_probability.tolist() == [0.9, 0.8]
    assert ledger.predicted.tolist() == [4, 2]


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_reused_buffer_cannot_change_what_was_recorded(library):
    make = torch.tensor if library == "torch" else np.array
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
    ledger = LossLedger(4)
    index = torch.arange(4, device="meta")
    ledger.update(index, logits=torch.empty(4, 3, device="meta"), label=index)
    ledger = LossLedger(4)
    ledger.update(index, torch.empty(4, device="meta"))


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
    ledger = LossLedger(4)
    ledger.update(np.array([0], np.int32), torch.tensor([0.5], dtype=torch.float16))
    ledger.update(torch.tensor([1, 2]), torch.tensor([1.5, 2.5]))
    ledger.update([3], [3.5])
    ledger.end_epoch()
    assert ledger.mean_loss.tolist() == [0.5, 1.5, 2.5, 3.5]


def test_importing_the_ledger_does_not_import_torch():
    code = "import sys, smallloss.criterion.selection; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("index", "loss", "sentence"),
    [
        ([0, 2], [1.0, float("nan")], r"loss of index 2 is nan.* epoch 1; nothing"),
        ([1, 2], [float("inf"), 1.0], r"loss of index 1 is inf.* epoch 1"),
        ([0, 3], [1.0, 1.0], r"Index 3 is outside 0\.\.2 in epoch 1"),
        ([-1, 0], [1.0, 1.0], r"Index -1 is outside"),
        ([0.0, 1.0], [1.0, 1.0], r"float64, not whole numbers"),
    ],
)
def test_a_bad_epoch_is_dropped_whole_and_the_ledger_goes_on(index, loss, sentence):
    ledger = LossLedger(3)
    ledger.update([0, 1, 2], [1.0, 2.0, 3.0])
    ledger.end_epoch()
    before = ledger.arrays()
    ledger.update(np.array(index), np.array(loss))
    with pytest.raises(InputError, match=sentence):
        ledger.end_epoch()
    after = ledger.arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    ledger.update([0], [3.0])
    ledger.end_epoch()
    assert ledger.mean_loss.tolist() == [2.0, 2.0, 3.0]


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_label_outside_the_logits_is_named(make):
    ledger = LossLedger(9)
    ledger.update(make([7, 8]), logits=make([[0.0, 1.0], [0.0, 1.0]]), label=make([1, 2]))
    with pytest.raises(InputError, match="index 8 is nan, or its label is outside"):
        ledger.end_epoch()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"loss": 0.7}, "reduction="),
        ({"loss": [0.1, 0.2, 0.3]}, r"shape \(3,\), index has shape \(2,\)"),
        ({}, "either the losses, or logits="),
        ({"logits": np.zeros((2, 3))}, "together with label"),
        ({"loss": [0.1, 0.2], "label": [0, 1]}, "either the losses"),
        ({"logits": np.zeros((2, 3)), "label": np.zeros((2, 3))}, "give \\(batch, classes\\)"),
        ({"logits": np.zeros((2, 1)), "label": np.zeros(2)}, "two classes"),
    ],
)
def test_update_refuses_shapes_that_do_not_fit(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        LossLedger(5).update([0, 1], **arguments)


def test_probability_outside_its_range_is_named():
    ledger = LossLedger(2)
    ledger.update([0, 1], [0.1, 0.2], probability=[0.5, 1.2])
    with pytest.raises(InputError, match=r"probability of index 1 is 1\.2"):
        ledger.end_epoch()


def test_every_update_brings_the_same_columns(losses):
    ledger = filled(losses)
    with pytest.raises(InputError, match="brings loss, margin, earlier ones loss"):
        ledger.update([0], [1.0], margin=[0.0])


def test_other_misuse_is_explained(losses):
    ledger = filled(losses)
    with pytest.raises(InputError, match="Epoch 7 has no update"):
        ledger.end_epoch()
    with pytest.raises(InputError, match="no margin"):
        ledger.score("mean_margin")
    with pytest.raises(InputError, match="no predicted class"):
        _ = ledger.predicted
    with pytest.raises(InputError, match="no score 'loss'"):
        ledger.score("loss")
    with pytest.raises(InputError, match="n, the number of examples, is 0; it must be at least 1"):
        LossLedger(0)
    with pytest.raises(InputError, match=r"n, the number of examples, is 10\.5; it must be a whole number"):
        LossLedger(10.5)
    with pytest.raises(InputError, match=r"window is 5: give \(start, stop\)"):
        LossLedger(3, window=5)
    for window in [(-1, 3), (3, 3), (None, 0)]:
        with pytest.raises(InputError, match="start < stop"):
            LossLedger(3, window=window)


@pytest.mark.parametrize("window", [(2, 5), (None, 3), (4, None), (0, 99)])
def test_window_at_construction(losses, window):
    ledger = filled(losses, window=window)
    expected = losses[slice(*window)]
    np.testing.assert_allclose(ledger.score(), expected.mean(axis=0), rtol=1e-14)
    np.testing.assert_array_equal(ledger.score(window=window), ledger.score())
    assert ledger.count.tolist() == [len(expected)] * 20
    np.testing.assert_array_equal(ledger.last_loss, losses[-1].astype(np.float32))


def test_a_window_without_history_is_refused_unless_it_is_all(losses):
    ledger = filled(losses)
    np.testing.assert_array_equal(ledger.score(window=(0, 7)), ledger.mean_loss)
    with pytest.raises(InputError, match="history= to ask for any"):
        ledger.score(window=(0, 6))


def test_history_answers_any_window_and_is_a_plain_npy(losses, tmp_path):
    path = tmp_path / "losses.npy"
    ledger = LossLedger(20, history=path)
    for row in losses:
        ledger.update(np.arange(10), row[:10], margin=-row[:10])
        ledger.end_epoch()
    for window in [(0, 1), (2, 5), (None, 3), (6, None)]:
        expected = losses[slice(*window), :10].mean(axis=0)
        np.testing.assert_allclose(ledger.score(window=window)[:10], expected, rtol=1e-6)
        np.testing.assert_allclose(ledger.score("mean_margin", window)[:10], expected, rtol=1e-6)
    assert np.isnan(ledger.score(window=(2, 5))[10:]).all()
    on_disk = np.load(path, allow_pickle=False)
    assert on_disk.dtype == np.float32
    np.testing.assert_array_equal(on_disk[:, :10], losses[:, :10].astype(np.float32))
    with pytest.raises(InputError, match="exists already"):
        LossLedger(20, history=path)


def test_history_goes_on_from_a_checkpoint(losses, tmp_path):
    path = tmp_path / "losses.npy"
    ledger = filled(losses[:3], history=path)
    state = ledger.arrays()
    ledger.update(np.arange(20), losses[6])  # the epoch that the killed run wrote and did not save
    ledger.end_epoch()
    resumed = LossLedger.from_arrays(state, history=path)
    for row in losses[3:]:
        resumed.update(np.arange(20), row)
        resumed.end_epoch()
    np.testing.assert_array_equal(np.load(path), losses.astype(np.float32))
    with pytest.raises(InputError, match="not 7 epochs of 20"):
        LossLedger.from_arrays(resumed.arrays(), history=_truncated(path))


def _truncated(path):
    other = path.with_name("short.npy")
    np.save(other, np.load(path)[:2])
    return other


def test_save_and_load_are_byte_equal(losses, tmp_path):
    ledger = LossLedger(20, window=(1, None))
    for row in losses:
        ledger.update(np.arange(20), row, margin=-row, probability=np.exp(-row), predicted=np.arange(20) % 3)
        ledger.end_epoch()
    ledger.update(np.arange(3), losses[0, :3], margin=[0, 0, 0], probability=[1, 1, 1], predicted=[0, 0, 0])
    first = ledger.save(tmp_path / "a.npz")
    again = LossLedger.load(first)
    assert again.save(tmp_path / "b.npz").read_bytes() == first.read_bytes()
    ledger.end_epoch()
    again.end_epoch()
    assert again.save(tmp_path / "b.npz").read_bytes() == ledger.save(tmp_path / "a.npz").read_bytes()


def test_a_damaged_file_is_a_sentence(losses, tmp_path):
    path = filled(losses).save(tmp_path / "ledger.npz")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="damaged or not a ledger"):
        LossLedger.load(path)
    np.savez(path, count=np.zeros(3))
    with pytest.raises(InputError, match="lacks epochs, last_epoch, last_loss, window"):
        LossLedger.load(path)
    with pytest.raises(InputError, match="no ledger at"):
        LossLedger.load(tmp_path / "absent.npz")
