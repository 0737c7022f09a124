"""The cleaned dataset as a table and as a folder: what is in it, under which label."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

from exported import files_in, snapshot, write_pictures, write_run
from made import rows_of
from smallloss.data.source import load
from smallloss.data.table_files import read_table
from smallloss.errors import InputError
from smallloss.exporting.export import export
from smallloss.files import write_json
from smallloss.noise.estimate import estimate

SUGGESTED = {"bird/8.png": "cat", "cat/8.png": "dog", "dog/8.png": "bird"}


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_a_table_holds_what_is_not_likely_wrong(made, tmp_path, to):
    done = export(made[0], tmp_path / f"clean.{to}", to)
    assert (done.examples, done.written, done.relabelled, done.left_out) == (30, 24, 0, 6)
    table, of_run = read_table(done.path), read_table(made[0] / "examples.parquet").to_pylist()
    assert table.column_names == ["id", "label", "given_label", "weight", "split", "reason"]
    rows = table.to_pylist()
    assert [row["id"] for row in rows] == [f"{c}/{i}.png" for c in ("bird", "cat", "dog") for i in range(8)]
    assert all(row["label"] == row["given_label"] == row["id"].split("/")[0] for row in rows)
    assert {row["split"] for row in rows} == {"train", "held out"}
    left = [row for row in of_run if row["reason"] != "likely wrong"]
    assert [(row["reason"], np.float32(row["weight"])) for row in rows] == [
        (row["reason"], np.float32(row["weight"])) for row in left
    ]


@pytest.mark.parametrize(
    "options, written, changed",
    [
        ({"keep": "selected"}, 21, {}),
        ({"keep": "all"}, 30, {}),
        ({"keep": "all", "relabel": True}, 30, SUGGESTED),  # three more are what the classifier sees: they stay so
        ({"keep": "not likely wrong", "relabel": True}, 30, SUGGESTED),
    ],
)
def test_what_is_kept_and_relabelled_is_what_was_asked_for(made, tmp_path, options, written, changed):
    (tmp_path / "clean.csv").touch()  # an empty file is filled
    done = export(made[0], tmp_path / "clean.csv", "csv", **options)
    assert (done.written, done.relabelled) == (written, len(changed))
    rows = rows_of(done.path)
    assert {row["id"]: row["label"] for row in rows if row["label"] != row["given_label"]} == changed
    if options["keep"] == "selected":
        assert str(done).splitlines()[0].endswith("left out: 6 likely wrong, 2 set aside for safety, 1 never seen")
        assert {row["reason"] for row in rows} == {"kept"}


@pytest.mark.parametrize("copy", [False, True])
def test_a_folder_links_to_the_originals_or_copies_them(made, tmp_path, copy):
    run, pictures = made
    before = snapshot(pictures), snapshot(run)
    (tmp_path / "clean").mkdir()  # an empty one is filled
    done = export(run, tmp_path / "clean", "folder", data=pictures, copy=copy)
    files = files_in(done.path)
    assert files.pop("names.csv").read_text() == '"folder","label"\n"bird","bird"\n"cat","cat"\n"dog","dog"\n'
    assert set(files) == {f"{c}/{i}.png" for c in ("bird", "cat", "dog") for i in range(8)}
    for name, path in files.items():
        assert path.is_symlink() != copy
        assert path.read_bytes() == (pictures / name).read_bytes()
    assert (snapshot(pictures), snapshot(run)) == before
    assert [path.name for path in tmp_path.iterdir()] == ["clean"]
    assert len(load(done.path)) == 24


def test_a_relabelled_picture_moves_beside_its_namesake(made, tmp_path):
    run, pictures = made
    done = export(run, tmp_path / "clean", "folder", data=str(pictures), relabel=True, keep="all")
    stayed = {name for name, path in files_in(done.path).items() if path.parent.name == path.resolve().parent.name}
    assert not SUGGESTED.keys() & stayed
    assert (done.path / "cat/8.png").resolve() == (pictures / "bird/8.png").resolve()
    recorded = write_run(tmp_path / "run", load(pictures), source=str(pictures))
    done = export(recorded, tmp_path / "plain", "folder", keep="all")
    assert (done.path / "cat/8.png").resolve() == (pictures / "cat/8.png").resolve()


def test_a_file_name_that_is_no_utf8(tmp_path):
    pictures = write_pictures(tmp_path / "pictures", ["bird", "cat"])
    odd = pictures / "cat" / os.fsdecode(b"\xff.png")
    try:
        (pictures / "cat" / "1.png").rename(odd)
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    run = write_run(tmp_path / "run", load(pictures))
    done = export(run, tmp_path / "clean", "folder", data=pictures, keep="all", copy=True)
    assert (done.path / "cat" / "_udcff.png").read_bytes() == odd.read_bytes()
    with pytest.raises(InputError, match="is not UTF-8, which JSON cannot hold"):
        export(run, tmp_path / "samples.json", "fiftyone", data=pictures)
    assert export(run, tmp_path / "tasks.json", "labelstudio", data=pictures).written == 20


def test_how_sure_an_estimate_is_is_said_again_where_examples_are_left_out(made, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(made[0], run)
    assert "may be right: check some by hand" not in str(export(run, tmp_path / "sure.csv", "csv"))
    found = replace(estimate(np.eye(3)[np.arange(30) % 3], np.arange(30) % 3), overall=(0.08, 0.02, 0.13))
    write_json(run / "estimate.json", found.to_dict())
    said = str(export(run, tmp_path / "a.csv", "csv"))
    assert "By the estimate 2 % to 13 % of the labels are wrong, so some that are called likely wrong may be" in said
    assert "may be right" not in str(export(run, tmp_path / "b.csv", "csv", keep="all"))
