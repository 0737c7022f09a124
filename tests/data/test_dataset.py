from dataclasses import replace

import numpy as np
import pytest

from smallloss.data import dataset as module
from smallloss.data.dataset import Dataset
from smallloss.errors import InputError


def pictures(n=6, **extra):
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, 256, (n, 4, 5, 3), dtype=np.uint8)
    return Dataset(inputs, np.arange(n) % 2, ("a", "b"), **extra)


def test_mean_and_std_are_per_channel_in_units_of_one(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK_BYTES", 130)  # two pictures at a time: the chunks must add up
    data = pictures(7)
    values = data.inputs.reshape(-1, 3) / 255
    np.testing.assert_allclose(data.mean, values.mean(0))
    np.testing.assert_allclose(data.std, values.std(0))


def test_features_far_from_zero_keep_their_spread_and_constant_ones_do_not_divide_by_zero():
    x = np.stack([np.array([1e6, 1e6 + 1, 1e6 + 2]), np.full(3, 5.0)], axis=1).astype(np.float32)
    data = Dataset(x, np.zeros(3, np.int64), ("a",))
    assert data.in_shape == (2,)
    np.testing.assert_allclose(data.mean, [1e6 + 1, 5])
    np.testing.assert_allclose(data.std, [np.sqrt(2 / 3), 1])


@pytest.mark.parametrize("units, crowd", [(16, 1.0), (4, 2.0)])
def test_features_beyond_the_units_of_the_net_for_them_are_seen_smaller(units, crowd, monkeypatch):
    monkeypatch.setattr("smallloss.data.dataset.HIDDEN", units)
    x = np.random.default_rng(0).normal(size=(20, 16)).astype(np.float32)
    data = Dataset(x, np.zeros(20, np.int64), ("a",))
    np.testing.assert_allclose(data.std, crowd * x.astype(float).std(0), rtol=1e-6)


def test_the_fingerprint_knows_inputs_labels_and_shape(monkeypatch, tmp_path):
    data = pictures()
    assert (len(data), data.in_shape, list(data.ids)) == (6, (3, 4, 5), list("012345"))
    same = data.fingerprint()
    changed = data.inputs.copy()
    changed[3, 0, 0, 0] ^= 1
    others = [
        Dataset(changed, data.labels, data.classes),
        data.with_labels(1 - data.labels),
        Dataset(data.inputs.reshape(6, 5, 4, 3), data.labels, data.classes),
        Dataset(data.inputs, data.labels, ("a", "c")),
    ]
    assert len({same, *(other.fingerprint() for other in others)}) == 5
    monkeypatch.setattr(module, "_CHUNK_BYTES", 130)
    np.save(tmp_path / "x.npy", data.inputs)
    for inputs in (np.load(tmp_path / "x.npy", mmap_mode="r"), np.asfortranarray(data.inputs)):
        assert Dataset(inputs, data.labels, data.classes).fingerprint() == same


def test_other_labels_and_some_rows_keep_the_rest():
    data = pictures(true_labels=np.array([0, 0, 1, 1, 0, 1]))
    noisy = data.with_labels([1, 1, 1, 0, 0, 0])
    assert (noisy.labels.tolist(), data.labels.tolist()) == ([1, 1, 1, 0, 0, 0], [0, 1] * 3)
    part = noisy.take(np.array([4, 1]))
    assert (list(part.ids), part.labels.tolist(), part.true_labels.tolist()) == (["4", "1"], [0, 1], [0, 0])
    assert (part.inputs == data.inputs[[4, 1]]).all()
    assert (part.mean == data.mean).all()
    with pytest.raises(InputError, match="code 2 at index 5"):
        data.with_labels([0, 0, 0, 0, 0, 2])


@pytest.mark.parametrize(
    "inputs, labels, extra, sentence",
    [
        (np.zeros((2, 3, 3), np.uint8), [0, 0], {}, "not uint8 of shape"),
        (np.zeros((2, 3), np.float64), [0, 0], {}, "not float64"),
        (np.zeros((0, 3), np.float32), [], {}, "no examples"),
        (np.zeros((2, 3), np.float32), [0], {}, r"2 inputs but labels of shape \(1,\)"),
        (np.zeros((2, 3), np.float32), [0, -1], {}, "code -1 at index 1"),
        (np.zeros((2, 3), np.float32), [0, 0], {"true_labels": np.array([0, 9])}, "true labels .* code 9"),
        (np.zeros((2, 3), np.float32), [0, 0], {"ids": ["a"]}, "2 inputs but 1 ids"),
        (np.zeros((2, 3), np.float32), [0, 0], {"shown": ["a"]}, "2 inputs but 1 texts to show"),
    ],
)
def test_what_does_not_fit_is_refused(inputs, labels, extra, sentence):
    with pytest.raises(InputError, match=sentence):
        Dataset(inputs, np.array(labels, dtype=np.int64), ("a", "b"), **extra)


def test_a_test_part_is_normalised_like_the_training_part():
    """Two odd examples must not be judged by their own mean; what is said outright stays."""
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    odd = Dataset(rows[:2] + 100, np.array([0, 1]), ("a", "b"))
    data = Dataset(rows, np.array([0, 1] * 3), ("a", "b"), test=odd)
    np.testing.assert_array_equal(data.test.mean, rows.mean(0))
    np.testing.assert_allclose(data.test.std, rows.std(0))
    scaled = replace(data, normalisation=([0.0, 1.0], [2.0, 4.0]))
    assert (scaled.test.mean.tolist(), scaled.test.std.tolist()) == ([0, 1], [2, 4])
    own = replace(odd, normalisation=([7.0, 7.0], [1.0, 1.0]))
    assert replace(data, test=own).test.mean.tolist() == [7, 7]
