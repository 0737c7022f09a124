import os

import numpy as np
import pytest

from smallloss.data.dataset import Dataset
from smallloss.data.table_files import write_table
from smallloss.data.told import read_corrections
from smallloss.errors import InputError
from smallloss.noise.answers import NONE, found_wrong


@pytest.fixture
def pets() -> Dataset:
    return Dataset(np.zeros((3, 2), np.float32), np.array([0, 1, 1]), ("cat", "dog"), ids=["a", "b", "c"])


def written(path, text):
    (path / "c.csv").write_text(text)
    return path / "c.csv"


def test_answers_become_the_true_class_of_a_row(tmp_path, pets):
    path = written(tmp_path, "id,index,answer,true_label\nb,1,right,\nc,2,wrong,cat\na,0,none,\n")
    assert read_corrections(path, pets) == {1: 1, 2: 0, 0: NONE}


def test_the_class_is_the_truth_whatever_became_of_the_label(tmp_path, pets):
    """One that was wrong was mended since, one that was right was changed: each is judged by its label of today."""
    path = written(tmp_path, "id,answer,true_label\na,wrong,cat\nb,right,cat\nc,right,dog\n")
    pins = read_corrections(path, pets)
    assert pins == {0: 0, 1: 0, 2: 1}
    assert found_wrong(pets.labels, pins).tolist() == [False, True, False]


@pytest.mark.parametrize(
    "text, words",
    [
        ("id,true_label\na,cat\n", "no column 'answer'"),
        ("id,answer,true_label\nz,right,\n", "Row 1 .* names 'z', .* or renamed, write its new id there"),
        ("id,answer,true_label\na,maybe,\n", "Row 1 .* 'maybe'"),
        ("id,answer,true_label\na,right,\nb,wrong,cow\n", "Row 2 .* 'cow'"),
        ("id,answer,true_label\na,wrong,\n", "Row 1 .* does not say what it is"),
        ("id,answer,true_label\na,none,dog\n", "Row 1 .* is none, but names 'dog' as well"),
        ("id,answer,true_label\na,unsure,\n", "Row 1 .* has the answer 'unsure'; it must be right, wrong, none"),
        ("id,answer,true_label\na,right,\nb,right,\na,right,\n", "Row 3 .* answers for 'a' a second time; keep one"),
    ],
)
def test_bad_corrections_are_named(tmp_path, pets, text, words):
    with pytest.raises(InputError, match=words):
        read_corrections(written(tmp_path, text), pets)


def test_names_are_understood_as_our_own_tables_spell_them(tmp_path):
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


def test_what_is_no_table_is_a_sentence(pets):
    with pytest.raises(InputError, match="corrections is a dict; give the path of a table of id, answer, true_label"):
        read_corrections({"a": "dog"}, pets)
