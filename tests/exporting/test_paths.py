"""A cleaned table of pictures says where they are, seen from its own folder, and so is data again."""

import os
from pathlib import Path

import numpy as np
import pytest

from exported import write_pictures, write_run
from smallloss.data.source import load
from smallloss.data.table_files import read_table, write_table
from smallloss.exporting.export import export
from smallloss.files import seen_from


def same_pictures(before, after, ids):
    row_of = {name: row for row, name in enumerate(before.ids)}
    assert list(after.ids) == ids
    np.testing.assert_array_equal(after.inputs, before.inputs[[row_of[name] for name in ids]])
    assert not after.unreadable


@pytest.mark.parametrize("to", ["csv", "parquet"])
@pytest.mark.parametrize("given", [False, True], ids=["recorded", "given"])
def test_a_folder_of_pictures_is_read_back(tmp_path, to, given):
    pictures = write_pictures(tmp_path / "pictures", ["bird", "=cat"])
    (pictures / "bird" / "3.png").write_bytes(b"no picture")
    (pictures / "bird" / "4.png").rename(pictures / "bird" / os.fsdecode(b"\xff4.png"))
    before = load(pictures)
    run = write_run(tmp_path / "run", before, source=None if given else str(pictures))
    done = export(run, tmp_path / f"c.{to}", to, keep="all", data=pictures if given else None)
    assert done.note == ""
    found = read_table(done.path).to_pydict()
    assert found["path"] == [f"pictures/{name}" for name in found["id"]]
    same_pictures(before, load(done.path), list(before.ids))


@pytest.mark.parametrize("named", [False, True], ids=["paths are ids", "ids"])
@pytest.mark.parametrize("place", ["ex", "deep/er/down", "."])
def test_a_table_of_paths_is_read_back_from_another_folder(tmp_path, named, place):
    """The column keeps its name; a way that is already absolute stays as it is."""
    pictures = write_pictures(tmp_path / "pictures", ["bird", "cat"])
    cells = [f"../pictures/{label}/{i}.png" for label in ("bird", "cat") for i in range(10)]
    cells[3] = str(pictures / "bird" / "3.png")
    columns = {"image": cells, "label": [Path(cell).parent.name for cell in cells]}
    columns |= {"id": [f"r{i}" for i in range(20)]} if named else {}
    (tmp_path / "tables").mkdir()
    table = write_table(tmp_path / "tables" / "t.csv", columns)
    before = load(table)
    run = write_run(tmp_path / "run", before, source=str(table))
    done = export(run, tmp_path / place / "c.csv", "csv")
    found = read_table(done.path).to_pydict()
    same_pictures(before, load(done.path), found["id"])
    assert "path" not in found
    up = {"ex": "../", "deep/er/down": f"{tmp_path}/", ".": ""}[place]
    ways = dict(zip(before.ids, cells, strict=True))
    for name, way in zip(found["id"], found["image"], strict=True):
        old = ways[name]
        if place == "deep/er/down" and not old.startswith("/"):
            assert way.startswith("/")
        else:
            assert way == (old if old.startswith("/") else up + old.removeprefix("../"))


def test_what_is_near_is_relative_and_what_is_far_is_not(tmp_path):
    file = tmp_path / "a" / "b" / "1.png"
    file.parent.mkdir(parents=True)
    file.touch()
    (tmp_path / "x" / "y" / "z").mkdir(parents=True)
    assert seen_from(tmp_path, file) == "a/b/1.png"
    assert seen_from(tmp_path / "x" / "y", file) == "../../a/b/1.png"
    assert seen_from(tmp_path / "x" / "y" / "z", file) == str(file)
    assert seen_from(Path("/nowhere"), file) == str(file)
    (tmp_path / "link").symlink_to(tmp_path / "x" / "y")  # from it, .. is x
    assert seen_from(tmp_path / "link", file) == str(file)


def test_where_the_pictures_are_gone_it_is_said(tmp_path):
    pictures = write_pictures(tmp_path / "pictures", ["bird", "cat"])
    run = write_run(tmp_path / "run", load(pictures), source=str(pictures))
    moved = pictures.rename(tmp_path / "moved")
    done = export(run, tmp_path / "a.csv", "csv")
    assert done.note == f"The paths of the pictures are not in it, because {pictures} is gone: name it with --data."
    assert "path" not in read_table(done.path).column_names
    found = read_table(export(run, tmp_path / "b.csv", "csv", data=moved).path).to_pydict()
    assert found["path"] == [f"moved/{name}" for name in found["id"]]
