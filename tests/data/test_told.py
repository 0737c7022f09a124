"""What a person knows of the labels, from files and text: losses, matrices, rates, answers by hand."""

import os

import numpy as np
import pytest

from smallloss.data.dataset import Dataset
from smallloss.data.table_files import write_table
from smallloss.data.told import read_corrections, read_matrix, read_rates, read_scores
from smallloss.noise.answers import NONE, found_wrong


def written(path, text):
    (path / "told.csv").write_text(text)
    return path / "told.csv"


# Losses


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_one_score_per_example(tmp_path, ending):
    path = tmp_path / f"losses.{ending}"
    write_table(path, {"id": ["p", "q", "r"], "label": ["b", "-1", "b"], "mean_loss": [0.5, np.nan, 2.0]})
    labels, mean, ids = read_scores(path)
    assert (labels.tolist(), ids) == (["b", "-1", "b"], ["p", "q", "r"])
    np.testing.assert_array_equal(mean, [0.5, np.nan, 2.0])


@pytest.mark.parametrize(
    "text, labels, mean",
    [
        ("y, Given_Label, loss, SCORE\n1,7,1, 10\n0,8,2,20\n", ["7", "8"], [10, 20]),
        ("label,loss_10,loss_2,loss_0\nx,3,2,1\ny,,NaN,7\nz,, nan ,\n", ["x", "y", "z"], [2, 7, np.nan]),
        ("label;loss0;loss1\nx;3;2\ny;4;4\n", ["x", "y"], [2.5, 4]),
    ],
)
def test_columns_are_found_in_any_case_of_letters_and_epochs_averaged(tmp_path, text, labels, mean):
    scores = read_scores(written(tmp_path, text))
    assert (scores.labels.tolist(), scores.ids) == (labels, None)
    np.testing.assert_array_equal(scores.mean, mean)


@pytest.mark.parametrize("loss, mean", [([0, 2, 4], [0, 2, 4]), ([[0, 1], [2, np.nan], [4, 5]], [0.5, 2, 4.5])])
def test_npz(tmp_path, loss, mean):
    np.savez(tmp_path / "l.npz", loss=np.array(loss, np.float32), labels=[5, 6, 5], ids=["a", "b", "c"])
    scores = read_scores(tmp_path / "l.npz")
    assert (scores.labels.tolist(), scores.mean.tolist(), scores.ids) == (["5", "6", "5"], mean, ["a", "b", "c"])


# A transition matrix

T = [[0.9, 0.1], [0.25, 0.75]]


@pytest.mark.parametrize(
    "text, names",
    [
        ("0.9,0.1\n0.25,0.75\n", None),
        ("0,1\n0.9,0.1\n0.25,0.75\n", ("0", "1")),
        ("cat,0.9,0.1\ndog,0.25,0.75\n", ("cat", "dog")),
        (",0,1\n0,0.9,0.1\n1,0.25,0.75\n", ("0", "1")),
        ("true\\given, cat, dog\ncat, 9e-1, .1\n\ndog, 0.25, 0.75\n", ("cat", "dog")),
        ({"cat": [0.9, 0.25], "dog": [0.1, 0.75]}, ("cat", "dog")),
        ({"": ["cat", "dog"], "cat": [0.9, 0.25], "dog": [0.1, 0.75]}, ("cat", "dog")),
    ],
)
def test_a_matrix_with_and_without_names(tmp_path, text, names):
    path = written(tmp_path, text) if isinstance(text, str) else write_table(tmp_path / "T.parquet", text)
    matrix, classes = read_matrix(path)
    assert (matrix.tolist(), classes) == (T, names)
    np.save(tmp_path / "T.npy", T)
    matrix, classes = read_matrix(tmp_path / "T.npy")
    assert (matrix.tolist(), classes) == (T, None)


# Noise rates

CLASSES = ("cat", "dog")


