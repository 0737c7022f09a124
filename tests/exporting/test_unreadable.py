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


def test_what_cannot_be_read_is_in_no_cleaned_dataset(with_broken, tmp_path):
    run, pictures = with_broken
    done = export(run, tmp_path / "all.csv", "csv", keep="all")
    assert (done.examples, done.written, done.why) == (31, 29, {"unreadable": 2})
    assert str(done).splitlines()[0].endswith(": 29 examples; 2 left out: 2 unreadable")
    assert not {"cat/3.png", "emu/0.png"} & {row["id"] for row in rows_of(tmp_path / "all.csv")}
    export(run, tmp_path / "folder", "folder", data=pictures, keep="all")
    assert len(files_in(tmp_path / "folder")) == 29 + 1  # names.csv


def test_tools_that_show_pictures_are_not_given_broken_ones(with_broken, tmp_path):
    run, pictures = with_broken
    for to in ("fiftyone", "labelstudio"):
        assert str(export(run, tmp_path / f"{to}.json", to, data=pictures)).endswith("; 2 left out: 2 unreadable")
        assert len(json.loads((tmp_path / f"{to}.json").read_text())) == 29


def test_cleanlabs_rows_line_up_with_the_input(with_broken, tmp_path):
    done = export(with_broken[0], tmp_path / "c.csv", "cleanlab")
    assert (done.written, done.left_out) == (31, 0)
    rows = rows_of(tmp_path / "c.csv")
    assert [row["given_label"] for row in rows] == ["bird"] * 10 + ["cat"] * 10 + ["dog"] * 10 + ["emu"]
    assert [i for i, row in enumerate(rows) if not row["label_score"]] == [0, 13, 30]  # the first was never seen
