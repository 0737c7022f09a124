"""What is refused, and leaves nothing behind."""

import shutil
from pathlib import Path

import pytest
from PIL import Image

from exported import files_in, snapshot, write_run
from smallloss.data.source import load
from smallloss.data.table_files import read_table, write_table
from smallloss.errors import InputError
from smallloss.exporting.export import FORMATS, export

SHOWING = ["folder", "labelstudio", "fiftyone"]


def test_it_must_be_a_finished_run(made, tmp_path):
    with pytest.raises(InputError, match="is not a run folder"):
        export(tmp_path, tmp_path / "a.csv", "csv")
    (tmp_path / "run").mkdir()
    shutil.copy(made[0] / "config.json", tmp_path / "run")
    with pytest.raises(InputError, match=r"has no examples\.parquet: the run did not finish"):
        export(tmp_path / "run", tmp_path / "a.csv", "csv")
    write_table(tmp_path / "run" / "examples.parquet", {"id": ["a"]})
    shutil.copy(made[0] / "selection.npz", tmp_path / "run")
    with pytest.raises(InputError, match="has no column 'is_label_issue'"):
        export(tmp_path / "run", tmp_path / "a.csv", "csv")


@pytest.mark.parametrize(
    "name, to, options, sentence",
    [
        ("a.csv", "xlsx", {}, "folder, csv, parquet, cleanlab, labelstudio, fiftyone"),
        ("a.csv", "csv", {"keep": "some"}, "--keep is .some.; it is one of selected, not likely wrong, all"),
        ("a.parquet", "csv", {}, r"does not end in \.csv"),
        ("a.csv", "csv", {"copy": True}, "--copy goes with --to folder"),
        ("a.csv", "cleanlab", {"relabel": True}, "every example under its given label"),
        ("a.csv", "cleanlab", {"keep": "selected"}, "every example under its given label"),
        ("a.csv", "csv", {"data": "digits"}, "digits is not the data"),
    ],
)
def test_what_cannot_be_is_said_and_leaves_nothing(made, tmp_path, name, to, options, sentence):
    with pytest.raises(InputError, match=sentence):
        export(made[0], tmp_path / name, to, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "column, cells, sentence",
    [
        ("id", {3: "../../secret.png"}, "is not the data that"),
        ("id", {3: "/secret.png"}, "is not the data that"),
        ("id", {3: "cat/../../secret.png"}, "is not the data that"),
        ("reason", dict.fromkeys(range(30), "likely wrong"), r"No example of .* is left"),
    ],
)
def test_a_table_that_leads_nowhere_is_not_exported(made, tmp_path, column, cells, sentence):
    """An id that leads out of the folder; nothing that is left."""
    run = shutil.copytree(made[0], tmp_path / "run")
    columns = read_table(run / "examples.parquet").to_pydict()
    columns[column] = [cells.get(place, cell) for place, cell in enumerate(columns[column])]
    write_table(run / "examples.parquet", columns)
    with pytest.raises(InputError, match=sentence):
        export(run, tmp_path / "clean", "folder", data=made[1])


@pytest.mark.parametrize("to", FORMATS)
def test_what_is_there_is_never_written_over(made, tmp_path, to):
    run, pictures = made
    ending = {"folder": "", "parquet": ".parquet", "csv": ".csv", "cleanlab": ".csv"}.get(to, ".json")

    def refused(target: Path, why: str) -> None:
        before = snapshot(tmp_path)
        with pytest.raises(InputError, match=why):
            export(run, target, to, data=pictures)
        assert snapshot(tmp_path) == before

    (tmp_path / f"file{ending}").write_text("mine")
    refused(tmp_path / f"file{ending}", "already exists")
    full = tmp_path / f"full{ending}"
    full.mkdir()
    (full / "link").symlink_to(tmp_path / "elsewhere")
    refused(full, "is not empty" if to == "folder" else "is a folder; name a file")
    (tmp_path / "elsewhere").mkdir()
    for name, aim in (("link", tmp_path / "elsewhere"), ("dangling", tmp_path / "nothing")):
        link = tmp_path / f"{name}{ending}"
        link.symlink_to(aim)
        refused(link, "is a link")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_nothing_is_written_among_the_originals(made, tmp_path):
    before = snapshot(made[1])
    (tmp_path / "other name").symlink_to(made[1])
    for place in (made[1] / "clean", made[1] / "cat" / "clean", tmp_path / "other name" / "clean"):
        with pytest.raises(InputError, match="is inside"):
            export(made[0], place, "folder", data=made[1])
    assert snapshot(made[1]) == before


def test_a_failure_in_the_middle_leaves_nothing(made, tmp_path, monkeypatch):
    copied = []

    def fails_at_the_fifth(source: Path, target: Path) -> None:
        copied.append(target)
        if len(copied) == 5:
            raise OSError(28, "No space left on device")
        target.write_bytes(source.read_bytes())

    monkeypatch.setattr(shutil, "copyfile", fails_at_the_fifth)
    with pytest.raises(OSError, match="No space left"):
        export(made[0], tmp_path / "clean", "folder", data=made[1], copy=True)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_fills_up_meanwhile_is_left_alone(made, tmp_path, monkeypatch):
    original = Path.symlink_to

    def meanwhile(self: Path, aim: Path) -> None:
        (tmp_path / "clean").mkdir(exist_ok=True)
        (tmp_path / "clean" / "mine").touch()
        original(self, aim)

    monkeypatch.setattr(Path, "symlink_to", meanwhile)
    with pytest.raises(OSError):
        export(made[0], tmp_path / "clean", "folder", data=made[1])
    assert list(files_in(tmp_path)) == ["clean/mine"]


@pytest.mark.parametrize("to", SHOWING)
def test_the_originals_must_be_there_and_be_those_of_the_run(made, tmp_path, to):
    run, pictures = made
    out = tmp_path / ("out" if to == "folder" else "out.json")
    with pytest.raises(InputError, match=f"{to} needs the originals, but .* does not say where pictures is; .* --data"):
        export(run, out, to)
    with pytest.raises(InputError, match=r"digits is not the data that .* was made from"):
        export(run, out, to, data="digits")
    more = tmp_path / "more" / "pictures"
    shutil.copytree(pictures, more)
    Image.new("RGB", (8, 8)).save(more / "cat" / "new.png")
    with pytest.raises(InputError, match=r"was made from: 1 example new \('cat/new.png'\). Put it back as it was, or"):
        export(run, out, to, data=more)
    other = tmp_path / "pictures"
    shutil.copytree(pictures, other)
    Image.new("RGB", (8, 8)).save(other / "cat" / "3.png")
    with pytest.raises(InputError, match=r"was made from: some inputs, labels or their order changed"):
        export(run, out, to, data=other)
    for i in range(4):
        (other / "cat" / f"{i}.png").unlink()
    with pytest.raises(InputError, match=r"was made from: 4 examples not there any more \('cat/0.png'\)"):
        export(run, out, to, data=other)
    assert not out.exists()


def test_corrupted_labels_of_a_benchmark_are_those_of_the_run(tmp_path):
    digits = load("digits")
    run = write_run(tmp_path / "run", digits.with_labels((digits.labels + 1) % 10))
    assert export(run, tmp_path / "a.csv", "csv", data="digits").examples == len(digits)
    with pytest.raises(InputError, match="digits has neither picture files nor texts"):
        export(run, tmp_path / "a.json", "labelstudio", data="digits")
