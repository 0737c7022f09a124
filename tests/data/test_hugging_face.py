"""The package `datasets` is optional: a stand-in with the few calls that are used."""

import io
import sys
import types

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image as Picture

from smallloss.data import load
from smallloss.errors import InputError


class ClassLabel:
    def __init__(self, names):
        self.names = names


class Image:
    """Decoded one by one, which nobody wants of a large set."""


class Value:
    pass


class Part:
    """A split: columns with features; pictures come encoded as Arrow only."""

    def __init__(self, columns, features):
        self.columns, self.features = columns, features

    def __getitem__(self, key):
        if isinstance(key, slice):
            return pa.table(self.columns)
        assert not isinstance(self.features[key], Image), "would decode every picture"
        return self.columns[key]

    def with_format(self, kind):
        assert kind == "arrow"
        return self


def encoded(level):
    file = io.BytesIO()
    Picture.new("RGB", (32, 32), (level, 0, 0)).save(file, format="PNG")
    return {"bytes": file.getvalue(), "path": "same.png"}


def photos(levels, codes):
    features = {"photo": Image(), "animal": ClassLabel(["dog", "cat"])}
    return Part({"photo": [encoded(level) for level in levels], "animal": codes}, features)


@pytest.fixture
def hub(monkeypatch):
    """What `load_dataset` and `load_from_disk` know, by name."""
    known = {}
    module = types.ModuleType("datasets")
    module.load_dataset = lambda name: known[name]
    module.load_from_disk = lambda path: known["disk"]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return known


def test_pictures_and_labels_are_found_by_type(hub):
    hub["me/pets"] = {"train": photos([1, 2, 3, 4], [0, 1, 1, 0]), "validation": photos([9], [1])}
    data = load("hf:me/pets")
    assert data.name == "hf:me/pets"
    assert data.classes == ("cat", "dog")
    assert data.labels.tolist() == [1, 0, 0, 1]
    assert data.inputs[:, 0, 0, 0].tolist() == [1, 2, 3, 4]
    assert list(data.ids) == ["train/0", "train/1", "train/2", "train/3"]
    assert data.test.labels.tolist() == [0]


def test_a_saved_folder_is_recognised(hub, tmp_path):
    hub["disk"] = photos([1, 2, 3], [0, 1, 1])
    (tmp_path / "dataset_info.json").write_text("{}")
    assert len(load(tmp_path)) == len(load(f"hf:{tmp_path}")) == 3


def films(texts, codes):
    return Part({"text": texts, "label": codes}, {"text": Value(), "label": ClassLabel(["neg", "pos"])})


def test_the_test_split_of_texts(hub):
    """Described by what the training texts taught: the same words give the same features, new words none."""
    texts = ["a good film", "a bad film", "good fun", "bad and long"]
    hub["films"] = {"train": films(texts, [1, 0, 1, 0]), "test": films([texts[1], "zzz", texts[0]], [0, 0, 1])}
    data = load("hf:films")
    hub["films"].pop("test")
    alone = load("hf:films")
    np.testing.assert_array_equal(data.inputs, alone.inputs)
    np.testing.assert_allclose(data.test.inputs[[2, 0]], data.inputs[:2], atol=1e-5)
    assert not data.test.inputs[1].any()
    assert data.test.labels.tolist() == data.test.true_labels.tolist() == [0, 0, 1]
    assert (data.kind, data.shown, data.classes) == ("text", texts, ("neg", "pos"))
    assert data.labels.tolist() == [1, 0, 1, 0]
    assert (data.test.kind, data.test.shown) == ("text", [texts[1], "zzz", texts[0]])
    np.testing.assert_array_equal(data.test.mean, data.mean)
    np.testing.assert_array_equal(data.test.std, data.std)


def test_the_test_split_of_columns(hub):
    """Medians and categories are those of the training rows; a category that only the test has is none of them."""
    features = dict.fromkeys(("size", "colour", "label"), Value())
    train = {"size": [1.0, None, 3.0, 5.0], "colour": ["red", "red", "blue", "blue"], "label": ["a", "b", "a", "b"]}
    test = {"size": [None, 100.0], "colour": ["green", "red"], "label": ["b", "a"]}
    hub["t"] = {"train": Part(train, features), "validation": Part(test, features)}
    data = load("hf:t")
    assert data.inputs.tolist() == [[1, 0, 0, 1], [3, 1, 0, 1], [3, 0, 1, 0], [5, 0, 1, 0]]
    assert data.test.inputs.tolist() == [[3, 1, 0, 0], [100, 0, 0, 1]]
    assert data.test.shown[1] == "size = 100.0, colour = red"
    hub["t"]["validation"] = Part({"size": [1.0], "label": ["a"]}, features)
    with pytest.raises(InputError, match=r"hf:t \(validation\) has no column 'colour'"):
        load("hf:t")


def test_a_split_that_hides_its_labels_is_passed_over(hub):
    texts = ["a good film", "a bad film", "good fun", "bad and long"]
    hub["films"] = {"train": films(texts, [1, 0, 1, 0]), "test": films(["x"], [-1]), "val": films(["bad"], [0])}
    data = load("hf:films")
    assert data.test.shown == ["bad"]
    assert "The split 'test' has no labels and is not used." in data.notes
    hub["pets"] = {"train": photos([1, 2, 3, 4], [0, 1, 1, 0]), "test": photos([9], [-1])}
    assert load("hf:pets").test is None


def test_a_label_by_name_and_what_is_wrong(hub):
    features = dict.fromkeys(("a", "b", "stars"), Value())
    hub["t"] = Part({"a": [1, 5, 2, 3], "b": [4, 1, 1, 2], "stars": [1, 5, 1, 5]}, features)
    data = load("hf:t", label="stars")
    assert (data.classes, data.inputs.shape) == (("1", "5"), (4, 2))
    hub["hidden"] = photos([1, 2, 3], [0, -1, 1])
    for name, sentence in (
        ("t", "hf:t has no column label, given_label or y"),
        ("hidden", r"Row 2 of hf:hidden \(train\) has no animal"),
        ("nobody/nothing", "hf:nobody/nothing cannot be loaded"),
        ("", "write hf:NAME"),
    ):
        with pytest.raises(InputError, match=sentence):
            load(f"hf:{name}")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"needs the package datasets, which is not installed: pip install datasets"):
        load("hf:anything")
