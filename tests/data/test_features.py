from dataclasses import replace

import numpy as np
import pytest

from smallloss.data import load
from smallloss.errors import InputError


@pytest.fixture
def place(tmp_path):
    np.save(tmp_path / "emb.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    np.save(tmp_path / "y.npy", np.array([3, 5, 3, 5]))
    (tmp_path / "y.csv").write_text("id,label,kind,true_label\na,u,1,u\nb,v,1,u\nc,u,2,u\nd,v,2,v\n")
    return tmp_path


def test_labels_from_a_table(place):
    data = load(place / "emb.npy", labels=place / "y.csv")
    assert isinstance(data.inputs, np.memmap)
    assert (data.kind, list(data.ids), data.classes) == ("features", ["a", "b", "c", "d"], ("u", "v"))
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.true_labels.tolist() == [0, 0, 0, 1]
    assert data.notes == ("The labels are those of the column 'label' of y.csv.",)
    assert load(place / "emb.npy", labels=place / "y.csv", label="kind").labels.tolist() == [0, 0, 1, 1]


def test_labels_from_an_array(place):
    data = load(place / "emb.npy", labels=place / "y.npy")
    assert data.classes == ("3", "5")
    assert data.labels.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("label\nu\nv\n", r"y.csv has 2 rows but .*emb.npy 4 inputs; give one row each"),
        ("kind\nu\nv\nu\nv\n", "no column label"),
        ("label\nu\nu\nu\nu\n", "All 4 examples"),
        ("id,label\na,u\na,v\nb,u\nc,v\n", "The id 'a' stands in row 1 and in row 2"),
    ],
)
def test_labels_that_do_not_fit(place, text, sentence):
    (place / "y.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        load(place / "emb.npy", labels=place / "y.csv")


def test_inputs_without_labels(place):
    with pytest.raises(InputError, match=r"give its labels as a second .npy file, a .csv or a .parquet"):
        load(place / "emb.npy")


def test_what_a_dataset_says_of_itself_has_defaults_and_leaves_the_fingerprint_alone():
    digits = load("digits")
    assert (digits.kind, digits.shown, digits.notes, dict(digits.unreadable)) == ("pictures", None, (), {})
    assert digits.fingerprint() == "76c8a77ae9c8261be80d4d30b3b8137347e75e3decd7b1789bbd689b7a1eb0e2"
    described = replace(digits, notes=("A note.",), shown=[f"text {i}" for i in range(len(digits))], kind="text")
    assert described.fingerprint() == digits.fingerprint()
    some = described.take(np.array([5, 2]))
    assert (some.shown, some.notes, some.kind) == (["text 5", "text 2"], ("A note.",), "text")
    with pytest.raises(InputError, match="1797 inputs but 1 texts to show"):
        replace(digits, shown=["one"])
