"""A cleaned table is data again: every name as it was, and nothing learnt from what an export said."""

from pathlib import Path

import numpy as np
import pytest

from command import smallloss
from exported import write_run
from made import rows_of
from smallloss.data.source import load
from smallloss.data.table_files import read_table, write_table
from smallloss.errors import InputError
from smallloss.exporting.export import export

CLASSES = ["-bird", "'-bird", "''=cat", "'tis", "@home"]  # as a spreadsheet would run them, and by nature


def write_texts(path: Path) -> Path:
    labels = np.tile(CLASSES, 10).tolist()
    text = [f"{'-=+'[i % 3]} number {i} says\n=what {label} does" for i, label in enumerate(labels)]
    return write_table(path, {"id": [f"={i}" for i in range(50)], "text": text, "label": labels, "=note": ["'+1"] * 50})


def test_a_cleaned_csv_of_texts_through_the_commands(tmp_path):
    """Exported, cleaned again and exported again, by the program itself."""
    table = write_texts(tmp_path / "t.parquet")
    run = write_run(tmp_path / "run", load(table), source=str(table))
    done = smallloss("export", run, "--to", "csv", "--out", tmp_path / "once.csv", "--keep", "all")
    assert done.out == f"{tmp_path / 'once.csv'}: 50 examples; 0 left out\n"
    quick = ("--preset", "cpu", "--epochs", 1, "--noise-rate", 0.1)
    smallloss("clean", tmp_path / "once.csv", "--out", tmp_path / "again", *quick)
    own = read_table(table).to_pydict()
    seen = read_table(tmp_path / "again" / "examples.parquet").to_pydict()
    assert (seen["id"], seen["given_label"]) == (own["id"], own["label"])
    export(tmp_path / "again", tmp_path / "twice.csv", "csv", keep="all")
    once, twice = (read_table(tmp_path / f"{name}.csv").to_pydict() for name in ("once", "twice"))
    assert list(once) == ["id", "label", "given_label", "weight", "split", "reason", "text", "=note"]
    assert list(twice) == list(once)
    for name in ("id", "label", "text", "=note"):
        assert once[name] == twice[name] == own[name]
    row = rows_of(tmp_path / "twice.csv")[1]
    assert (row["id"], row["label"], row["'=note"]) == ("'=1", "''-bird", "''+1")


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_what_an_export_says_is_not_learnt_from(tmp_path, to):
    """The old label and the reason would tell the new one; a column of the user's own name is learnt from."""
    rng = np.random.default_rng(0)
    columns = {"weight": rng.normal(size=40), "split": ["left", "right"] * 20, "label": ["bird", "cat"] * 20}
    table = write_table(tmp_path / "t.parquet", columns)
    before = load(table)
    export(write_run(tmp_path / "run", before, source=str(table)), tmp_path / f"a.{to}", to, keep="all")
    after = load(tmp_path / f"a.{to}")
    np.testing.assert_allclose(after.inputs, before.inputs, rtol=1e-6)
    assert list(after.ids) == [str(i) for i in range(40)]
    assert "Columns that an earlier export added are not learned from." in after.notes
    assert after.shown[0] == f"data_weight = {columns['weight'][0]}, data_split = left"
    again = write_run(tmp_path / "again", after, source=str(tmp_path / f"a.{to}"))
    done = export(again, tmp_path / f"b.{to}", to)
    ours = ["id", "label", "given_label", "weight", "split", "reason"]
    assert read_table(done.path).column_names == [*ours, "data_weight", "data_split"]
    old = load(tmp_path / f"a.{to}", label="given_label")
    np.testing.assert_array_equal(old.inputs, after.inputs)


def test_an_export_without_the_examples_own_columns_is_no_data(made, tmp_path):
    done = export(made[0], tmp_path / "a.csv", "csv")
    with pytest.raises(InputError, match="has no column to learn from besides the labels"):
        load(done.path)


def test_what_a_run_thinks_of_the_examples_is_no_data(made, tmp_path):
    """Its scores tell the labels: learnt from, they would pass for a network that knows them all."""
    done = export(made[0], tmp_path / "a.csv", "cleanlab")
    for path in (done.path, made[0] / "examples.csv", made[0] / "examples.parquet"):
        with pytest.raises(
            InputError, match=r"what a tool thinks of the examples \(is_label_issue, .*; clean the data"
        ):
            load(path)
    joined = read_table(done.path).to_pydict() | {"text": [f"number {i} says what it is" for i in range(30)]}
    assert load(write_table(tmp_path / "b.csv", joined)).kind == "text"
