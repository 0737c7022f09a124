import numpy as np
import pytest

from smallloss.data.table_files import write_table
from smallloss.data.told import read_matrix
from smallloss.errors import InputError

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


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("1,0\n0,x\n", "Row 2, column 2 of the matrix in .* is 'x'"),
        ("a,b\n1,0\n,1\n", "Row 2, column 1 of the matrix in .* is ''"),
        ("1,0\n0,nan\n", "Row 2, column 2 .* is nan"),
        ("1,0\n0,1_0\n", "'1_0', which is not a number"),
        ("1,0,0\n", "1 lines and 3 columns"),
        ("1,0\n0\n", "Line 2 of .* has 1 cells, the first has 2"),
        (",a,b\na,1,0\nc,0,1\n", "names its columns 'a', 'b' but its rows 'a', 'c'"),
        ("", "is empty"),
    ],
)
def test_bad_matrices_are_named(tmp_path, text, sentence):
    (tmp_path / "T.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_matrix(tmp_path / "T.csv")


def test_other_files(tmp_path):
    np.save(tmp_path / "T.npy", np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"shape \(2, 3\)"):
        read_matrix(tmp_path / "T.npy")
    with pytest.raises(InputError, match=r"no matrix at .*U\.csv"):
        read_matrix(tmp_path / "U.csv")
    (tmp_path / "T.txt").write_text("1")
    with pytest.raises(InputError, match=r"is not a \.csv, \.npy or \.parquet file"):
        read_matrix(tmp_path / "T.txt")
