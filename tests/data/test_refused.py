"""Files that cannot be used: each is refused in one sentence that says what is wrong, where, and what to do."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from smallloss.data import load
from smallloss.data.arrays import as_inputs, from_arrays, with_features
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import read_table
from smallloss.data.told import read_corrections, read_matrix, read_rates, read_scores
from smallloss.errors import InputError


def pets():
    return Dataset(np.zeros((3, 2), np.float32), np.array([0, 1, 1]), ("cat", "dog"), ids=["a", "b", "c"])


def labels_of(path):
    np.save(path.parent / "x.npy", np.zeros((4, 3), np.float32))
    return load(path.parent / "x.npy", labels=path)


def refused(sentence, use, *arguments):
    with pytest.raises(InputError, match=sentence) as caught:
        use(*arguments)
    assert "\n" not in str(caught.value)


# What takes a csv, by what it is called for.
READERS = {
    "table": read_table,
    "data": load,
    "kind": lambda path: load(path, label="kind"),
    "labels": labels_of,
    "losses": read_scores,
    "matrix": read_matrix,
    "rates": lambda path: read_rates(path, ("cat", "dog")),
    "answers": lambda path: read_corrections(path, pets()),
}
CSV = [
    ("table", "", "is empty"),
    ("table", "a,b\n1,2\n3\n", "Row 2 of .* has 1 cells; the header names 2"),
    ("table", "a,a\n1,2\n", "more than one column named 'a'"),
    ("table", b"\xff\xfe\x00", "in UTF-8: .*; save it in UTF-8"),
    ("table", b"a,b\n1,\xff\n", "cannot be read as a csv file"),
    ("data", "text,label\ncafé au lait,a\n".encode("latin-1"), "in UTF-8: .*; save it in UTF-8"),
    ("data", "a,b\n1,2\n", "no column label, given_label or y; .* with --label .*Its columns are 'a', 'b'"),
    ("kind", "a,label\n1,2\n2,3\n", "no column 'kind'"),
    ("data", "a,label\n", "no rows below its header"),
    ("data", "a,label\n1,x\n2,x\n", "All 2 examples of .* carry the label 'x'"),
    ("data", "a,label\n1,x\n2,y\n3,z\n", "No label of .* occurs twice: 3 classes"),
    ("data", "a,label\n1,x\n2,  \n3,z\n", "Row 2 of .* has no label: fill it in or take the row out"),
    ("data", "a,label\n1,x\n2,  \n3,z\n4,\n", r"Row 2 of .* has no label \(2 rows in all\): fill it in"),
    ("data", "a;label\n1;x\n2;y\n3\n", "Row 3 of .* has 1 cells; the header names 2"),
    ("data", "id,a,label\nu,1,x\nv,2,y\nu,3,x\n", "The id 'u' is in row 1 and in row 3"),
    ("data", "id,a,label\nu,1,x\n,2,y\nw,3,x\n", "Row 2 of .* has no id"),
    ("data", "path,label\na.png,x\na.png,y\nb.png,x\n", "'a.png' is in row 1 and .*one picture under two labels needs"),
    ("data", "path,label\na.png,x\nb.png,y\nc.png,x\n", "None of the 3 pictures of t.csv can be read"),
    ("data", "path,label\nhttps://x.y/1.png,a\nhttps://x.y/2.png,b\nhttps://x.y/3.png,b\n", "can be read; .*https://x.y"),
    ("data", "label\nx\ny\nx\n", r"no column to learn from besides the labels\.$"),
    ("data", "n,label\n0,a\n1,b\n2,a\n", "besides the labels; left out, being empty or different in every row: 'n'"),
    ("data", "text,label\n?,x\n!,y\n.,x\n", "contain no words"),
    ("labels", "label\nu\nv\n", r"t.csv has 2 rows but .*x.npy 4 inputs; give one row each"),
    ("labels", "label\nu\nu\nu\nu\n", "All 4 examples"),
    ("losses", "label,loss\na,1\nb,1.2.3\n", r"Row 2 of column 'loss' in .* is '1\.2\.3'"),
    ("losses", "label,loss\na,inf\n", "Row 1 of column 'loss' .* not a finite number"),
    ("losses", "label,loss\na,1\n,2\n", "Row 2 of .* has no label"),
    ("losses", "label,value\na,1\n", "has 'label', 'value'; it needs label"),
    ("losses", "name,loss\na,1\n", "has 'name', 'loss'; it needs label"),
    ("losses", "label,loss\n", "no labels"),
    ("matrix", "1,0\n0,x\n", "Row 2, column 2 of the matrix in .* is 'x'"),
    ("matrix", "1,0\n0,nan\n", "Row 2, column 2 .* is .nan."),
    ("matrix", "1,0\n0,1_0\n", "'1_0', which is not a number"),
    ("matrix", "1,0,0\n", "1 lines and 3 columns"),
    ("matrix", "1,0\n0\n", "Line 2 of .* has 1 cells, the first has 2"),
    ("matrix", ",a,b\na,1,0\nc,0,1\n", "names its columns 'a', 'b' but its rows 'a', 'c'"),
    ("matrix", '"0,8","0,2"\n"0,3","0,7"\n', "have decimal commas \\('0,3'\\); write them with points"),
    ("rates", "label,noise_rate\ncat,0.3\ndog\n", "Row 2 of .* has 1 cells"),
    ("rates", "cat,0.3\ndog,0.2\n", "no column 'label'; it must have label, noise_rate"),
    ("rates", "label,noise_rate\ncat,0.3\ndog,some\n", "noise rate of 'dog' in .* is 'some'"),
    ("rates", "label,noise_rate\ncat,20%\ndog,20%x\n", "noise rate of 'dog' in .* is '20%x'"),
    ("rates", "label,noise_rate\ncat,0.3\ncat,0.2\n", "'cat' in .* is given twice"),
    ("rates", "label,noise_rate,upper\ncat,0.3,x\n", r"The upper of 'cat' in row 1 of .*t\.csv is 'x'"),
    ("rates", "label,noise_rate,upper\ncat,0.3,\ndog,0.2,1.0\n", r"upper of 'dog' in .*t\.csv is '1\.0'"),
    ("rates", "label,noise_rate,upper\ncat,0.3,nan\n", "upper of 'cat' in .* is 'nan'; the upper end"),
    ("answers", "id,true_label\na,cat\n", "no column 'answer'"),
    ("answers", "id,answer,true_label\nz,right,\n", "Row 1 .* names 'z', .* or renamed, write its new id there"),
    ("answers", "id,answer,true_label\na,right,\nb,wrong,cow\n", "Row 2 .* 'cow'"),
    ("answers", "id,answer,true_label\na,wrong,\n", "Row 1 .* does not say what it is"),
    ("answers", "id,answer,true_label\na,none,dog\n", "Row 1 .* is none, but names 'dog' as well"),
    ("answers", "id,answer,true_label\na,unsure,\n", "has the answer 'unsure'; it must be right, wrong, none"),
    ("answers", "id,answer,true_label\na,right,\nb,right,\na,right,\n", "Row 3 .* for 'a' a second time; keep one"),
]  # fmt: skip


@pytest.mark.parametrize("reader, content, sentence", CSV, ids=[f"{reader}: {text!r}" for reader, text, _ in CSV])
def test_a_csv_that_cannot_be_used(tmp_path, reader, content, sentence):
    (tmp_path / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(sentence, READERS[reader], tmp_path / "t.csv")


SIX = np.arange(6.0).reshape(3, 2)
NPZ = [
    (load, {"pictures": SIX}, "no array named x or X or .*; it has pictures"),
    (load, {"x": SIX}, "no array named y or labels or .*; it has x"),
    (load, {"x": SIX, "y": [1, 2, 3], "x_test": SIX, "y_test": [1, 2, 9]}, "'9', which no training example carries"),
    (load, {"x": SIX, "y": [1, 2, 3], "x_test": SIX[:, :1], "y_test": [1, 2, 3]}, r"test inputs have the shape \(1,\)"),
    (load, {"x": SIX, "y": [1, 2, 3], "x_test": SIX}, "no array named y_test"),
    (load, {"x": SIX, "y": list("aba"), "ids": list("uvu")}, "The id 'u' is in row 1 and in row 3 of .*t.npz; make"),
    (load, {"x": SIX, "y": np.array(["a", {}, "b"], dtype=object)}, "npz file of plain arrays"),
    (read_scores, {"loss": np.zeros(3)}, "has 'loss'; it needs label"),
    (read_scores, {"loss": np.zeros(3), "labels": [1, 2]}, "not as long as each other: .*'labels': .2"),
    (read_scores, {"loss": [0.0, np.inf], "labels": [1, 2]}, "Row 2 of column 'loss' in .* is inf"),
    (read_scores, {"loss": np.zeros(2), "labels": [1, 2], "ids": ["a"]}, "not as long as each other"),
    (lambda path: with_features(pets(), path), {"vectors": SIX}, "no array named features or x or .*; it has vectors"),
    (lambda path: with_features(pets(), path), {"x": SIX, "id": ["a"]}, "has 1 ids but 3 examples"),
    (lambda path: with_features(pets(), path), {"x": SIX[:2], "id": ["a", "b"]}, "for 1 of the 3 .*, 'c' the first"),
    (lambda path: with_features(pets(), path), {"x": np.zeros((5, 2)), "id": list("abcxy")},
     "features for 2 ids that arrays does not have, 'x' the first; ids must be"),
    (lambda path: with_features(pets(), path), {"x": np.zeros((4, 2)), "id": list("abcc")}, "'c' is in row 3 and"),
]  # fmt: skip


@pytest.mark.parametrize("reader, arrays, sentence", NPZ, ids=range(len(NPZ)))
def test_an_archive_of_arrays_that_cannot_be_used(tmp_path, reader, arrays, sentence):
    np.savez(tmp_path / "t.npz", **arrays)
    refused(sentence, reader, tmp_path / "t.npz")


def test_files_that_are_cut_missing_or_something_else(tmp_path):
    whole, cut = tmp_path / "whole.npz", tmp_path / "cut.npz"
    np.savez(whole, x=SIX, y=[1, 2, 1])
    cut.write_bytes(whole.read_bytes()[:-40])
    np.save(tmp_path / "x.npy", SIX)
    (tmp_path / "one.npz").write_bytes((tmp_path / "x.npy").read_bytes())
    (tmp_path / "head.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    (tmp_path / "t.txt").write_text("a\n1\n")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,label\n"))
    refused("npz file of plain arrays", load, cut)
    refused("single array", load, tmp_path / "one.npz")
    refused("no npz file at .*two.npz", lambda: with_features(pets(), tmp_path / "two.npz"))
    refused("no npy file at .*two.npy", lambda: with_features(pets(), tmp_path / "two.npy"))
    refused("no table at .*t.csv", lambda: with_features(pets(), tmp_path / "t.csv"))
    refused("give its labels as a second .npy file, a .csv or a .parquet", load, tmp_path / "x.npy")
    refused("no npy file at .*y.npy", lambda: load(tmp_path / "x.npy", labels=tmp_path / "y.npy"))
    refused("cannot be read as an npy file", lambda: load(tmp_path / "head.npy", labels=tmp_path / "y.npy"))
    refused("t.csv.gz is of an unknown kind", load, tmp_path / "t.csv.gz")
    refused("cannot be read as a parquet file", read_table, tmp_path / "t.parquet")
    refused("no table at .*u.parquet", read_table, tmp_path / "u.parquet")
    refused(r"neither \.csv nor \.parquet", read_table, tmp_path / "t.txt")
    refused(r"shape \(3, 2\); a matrix of numbers has c rows", read_matrix, tmp_path / "x.npy")
    refused("no matrix at .*U.csv", read_matrix, tmp_path / "U.csv")
    refused(r"neither \.csv nor \.parquet", read_matrix, tmp_path / "t.txt")
    refused("'none.csv' is neither a number, nor pairs such as", read_rates, "none.csv", ("cat", "dog"))
    refused("corrections is a dict; give the path of a table of id, answer", read_corrections, {"a": "dog"}, pets())


ROWS = {"id": list("abc")}
PARQUET = [
    (load, {"box": [[1], [2], [3]], "label": list("xyx")}, "The column 'box' of .* not one value per row"),
    (load, {"box": [b"x", b"y", b"z"], "label": list("xyx")}, "The column 'box' of .* not one value per row"),
    (load, {"a": [1, 2, 3], "label": [["x"], ["y"], ["x"]]}, "The column 'label' of"),
    (load, {"a": [1, 2, 3], "label": ["x", None, "x"]}, "Row 2 of .* has no label"),
    ("features", {"word": ["x"] * 3}, "Row 1 of column 'word' in .* is 'x', which is not a finite number"),
    ("features", {"e": [[1.0], [1.0, 2.0], [1.0]]}, "Row 1 of the column 'e' .* holds 1 numbers, others 2"),
    ("features", {"e": [[1.0], None, [1.0]]}, "Row 2 of the column 'e' .* holds 0 numbers"),
    ("features", {"e": [["x"]] * 3}, "In the column 'e' .* are lists of string; features are numbers"),
    ("features", {"e": [[1]] * 3, "f": [[1]] * 3}, "more than one column of lists, 'e', 'f'; keep one"),
    ("features", {"label": [1] * 3}, "no column of features besides 'id', 'label'"),
    ("features", {"e": [1.0, None, 2.0]}, "Feature 0 of the example at index 1 is nan"),
]  # fmt: skip


@pytest.mark.parametrize("reader, columns, sentence", PARQUET, ids=range(len(PARQUET)))
def test_a_parquet_file_that_cannot_be_used(tmp_path, reader, columns, sentence):
    path, features = tmp_path / "t.parquet", reader == "features"
    parquet.write_table(pa.table(ROWS | columns if features else columns), path)
    refused(sentence, (lambda path: with_features(pets(), path)) if features else reader, path)


class Sparse:
    def toarray(self): ...


@pytest.mark.parametrize(
    "use, sentence",
    [
        (lambda: as_inputs(np.array([[1.0, 2], [np.nan, 1]])), "Feature 0 of the example at index 1 is nan"),
        (lambda: as_inputs(np.array([[1.0, 1e300]])), "Feature 1 of the example at index 0 is inf"),
        (lambda: as_inputs(np.zeros((2, 5, 5, 7))), "with 1, 3 or 4 channels"),
        (lambda: as_inputs(np.full((2, 4, 4, 3), -1.5)), "from -1.5 to -1.5"),
        (lambda: as_inputs(np.full((2, 4, 4, 3), np.nan)), "from nan to nan"),
        (lambda: as_inputs(np.zeros(3)), r"shape \(3,\)"),
        (lambda: as_inputs(np.array([["a"]])), "must be numbers"),
        (lambda: from_arrays(np.empty((3, 0)), [0, 1, 0]), "The 3 examples have no features"),
        (lambda: from_arrays(Sparse(), [0, 1, 0]), r"The inputs are sparse, .* give X\.toarray\(\)"),
        (lambda: with_features(pets(), np.zeros((2, 2))), "the array given has 2 rows but arrays 3 examples; give"),
        (lambda: with_features(pets(), np.zeros((3, 2, 2))), r"shape \(3, 2, 2\); give one row per example"),
        (lambda: with_features(pets(), np.full((3, 2), np.nan)), "Feature 0 of the example at index 0 is nan"),
        (lambda: load("digits", label="kind"), "--label kind names a column of a table; digits is not a table"),
        (lambda: load("digits", labels="y.npy"), "digits brings its own labels"),
        (lambda: load("cifar10"), "write cifar10:PATH"),
        (lambda: load("idx:"), "write idx:FOLDER"),
        (lambda: load("cifar10:nowhere"), "no cifar10 at nowhere.*Put the official files there"),
        (lambda: load("idx:nowhere"), "no idx at nowhere"),
        (lambda: load("flowers"), "^There is no file or folder here named flowers; DATA is one of: .*, hf:NAME"),
        (lambda: load("my/flowers"), "^There is no file or folder at my/flowers; DATA is one of: a folder of pictures"),
    ],
)  # fmt: skip
def test_what_cannot_be_used(use, sentence):
    refused(sentence, use)
