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
    scores = read_scores(path)
    assert scores.labels.tolist() == ["b", "-1", "b"]
    assert scores.ids == ("p", "q", "r")
    np.testing.assert_array_equal(scores.losses, [[0.5], [np.nan], [2.0]])
    np.testing.assert_array_equal(scores.mean, [0.5, np.nan, 2.0])


def test_names_are_tried_in_order_in_any_case_of_letters(tmp_path):
    path = tmp_path / "losses.csv"
    path.write_text("y, Given_Label, loss, SCORE\n1,7,1, 10\n0,8,2,20\n")
    scores = read_scores(path)
    assert scores.labels.tolist() == ["7", "8"]
    assert scores.mean.tolist() == [10, 20]
    assert scores.ids is None


@pytest.mark.parametrize("stem", ["loss_", "epoch_", "epoch"])
def test_epochs_come_in_the_order_of_their_numbers(tmp_path, stem):
    path = tmp_path / "losses.csv"
    path.write_text(f"label,{stem}10,{stem}2,{stem}0\nx,3,2,1\ny,,NaN,7\nz,, nan ,\n")
    scores = read_scores(path)
    np.testing.assert_array_equal(scores.losses, [[1, 2, 3], [7, np.nan, np.nan], [np.nan] * 3])
    np.testing.assert_array_equal(scores.mean, [2, 7, np.nan])


@pytest.mark.parametrize("layout", ["n", "n_epochs", "epochs_n"])
def test_npz(tmp_path, layout):
    losses = np.arange(6, dtype=np.float32).reshape(3, 2)
    given = {"n": losses[:, 0], "n_epochs": losses, "epochs_n": losses.T}[layout]
    np.savez(tmp_path / "l.npz", loss=given, labels=[5, 6, 5], ids=["a", "b", "c"])
    scores = read_scores(tmp_path / "l.npz")
    assert scores.losses.tolist() == (losses[:, :1] if layout == "n" else losses).tolist()
    assert scores.labels.tolist() == ["5", "6", "5"]
    assert scores.ids == ("a", "b", "c")


# A transition matrix

T = [[0.9, 0.1], [0.25, 0.75]]


@pytest.mark.parametrize(
    "text, names",
    [
        ("0.9,0.1\n0.25,0.75\n", None),
        ("cat,dog\n0.9,0.1\n0.25,0.75\n", ("cat", "dog")),
        ("0,1\n0.9,0.1\n0.25,0.75\n", ("0", "1")),
        ("cat,0.9,0.1\ndog,0.25,0.75\n", ("cat", "dog")),
        (",cat,dog\ncat,0.9,0.1\ndog,0.25,0.75\n", ("cat", "dog")),
        (",0,1\n0,0.9,0.1\n1,0.25,0.75\n", ("0", "1")),
        ("true\\given, cat, dog\ncat, 9e-1, .1\n\ndog, 0.25, 0.75\n", ("cat", "dog")),
    ],
)
def test_csv_with_and_without_names(tmp_path, text, names):
    (tmp_path / "T.csv").write_text(text)
    matrix, classes = read_matrix(tmp_path / "T.csv")
    assert matrix.tolist() == T
    assert classes == names


def test_npy_and_parquet(tmp_path):
    np.save(tmp_path / "T.npy", T)
    matrix, classes = read_matrix(tmp_path / "T.npy")
    assert (matrix.tolist(), classes) == (T, None)
    write_table(tmp_path / "T.parquet", {"cat": [0.9, 0.25], "dog": [0.1, 0.75]})
    matrix, classes = read_matrix(tmp_path / "T.parquet")
    assert (matrix.tolist(), classes) == (T, ("cat", "dog"))
    write_table(tmp_path / "T.parquet", {"": ["cat", "dog"], "cat": [0.9, 0.25], "dog": [0.1, 0.75]})
    matrix, classes = read_matrix(tmp_path / "T.parquet")
    assert (matrix.tolist(), classes) == (T, ("cat", "dog"))


# Noise rates

CLASSES = ("cat", "dog")


@pytest.mark.parametrize(
    "text, rates",
    [("0.2", 0.2), ("cat=0.3,dog=0.2", {"cat": 0.3, "dog": 0.2}), (" cat =0.3, dog= 0.2", {"cat": 0.3, "dog": 0.2})],
)
def test_a_number_or_pairs(text, rates):
    assert read_rates(text, CLASSES) == (rates, None)


@pytest.mark.parametrize(
    "text", ["cat,0.3\ndog,0.2\n", "label,noise_rate\ncat,0.3\ndog,0.2\n", "name,eta\n\ncat,0.3\n , \ndog,0.2\n",
             "noise_rate,n,label\n0.3,10,cat\n0.2,20,dog\n"],
)  # fmt: skip
def test_a_table_of_labels_and_rates(tmp_path, text):
    assert read_rates(written(tmp_path, text), CLASSES) == ({"cat": 0.3, "dog": 0.2}, None)


def test_how_high_a_rate_may_be(tmp_path):
    """In the order of the classes; where nothing is said the rate is all there is."""
    path = written(tmp_path, "label,noise_rate,upper\ndog,0.2,0.4\ncat,0.3,\n")
    rates, upper = read_rates(path, CLASSES)
    assert rates == {"cat": 0.3, "dog": 0.2}
    assert upper is not None
    np.testing.assert_array_equal(upper, [0.3, 0.4])


def test_blanks_are_a_part_of_a_name_where_a_class_has_them(tmp_path):
    classes = ("cat", "cat ", " dog")
    assert read_rates("cat=0.1,cat =0.2,dog=0.3, dog=0.4", classes)[0] == {
        "cat": 0.1,
        "cat ": 0.2,
        " dog": 0.4,
        "dog": 0.3,
    }
    path = written(tmp_path, "label,noise_rate\ncat,0.1\ncat ,0.2\n dog,0.3\n")
    assert read_rates(path, classes)[0] == {"cat": 0.1, "cat ": 0.2, " dog": 0.3}


def test_rates_are_understood_as_our_own_tables_spell_them(tmp_path):
    classes = ("=four", "+5", "-cat", "@x")
    path = write_table(tmp_path / "rates.csv", {"label": list(classes), "noise_rate": [0.1, 0.2, 0.3, 0.4]})
    assert "'=four" in path.read_text()
    assert read_rates(path, classes)[0] == dict(zip(classes, [0.1, 0.2, 0.3, 0.4], strict=True))
    assert read_rates("=four=0.1,'-cat=0.3", classes)[0] == {"=four": 0.1, "-cat": 0.3}


def test_a_path_may_hold_an_equals_sign(tmp_path):
    (tmp_path / "lr=0.1").mkdir()
    assert read_rates(str(written(tmp_path / "lr=0.1", "cat,0.3\ndog,0.2\n")), CLASSES)[0] == {"cat": 0.3, "dog": 0.2}


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
