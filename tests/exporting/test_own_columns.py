"""The columns of a table go with it."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from exported import write_pictures, write_run
from made import rows_of, write_rows
from smallloss.data.source import load
from smallloss.data.table_files import read_table, write_table
from smallloss.exporting.export import export
from sources import table as table_file


def write_own_table(path: Path) -> Path:
    labels = ["-bird", "cat"] * 10
    columns = {
        "id": [f"=r{i}" for i in range(20)],
        "text": [f"- text number {i}\nof some <b>length</b>, on {label}s" for i, label in enumerate(labels)],
        "animal": labels, "split": ["mine"] * 20, "seen": [None if i == 3 else i / 2 for i in range(20)],
        "tags": [["a", "b"]] * 20, "kind": pa.array(["=x", "y"] * 10).dictionary_encode(),
    }  # fmt: skip
    if path.suffix == ".parquet":
        return table_file(path, **columns)
    del columns["tags"]
    return write_rows(path, pa.table(columns).to_pylist())


@pytest.fixture
def run_of_table(tmp_path) -> Callable[[str], tuple[Path, Path]]:
    """`run_of_table("csv")`: (run, table)"""

    def make(ending: str) -> tuple[Path, Path]:
        table = write_own_table(tmp_path / f"t.{ending}")
        return write_run(tmp_path / "run", load(table, label="animal"), source=str(table), label="animal"), table

    return make


@pytest.mark.parametrize(
    "ending, to, given",
    [("csv", "csv", False), ("csv", "parquet", True), ("parquet", "csv", True), ("parquet", "parquet", False)],
)
def test_a_cleaned_table_has_the_columns_of_the_own_one(run_of_table, tmp_path, ending, to, given):
    run, table = run_of_table(ending)
    if given:
        table = table.rename(tmp_path / f"moved.{ending}")
    where = {"data": table, "label": "animal"} if given else {}
    done = export(run, tmp_path / f"clean.{to}", to, relabel=True, **where)
    rows = read_table(done.path)
    ours = ["id", "label", "given_label", "weight", "split", "reason"]
    tags = ["tags"] if ending == to == "parquet" else []
    assert rows.column_names == [*ours, "text", "data_split", "seen", *tags, "kind"]
    before = {row["id"]: row for row in read_table(table).to_pylist()}
    assert len(rows) == 20
    for row in rows.to_pylist():
        own = before[row["id"]]
        assert (row["text"], row["kind"], row["given_label"]) == (own["text"], own["kind"], own["animal"])
        assert row["data_split"] == "mine"
        assert (row["seen"] is None) == (own["seen"] is None)
        assert row["seen"] is None or float(row["seen"]) == float(own["seen"])
    assert len(load(done.path)) == 20
    if to == "csv":  # as a spreadsheet reads it
        for row in rows_of(done.path):
            assert row["id"].startswith("'=r")
            assert row["text"].startswith("'- text")
            assert (row["given_label"], row["kind"]) in {("'-bird", "'=x"), ("cat", "y")}


def test_a_table_of_pictures_keeps_its_columns_past_one_that_cannot_be_read(tmp_path):
    pictures = write_pictures(tmp_path / "pictures", ["bird", "cat"])
    (pictures / "bird" / "3.png").write_bytes(b"no picture")
    cells = [f"pictures/{label}/{i}.png" for label in ("bird", "cat") for i in range(10)]
    columns = {"path": cells, "label": [cell.split("/")[1] for cell in cells], "size": [f"size of {c}" for c in cells]}
    table = write_table(tmp_path / "t.csv", columns)
    run = write_run(tmp_path / "run", load(table), source=str(table))
    rows = rows_of(export(run, tmp_path / "clean.csv", "csv", keep="all").path)
    assert len(rows) == 19
    assert all(row["size"] == f"size of {row['id']}" and row["path"] == row["id"] for row in rows)


def test_where_the_columns_are_not_to_be_had_it_is_said_how_to_join(made, run_of_table, tmp_path):
    folder = export(made[0], tmp_path / "a.csv", "csv")
    assert folder.note == "To add columns of pictures, join on id (the name of each example there)."
    run, table = run_of_table("csv")
    table.write_text(table.read_text().replace("=r7", "=r77"))
    done = export(run, tmp_path / "b.csv", "csv")
    assert "has changed since; join it with t.csv on id (the name of each" in str(done)
    assert read_table(done.path).column_names[-1] == "reason"
    table.unlink()
    assert "is gone: name it with --data, or join it with t.csv on id" in str(export(run, tmp_path / "c.csv", "csv"))
    numbers = {"number": [i * i for i in range(20)], "label": ["bird"] * 10 + ["cat"] * 10}
    unnamed = write_run(tmp_path / "unnamed", load(write_table(tmp_path / "n.csv", numbers)))
    numbered = export(unnamed, tmp_path / "d.csv", "csv")
    assert numbered.note == "To add columns of n.csv, join on id (the row number, from 0)."
    known = write_run(tmp_path / "known", load(tmp_path / "n.csv"), source=str(tmp_path / "n.csv"), label="label")
    write_table(tmp_path / "n.csv", {name: cells[1:] for name, cells in numbers.items()})
    note = export(known, tmp_path / "e.csv", "csv").note  # every number is now another example's
    assert note.endswith("has changed since; put it back as it was, or name a copy of that with --data")


def test_columns_that_a_csv_cannot_hold_are_named(run_of_table, tmp_path):
    columns = {
        "text": pa.array([f"text number {i} of some length" for i in range(20)], pa.string_view()),
        "tags": [["a", "b"]] * 20, "label": ["bird", "cat"] * 10, "=box": [{"left": 1, "right": 2}] * 20,
        "hash": pa.array([b"\xff\x00"] * 20, pa.binary(2)), "size": range(20),
    }  # fmt: skip
    source = table_file(tmp_path / "many.parquet", **columns)
    run = write_run(tmp_path / "of many", load(source), source=str(source))
    done = export(run, tmp_path / "clean.csv", "csv")
    assert done.note == (
        "The columns 'tags', '=box', 'hash' are not in it: a csv cannot hold lists, records or bytes; "
        "--to parquet keeps them."
    )
    assert read_table(done.path).column_names[6:] == ["text", "size"]
    done = export(run, tmp_path / "clean.parquet", "parquet")
    assert done.note == ""
    assert read_table(done.path).column_names[6:] == ["text", "tags", "=box", "hash", "size"]
    assert read_table(done.path).column("tags").to_pylist() == [["a", "b"]] * 16
    one = export(run_of_table("parquet")[0], tmp_path / "one.csv", "csv").note
    assert one == "The column 'tags' is not in it: a csv cannot hold lists, records or bytes; --to parquet keeps it."
