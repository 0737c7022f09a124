import warnings

import numpy as np
import pytest
import torch

from smallloss.data import from_arrays, load
from smallloss.data.arrays import as_inputs
from smallloss.engine.task import Task
from smallloss.errors import InputError

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (4, 6, 5, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    "given, expected",
    [
        (COLOUR, COLOUR),
        (COLOUR.transpose(0, 3, 1, 2), COLOUR),
        (COLOUR[..., 0], COLOUR[..., :1]),
        (COLOUR / 255, COLOUR),
        (COLOUR.astype(np.float32), COLOUR),
        (COLOUR.astype(np.int64), COLOUR),
        ((COLOUR > 127), (COLOUR > 127) * np.uint8(255)),
    ],
)
def test_pictures_of_any_layout_become_bytes(given, expected):
    got = as_inputs(given)
    assert got.dtype == np.uint8
    assert (got == expected).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, np.float16, np.float32])
def test_features_become_float32(dtype):
    x = np.arange(6).reshape(3, 2).astype(dtype)
    assert as_inputs(x).dtype == np.float32
    assert (as_inputs(x) == x).all()


def test_classes_are_those_of_labels_and_truth_together():
    data = from_arrays(np.eye(3), ["a", "c", "c"], true_labels=["a", "b", "c"], ids=[7, 8, 9])
    assert data.classes == ("a", "b", "c")
    assert data.labels.tolist() == [0, 2, 2]
    assert data.true_labels.tolist() == [0, 1, 2]
    assert list(data.ids) == ["7", "8", "9"]


def test_colour_pictures_may_be_mirrored_and_gray_ones_not():
    assert from_arrays(COLOUR, [0, 1, 0, 1]).flip
    assert not from_arrays(COLOUR[..., 0], [0, 1, 0, 1]).flip
    assert not from_arrays(np.eye(2), [0, 1]).flip


@pytest.mark.parametrize("x, y", [("x", "y"), ("X", "labels"), ("inputs", "y"), ("images", "labels"),
                                  ("x_train", "y_train"), ("train_images", "train_labels")])  # fmt: skip
def test_npz(tmp_path, x, y):
    arrays = {x: COLOUR, y: ["u", "v", "u", "u"]}
    np.savez(tmp_path / "a.npz", **arrays, true_labels=["u"] * 4, ids=list("wxyz"))
    data = load(str(tmp_path / "a.npz"))
    assert (data.inputs == COLOUR).all()
    assert (data.labels.tolist(), data.true_labels.tolist()) == ([0, 1, 0, 0], [0, 0, 0, 0])
    assert (data.name, list(data.ids), data.test) == ("a.npz", list("wxyz"), None)
    np.savez(tmp_path / "b.npz", **arrays, **({"test_images": COLOUR[:2], "test_labels": ["v", "u"]}))
    assert load(tmp_path / "b.npz").test.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    "x, is_mapped", [(COLOUR, True), (np.eye(4, dtype=np.float32), True), (np.eye(4), False), (COLOUR / 255, False)]
)
def test_npy_inputs_stay_on_disk_unless_they_must_be_copied(tmp_path, x, is_mapped):
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", ["a", "b", "b", "a"])
    given = np.load(tmp_path / "x.npy", mmap_mode="r"), list("abba")
    for data in (load(tmp_path / "x.npy", labels=tmp_path / "y.npy"), load(given)):
        assert isinstance(data.inputs, np.memmap) == is_mapped
        assert Task(data, np.arange(4), {}).resident() != is_mapped
        assert data.labels.tolist() == [0, 1, 1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch warns of arrays it may not write
        torch.from_numpy(load(tmp_path / "x.npy", labels=tmp_path / "y.npy").inputs)


def test_white_is_told_by_all_pictures_and_kept():
    bright, dark = np.full((1, 4, 4), 200.0), np.full((1, 4, 4), 1.0)
    seen = from_arrays(np.concatenate([bright, dark]), [0, 1], test=(dark, [0]))
    assert seen.white == 255
    assert seen.inputs.max(axis=(1, 2, 3)).tolist() == [200, 1]
    assert seen.test.inputs.max() == 1
    assert from_arrays(dark, [0], white=seen.white).inputs.max() == 1
    assert from_arrays(dark, [0]).inputs.max() == 255
    assert from_arrays(bright.astype(np.uint8), [0]).white is None
    with pytest.raises(InputError, match=r"values from 200 to 200; they must lie in 0\.\.1, as the others do"):
        from_arrays(bright, [0], white=1.0)


def test_tensors_are_inputs_as_arrays_are():
    x = torch.rand(6, 3, requires_grad=True)
    data = from_arrays(x.bfloat16(), torch.tensor([5, 7, 5, 7, 5, 7]))
    assert data.inputs.dtype == np.float32
    assert (data.classes, data.values) == (("5", "7"), (5, 7))
