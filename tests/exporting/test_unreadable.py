"""Pictures that cannot be read."""

import json
from pathlib import Path

import pytest

from exported import files_in, write_pictures, write_run
from made import rows_of
from smallloss.data.source import load
from smallloss.exporting.export import export


@pytest.fixture(scope="module")
def with_broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(run, pictures), two of the pictures unreadable, one of them the only one of its class."""
    place = tmp_path_factory.mktemp("broken")
    pictures = write_pictures(place / "pictures", ["bird", "cat", "dog"])
    (pictures / "cat" / "3.png").write_bytes(b"no picture")
    (pictures / "emu").mkdir()
    (pictures / "emu" / "0.png").write_bytes(b"")
    return write_run(place / "run", load(pictures)), pictures


@pytest.mark.parametrize("to, options", [("csv", {"keep": "all"}), ("fiftyone", {}), ("labelstudio", {})])
def test_what_cannot_be_read_is_in_no_cleaned_dataset_and_shown_by_no_tool(with_broken, tmp_path, to, options):
    run, pictures = with_broken
    path = tmp_path / ("out.csv" if to == "csv" else "out.json")
    done = export(run, path, to, data=pictures, **options)
    assert (done.examples, done.written, done.why) == (31, 29, {"unreadable": 2})
    assert "; 2 left out: 2 unreadable" in str(done).splitlines()[0]
    rows = rows_of(path) if to == "csv" else json.loads(path.read_text())
    assert len(rows) == 29
    assert not any(f"{name}.png" in str(row) for row in rows for name in ("cat/3", "emu/0"))
    export(run, tmp_path / "folder", "folder", data=pictures, keep="all")
    assert len(files_in(tmp_path / "folder")) == 29 + 1  # names.csv


def test_cleanlabs_rows_line_up_with_the_input(with_broken, tmp_path):
    done = export(with_broken[0], tmp_path / "c.csv", "cleanlab")
    assert (done.written, done.left_out) == (31, 0)
    rows = rows_of(tmp_path / "c.csv")
    assert [row["given_label"] for row in rows] == ["bird"] * 10 + ["cat"] * 10 + ["dog"] * 10 + ["emu"]
    assert [i for i, row in enumerate(rows) if not row["label_score"]] == [0, 13, 30]  # the first was never seen
