import numpy as np
import pytest

from smallloss.data.table_files import write_table
from smallloss.data.told import read_scores
from smallloss.errors import InputError


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_one_score_per_example(tmp_path, ending):
    path = tmp_path / f"losses.{ending}"
    write_table(path, {"id": ["p", "q", "r"], "label": ["b", "-1", "b"], "mean_loss": [0.5, np.nan, 2.0]})
    scores = read_scores(path)
    assert scores.labels.tolist() == ["b", "-1", "b"]
    assert scores.ids == ("p", "q", "r")
    np.testing.assert_array_equal(scores.losses, [[0.5], [np.nan], [2.0]])
    np.testing.assert_array_equal(scores.mean, [0.5, np.nan, 2.0])


def test_names_are_tried_in_order(tmp_path):
    path = tmp_path / "losses.csv"
    path.write_text("y, given_label, loss, score\n1,7,1, 10\n0,8,2,20\n")
    scores = read_scores(path)
    assert scores.labels.tolist() == ["7", "8"]
    assert scores.mean.tolist() == [10, 20]
    assert scores.ids is None


def test_names_in_capitals_are_the_same_names(tmp_path):
    path = tmp_path / "losses.csv"
    path.write_text("Label,Loss,ID\na,1,p\nb,2,q\n")
    scores = read_scores(path)
    assert (scores.labels.tolist(), scores.mean.tolist(), scores.ids) == (["a", "b"], [1, 2], ("p", "q"))


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


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("label,loss\na,1\nb,1.2.3\n", r"Row 2 of column 'loss' in .* is '1\.2\.3'"),
        ("label,loss\na,inf\n", "Row 1 of column 'loss' .* not a finite number"),
        ("label,loss\na,1\nb,1_0\n", "Row 2 .* is '1_0'"),
        ("id,label,loss\np,a,1\np,b,2\n", "The id 'p' is in row 1 and in row 2"),
        ("label,loss\na,1\n,2\n", "Row 2 of .* has no label"),
        ("label,loss\na,1\n ,2\n", "Row 2 of .* has no label"),
        ("label,value\na,1\n", "has the columns 'label', 'value'; it needs label"),
        ("name,loss\na,1\n", "has the columns 'name', 'loss'; it needs label"),
        ("label,loss_0,epoch_1\na,1,2\n", "both loss_... and epoch_..."),
        ("label,loss\n", "no labels"),
    ],
)
def test_bad_tables_are_named(tmp_path, text, sentence):
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_scores(tmp_path / "l.csv")


@pytest.mark.parametrize(
    "arrays, sentence",
    [
        ({"loss": np.zeros(3)}, "has the arrays loss; it needs labels and loss"),
        ({"loss": np.zeros(3), "labels": [1, 2]}, r"shape \(3,\); for 2 labels"),
        ({"loss": np.array([0.0, np.inf]), "labels": [1, 2]}, "infinite for the example at index 1"),
        ({"loss": np.array(["a", "b"]), "labels": [1, 2]}, "for 2 labels it must hold numbers"),
        ({"loss": np.zeros(2), "labels": [1, 2], "ids": ["a"]}, r"has 1 ids but 2 examples"),
    ],
)
def test_bad_npz_is_named(tmp_path, arrays, sentence):
    np.savez(tmp_path / "l.npz", **arrays)
    with pytest.raises(InputError, match=sentence):
        read_scores(tmp_path / "l.npz")
