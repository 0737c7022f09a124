import pickle
import zipfile

import numpy as np
import pytest
import torch

from smallloss.data.cifar import human_labels
from smallloss.data.dataset import Dataset
from smallloss.errors import InputError

TRUE = np.array([3, 1, 0, 2, 1])
ARRAYS = {
    "clean_label": TRUE,
    "aggre_label": np.array([3, 1, 0, 2, 0]),
    "worse_label": np.array([3, 0, 0, 2, 0]),
    "random_label1": np.array([3, 1, 0, 3, 1]),
}


@pytest.fixture
def dataset():
    return Dataset(np.zeros((5, 2), np.float32), TRUE, tuple("abcd"), name="cifar10", true_labels=TRUE)


@pytest.fixture(params=["torch", "npz"])
def path(request, tmp_path):
    if request.param == "npz":
        np.savez(tmp_path / "human.npz", **ARRAYS)
        return tmp_path / "human.npz"
    torch.save(ARRAYS, tmp_path / "human.pt")
    return tmp_path / "human.pt"


@pytest.mark.parametrize(
    "which, key", [("aggre", "aggre_label"), ("worst", "worse_label"), ("random_label1", "random_label1")]
)
def test_labels_by_short_name_and_by_key(path, dataset, which, key):
    codes = human_labels(path, which, dataset)
    assert codes.dtype == np.int64
    assert codes.tolist() == ARRAYS[key].tolist()


def test_an_unknown_name_lists_what_is_there(path, dataset):
    with pytest.raises(InputError, match="no labels named random_label3; it has clean_label, aggre_label"):
        human_labels(path, "random3", dataset)


def test_another_order_of_the_pictures_is_noticed(path, dataset):
    other = Dataset(dataset.inputs, TRUE, dataset.classes, name="cifar10", true_labels=TRUE[::-1].copy())
    with pytest.raises(InputError, match=r"differs from the true labels of cifar10 at 4 examples, first at index 0"):
        human_labels(path, "aggre", other)


def test_another_length_or_unknown_truth_is_refused(path, dataset):
    with pytest.raises(InputError, match=r"shape \(5,\).*needs 3 whole numbers"):
        human_labels(path, "aggre", dataset.take(np.arange(3)))
    blind = Dataset(dataset.inputs, TRUE, dataset.classes, name="mine")
    with pytest.raises(InputError, match="true labels of mine are not known"):
        human_labels(path, "aggre", blind)


def test_a_code_beyond_the_classes_is_named(tmp_path, dataset):
    np.savez(tmp_path / "h.npz", clean_label=TRUE, noisy_label=TRUE + 1)
    with pytest.raises(InputError, match=r"noisy_label in .* is 4 at index 0; cifar10 has the classes 0 to 3"):
        human_labels(tmp_path / "h.npz", "noisy", dataset)


@pytest.mark.parametrize(
    "name, data, sentence",
    [
        (None, b"PK\x03\x04 cut", "not a whole torch file"),
        ("archive/version", b"", r"holds 0 files named data\.pkl"),
        ("archive/data.pkl", pickle.dumps([1, 2]), "holds a list"),
        ("archive/data.pkl", b"cposix\nsystem\n(S'true'\ntR.", r"asks for posix\.system"),
    ],
)
def test_torch_files_that_are_not_arrays(tmp_path, dataset, name, data, sentence):
    path = tmp_path / "human.pt"
    with pytest.raises(InputError, match=r"no CIFAR-N label file at .*human\.pt"):
        human_labels(path, "aggre", dataset)
    if name is None:
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, data)
    with pytest.raises(InputError, match=sentence):
        human_labels(path, "aggre", dataset)