@pytest.mark.parametrize(
    "text, rates",
    [
        ("0.2", 0.2),
        ("20%", 0.2),
        ("cat=30 %,dog=0.2", {"cat": 0.3, "dog": 0.2}),
        ("cat=0.3,dog=0.2", {"cat": 0.3, "dog": 0.2}),
        (" cat =0.3, dog= 0.2", {"cat": 0.3, "dog": 0.2}),
        ("cat=0.1,cat =0.2,dog=0.3, bird=0.4", {"cat": 0.1, "cat ": 0.2, "dog": 0.3, " bird": 0.4}),
        ("=four=0.1,'-cat=0.3", {"=four": 0.1, "-cat": 0.3}),
    ],
)
def test_a_number_or_pairs(text, rates):
    """Blanks are a part of a name where a class has them, and names may stand as our own tables spell them."""
    classes = ("cat", "cat ", "dog", " bird") if "bird" in text else (*CLASSES, "=four", "-cat")
    assert read_rates(text, classes) == (rates, None)


@pytest.mark.parametrize("folder", ["", "lr=0.1"])
def test_a_table_of_labels_and_rates(tmp_path, folder):
    """Columns in any order, blank rows left out; upper ends where they are said, and else the rate is all there is."""
    (tmp_path / folder).mkdir(exist_ok=True)
    path = written(tmp_path / folder, "noise_rate,n,label\n0.3,10,cat\n , ,\n0.2,20,dog\n")
    assert read_rates(str(path), CLASSES) == ({"cat": 0.3, "dog": 0.2}, None)
    rates, upper = read_rates(written(tmp_path, "label,noise_rate,upper\ndog,20%,40%\n cat,0.3,\n"), CLASSES)
    assert (rates, upper.tolist()) == ({"cat": 0.3, "dog": 0.2}, [0.3, 0.4])


def test_rates_are_understood_as_our_own_tables_spell_them(tmp_path):
    classes = ("=four", "+5", "-cat", "@x")
    path = write_table(tmp_path / "rates.csv", {"label": list(classes), "noise_rate": [0.1, 0.2, 0.3, 0.4]})
    assert "'=four" in path.read_text()
    assert read_rates(path, classes)[0] == dict(zip(classes, [0.1, 0.2, 0.3, 0.4], strict=True))


# Answers by hand


@pytest.fixture
def pets() -> Dataset:
    return Dataset(np.zeros((3, 2), np.float32), np.array([0, 1, 1]), ("cat", "dog"), ids=["a", "b", "c"])


def test_answers_become_the_true_class_of_a_row(tmp_path, pets):
    path = written(tmp_path, "id,index,answer,true_label\nb,1,right,\nc,2,wrong,cat\na,0,none,\n")
    assert read_corrections(path, pets) == {1: 1, 2: 0, 0: NONE}


def test_the_class_is_the_truth_whatever_became_of_the_label(tmp_path, pets):
    """One that was wrong was mended since, one that was right was changed: each is judged by its label of today."""
    path = written(tmp_path, "id,answer,true_label\na,wrong,cat\nb,right,cat\nc,right,dog\n")
    pins = read_corrections(path, pets)
    assert pins == {0: 0, 1: 0, 2: 1}
    assert found_wrong(pets.labels, pins).tolist() == [False, True, False]


def test_answers_are_understood_as_our_own_tables_spell_them(tmp_path):
    """A spreadsheet would run them, so they stand there with an apostrophe; a class that has one means itself."""
    classes = ("=dog", "'=dog", "-cat", "@home")
    ids = ["=1+1", "+b", "-c", "plain"]
    data = Dataset(np.zeros((4, 2), np.float32), np.array([0, 1, 2, 3]), classes, ids=ids)
    columns = {"id": ids, "answer": ["wrong"] * 4, "true_label": ["-cat", "@home", "=dog", "-cat"]}
    assert read_corrections(write_table(tmp_path / "c.csv", columns), data) == {0: 2, 1: 3, 2: 1, 3: 2}
    columns["true_label"][2] = "@home"
    assert read_corrections(write_table(tmp_path / "c.parquet", columns), data) == {0: 2, 1: 3, 2: 3, 3: 2}


def test_ids_of_files_whose_names_are_no_utf8(tmp_path):
    data = Dataset(np.zeros((2, 2), np.float32), np.array([0, 1]), ("cat", "dog"), ids=["a", os.fsdecode(b"\xff.png")])
    path = written(tmp_path, "id,answer,true_label\n\\udcff.png,wrong,cat\n")
    assert read_corrections(path, data) == {1: 0}
