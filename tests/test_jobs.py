"""Small jobs on files, without the command line around them."""

import numpy as np
import pytest

from smallloss.errors import InputError
from smallloss.jobs import corrupt_file, select_file


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
