import numpy as np
import pytest

from smallloss.criterion.transition import DIGITS_MAP
from smallloss.data import load
from smallloss.errors import InputError


def test_digits():
    data = load("digits")
    assert data.inputs.shape == (1797, 8, 8, 1)
    assert (data.inputs.min(), data.inputs.max()) == (0, 255)
    assert data.in_shape == (1, 8, 8)
    assert data.classes == tuple("0123456789")
    assert np.bincount(data.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (data.true_labels == data.labels).all()
    assert not data.flip
    assert data.class_map == tuple(DIGITS_MAP)


@pytest.mark.parametrize(
    "spec, sentence",
    [
        ("cifar10", "write cifar10:PATH"),
        ("idx:", "write idx:FOLDER"),
        ("cifar10:nowhere", "no cifar10 at nowhere.*Put the official files there"),
        ("idx:nowhere", "no idx at nowhere"),
        ("flowers", "^There is no file or folder here named flowers; DATA is one of: a folder of pictures .*, hf:NAME"),
        ("my/flowers", "^There is no file or folder at my/flowers; DATA is one of: a folder of pictures"),
        ("flowers.xlsx", "^flowers.xlsx is of an unknown kind; DATA is one of: a folder of pictures"),
    ],
)
def test_what_is_missing_is_said(spec, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if spec == "flowers.xlsx":
        (tmp_path / spec).touch()
    with pytest.raises(InputError, match=sentence):
        load(spec)


def test_a_folder_without_data(tmp_path):
    with pytest.raises(InputError, match="is a folder without idx files"):
        load(tmp_path)


def test_labels_go_with_npy_only():
    with pytest.raises(InputError, match="digits brings its own labels"):
        load("digits", labels="y.npy")
