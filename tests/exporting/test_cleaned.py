"""The cleaned dataset as a table and as a folder: what is in it, under which label."""

import os
import shutil
import subprocess
import sys
from collections import Counter
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


def test_the_run_these_tests_stand_on(made):
    rows = read_table(made[0] / "examples.parquet").to_pylist()
    wrong = {row["id"]: row["suggested_label"] for row in rows if row["is_label_issue"]}
    assert wrong == {
        "bird/8.png": "cat", "bird/9.png": None, "cat/8.png": "dog", "cat/9.png": None,
        "dog/8.png": "bird", "dog/9.png": None,
    }  # fmt: skip
    assert {row["reason"] for row in rows} == {"kept", "likely wrong", "set aside for safety", "never seen"}


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_a_table_holds_what_is_not_likely_wrong(made, tmp_path, to):
    done = export(made[0], tmp_path / f"clean.{to}", to)
    assert (done.examples, done.written, done.relabelled, done.left_out) == (30, 24, 0, 6)
    table = read_table(done.path)
    assert table.column_names == ["id", "label", "given_label", "weight", "split", "reason"]
    rows = table.to_pylist()
    assert [row["id"] for row in rows] == [f"{c}/{i}.png" for c in ("bird", "cat", "dog") for i in range(8)]
    assert all(row["label"] == row["given_label"] == row["id"].split("/")[0] for row in rows)
    assert "likely wrong" not in {row["reason"] for row in rows}
    assert {row["split"] for row in rows} == {"train", "held out"}
    of_run = read_table(made[0] / "examples.parquet").to_pylist()
    weight = {row["id"]: row["weight"] for row in of_run}
    assert [np.float32(row["weight"]) for row in rows] == [np.float32(weight[row["id"]]) for row in rows]


@pytest.mark.parametrize(
    "options, written, relabelled",
    [
        ({"keep": "all"}, 30, 0),
        ({"keep": "all", "relabel": True}, 30, 3),
        ({"keep": "not likely wrong", "relabel": True}, 30, 3),
    ],
)
def test_what_is_kept_and_relabelled_is_what_was_asked_for(made, tmp_path, options, written, relabelled):
    done = export(made[0], tmp_path / "clean.csv", "csv", **options)
    assert (done.written, done.relabelled) == (written, relabelled)
    changed = {row["id"]: row["label"] for row in rows_of(done.path) if row["label"] != row["given_label"]}
    expected = {"bird/8.png": "cat", "cat/8.png": "dog", "dog/8.png": "bird"} if relabelled else {}
    assert changed == expected  # the other three likely wrong ones are what the classifier sees: they stay so


def test_only_the_selected(made, tmp_path):
    done = export(made[0], tmp_path / "clean.csv", "csv", keep="selected")
    of_run = read_table(made[0] / "examples.parquet").to_pylist()
    assert done.why == Counter(row["reason"] for row in of_run if not row["selected"])
    assert str(done).splitlines()[0].endswith("left out: 6 likely wrong, 2 set aside for safety, 1 never seen")
    assert [row["id"] for row in rows_of(done.path)] == [row["id"] for row in of_run if row["selected"]]
    assert {row["reason"] for row in rows_of(done.path)} == {"kept"}


@pytest.mark.parametrize("copy", [False, True])
def test_a_folder_links_to_the_originals_or_copies_them(made, tmp_path, copy):
    run, pictures = made
    before = snapshot(pictures), snapshot(run)
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
    assert {"cat/8.png", "dog/8.png", "bird/8.png"}.isdisjoint(
        name for name, path in files_in(done.path).items() if path.parent.name == path.resolve().parent.name
    )
    assert (done.path / "cat/8.png").resolve() == (pictures / "bird/8.png").resolve()
    done = export(run, tmp_path / "empty" / "clean", "folder", data=pictures, keep="all")
    assert (done.path / "cat/8.png").resolve() == (pictures / "cat/8.png").resolve()


def test_the_source_that_a_run_records_is_used(made, tmp_path):
    run = write_run(tmp_path / "run", load(made[1]), source=str(made[1]))
    assert export(run, tmp_path / "clean", "folder").written == 24


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


def test_an_empty_folder_or_file_is_filled(made, tmp_path):
    (tmp_path / "clean").mkdir()
    assert export(made[0], tmp_path / "clean", "folder", data=made[1]).written == 24
    (tmp_path / "clean.csv").touch()
    assert export(made[0], tmp_path / "clean.csv", "csv").written == 24


def test_no_torch(made, tmp_path):
    use = f"export({str(made[0])!r}, {str(tmp_path / 'clean')!r}, 'folder', data={str(made[1])!r})"
    code = f"import sys; from smallloss.exporting.export import export; {use}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_how_sure_an_estimate_is_is_said_again_where_examples_are_left_out(made, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(made[0], run)
    assert "may be right: check some by hand" not in str(export(run, tmp_path / "sure.csv", "csv"))
    found = replace(estimate(np.eye(3)[np.arange(30) % 3], np.arange(30) % 3), overall=(0.08, 0.02, 0.13))
    write_json(run / "estimate.json", found.to_dict())
    said = str(export(run, tmp_path / "a.csv", "csv"))
    assert "By the estimate 2 % to 13 % of the labels are wrong, so some that are called likely wrong may be" in said
    assert "may be right" not in str(export(run, tmp_path / "b.csv", "csv", keep="all"))
