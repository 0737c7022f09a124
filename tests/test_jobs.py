"""Small jobs on files, without the command line around them."""

import numpy as np
import pytest

from smallloss.data.table_files import write_table
from smallloss.errors import InputError
from smallloss.run.jobs import corrupt_file, select_file


def test_a_matrix_without_names_follows_the_numbers_not_their_spelling(tmp_path):
    """Labels 1, 2, 10: sorted as text, the last two would change places, and 2 would be the noisy one."""
    rows = [f"{label},{score}" for label in (10, 2, 1) for score in range(10)]
    losses, matrix = tmp_path / "losses.csv", tmp_path / "T.csv"
    losses.write_text("label,score\n" + "\n".join(rows) + "\n")
    matrix.write_text("1,0,0\n0,1,0\n0,0.3,0.7\n")  # a third of the true 10 are called 2
    selection = select_file(losses, tmp_path / "found.csv", transition=matrix)
    assert selection.classes.tolist() == ["1", "2", "10"]
    assert (selection.quota.noise_rate > 0).tolist() == [False, True, False]


def test_a_truth_that_is_there_already_is_not_overwritten(tmp_path):
    noisy = tmp_path / "noisy.csv"
    noisy.write_text("true_label,label\na,b\nb,b\n")
    with pytest.raises(InputError, match="has a column 'true_label' already"):
        corrupt_file(noisy, tmp_path / "again.csv", noise="uniform:0.5")


def test_a_map_without_structured_noise_is_refused(tmp_path):
    np.save(tmp_path / "labels.npy", np.arange(6) % 3)
    with pytest.raises(InputError, match="--map is for structured noise"):
        corrupt_file(tmp_path / "labels.npy", tmp_path / "out.csv", noise="uniform:0.5", class_map="0:1")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    np.save(tmp_path / "labels.npy", np.arange(6) % 3)
    with pytest.raises(InputError, match=r"no folder .*missing to write out.csv to"):
        corrupt_file(tmp_path / "labels.npy", tmp_path / "missing" / "out.csv", noise="uniform:0.5")


def test_what_is_read_is_never_written_over(tmp_path):
    table, losses, matrix = tmp_path / "t.csv", tmp_path / "l.csv", tmp_path / "T.csv"
    table.write_text("label\na\nb\n")
    losses.write_text("label,loss\na,1\nb,2\n")
    matrix.write_text("0.9,0.1\n0.1,0.9\n")
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    (tmp_path / "deep").mkdir()
    before = {path: path.read_bytes() for path in (table, losses, matrix)}
    for out in (table, link, tmp_path / "deep" / ".." / "t.csv"):
        with pytest.raises(InputError, match=r"is the file that is read, .*t\.csv, and would be lost; name another"):
            corrupt_file(table, out, noise="uniform:0.2")
    with pytest.raises(InputError, match=r"is the file that is read, .*T\.csv"):
        corrupt_file(table, matrix, noise=str(matrix))
    with pytest.raises(InputError, match=r"is the file that is read, .*l\.csv"):
        select_file(losses, losses, noise_rate="0.1")
    with pytest.raises(InputError, match=r"is the file that is read, .*T\.csv"):
        select_file(losses, matrix, transition=matrix)
    assert {path: path.read_bytes() for path in before} == before
    corrupt_file(table, tmp_path / "new.csv", noise="uniform:0.2")
    corrupt_file(table, tmp_path / "new.csv", noise="uniform:0.3")  # what it wrote itself may be written again


def test_a_selection_asks_for_its_options_by_their_names(tmp_path):
    losses, matrix = tmp_path / "l.csv", tmp_path / "T.csv"
    losses.write_text("label,loss\na,1\nb,2\n")
    matrix.write_text("0.9,0.1\n0.1,0.9\n")
    for known in ({}, {"noise_rate": "0.1", "transition": matrix}):
        with pytest.raises(InputError, match=r"give either --noise-rate .* or --transition .*can estimate it"):
            select_file(losses, tmp_path / "out.csv", **known)


def test_nearly_equal_labels_are_named_beside_a_selection(tmp_path):
    losses = tmp_path / "l.csv"
    losses.write_text("label,loss\ncat,1\ncat,2\nCat,3\ndog,1\n")
    selection = select_file(losses, tmp_path / "out.csv", noise_rate="0.1")
    assert selection.classes.tolist() == ["Cat", "cat", "dog"]
    assert "'Cat' and 'cat'" in selection.notes[-1]


def test_a_file_of_another_kind_is_not_written_over(tmp_path):
    labels = write_table(tmp_path / "labels.csv", {"label": ["a", "b"] * 10})
    precious = tmp_path / "precious.csv"
    precious.write_text("thesis\n1\n")
    with pytest.raises(InputError, match=r"precious\.csv is there already, and not a table of this command; move it"):
        corrupt_file(labels, precious, noise="uniform:0.2")
    assert precious.read_text() == "thesis\n1\n"
    own = write_table(tmp_path / "own.csv", {"label": ["a"], "true_label": ["a"], "thesis": ["1"]})
    with pytest.raises(InputError, match=r"own\.csv is there already"):
        corrupt_file(labels, own, noise="uniform:0.2")
    again = tmp_path / "noisy.csv"
    for seed in (0, 1):  # what the same command wrote may be written anew
        corrupt_file(labels, again, noise="uniform:0.5", seed=seed)
    (tmp_path / "empty.csv").touch()
    corrupt_file(labels, tmp_path / "empty.csv", noise="uniform:0.2")
