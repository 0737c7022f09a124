import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pyarrow import parquet

from smallloss.auditing import audit, read_back
from smallloss.criterion.audit import NONE
from smallloss.criterion.selection import select
from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.data.tables import read_table, write_table
from smallloss.errors import InputError
from smallloss.exporting import FORMATS, export
from smallloss.files import write_json, write_npz
from smallloss.report.examples import write_examples
from smallloss.report.formats import Names, safe_name
from smallloss.report.result import Part, Result

EACH = 10  # examples of each class, of which the last two are likely wrong
SHOWING = ["folder", "labelstudio", "fiftyone"]
HOSTILE = [
    "../../x",
    "</script>",
    "=cmd()",
    "two\nlines",
    "שלום\u202egnp.exe",
    "CON",
    "con.txt",
    ".hidden",
    "names.csv",
    "a/b",
    "a\\b",
    "..",
    "dot. ",
    "long" * 100,
    "ü" * 300,
    "Cat",
    "cat",
]


def write_run(folder: Path, data: Dataset, *, source: str | None = None, pins: dict[int, int] | None = None) -> Path:
    """A run as `clean` leaves it, without the training.

    Of each class, the last example in five is likely wrong and seen as the next class, but for the very last one,
    which the network sees as it is labelled; one in ten is held out; the first of all was never seen.
    """
    n = len(data)
    place = np.concatenate([np.arange((data.labels == k).sum()) for k in range(len(data.classes))])
    place = place[np.argsort(np.argsort(data.labels, kind="stable"), kind="stable")]
    size = np.bincount(data.labels)[data.labels]
    score = place / size
    predicted = np.where(place == size - 2, (data.labels + 1) % len(data.classes), data.labels)
    score[0] = np.nan
    parts = []
    for split, index in (("train", np.flatnonzero(place != 2)), ("held out", np.flatnonzero(place == 2))):
        names = np.array(data.classes, dtype=object)
        rate = 0.2 if split == "train" else 0.0
        part = select(score[index], names[data.labels[index]], rate, classes=names)
        parts.append(Part(split, index, part))
    result = Result(
        data, parts, score, predicted, "mean_loss", None, [], "", [], {}, probability=np.linspace(0.5, 1, n),
        pins=pins or {},
    )  # fmt: skip
    facts: dict[str, Any] = {"name": data.name, "fingerprint": data.fingerprint(), "examples": n}
    folder.mkdir()
    write_json(folder / "config.json", {"smallloss_run": 1, "data": facts | ({"source": source} if source else {})})
    chosen = parts[0].selection
    columns = {"index": parts[0].index, "selected": chosen.mask, "rank_in_class": chosen.rank_in_class}
    columns |= {"classes": np.array(data.classes), "noise_rate": np.asarray(chosen.quota.noise_rate)}
    write_npz(folder / "selection.npz", columns)
    write_examples(result, folder)
    return folder


def write_pictures(root: Path, classes: list[str], each: int = EACH) -> Path:
    rng = np.random.default_rng(0)
    for name in classes:
        (root / name).mkdir(parents=True)
        for i in range(each):
            Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(root / name / f"{i}.png")
    return root


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(run, pictures)"""
    place = tmp_path_factory.mktemp("made")
    pictures = write_pictures(place / "pictures", ["bird", "cat", "dog"])
    return write_run(place / "run", load(pictures)), pictures


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The class names and the ids are those that a table may hold; the pictures have ordinary names."""
    place = tmp_path_factory.mktemp("hostile")
    write_pictures(place / "pictures", ["all"], EACH * len(HOSTILE))
    labels = np.repeat(HOSTILE, EACH)
    cells = [f"pictures/all/{i}.png" for i in range(len(labels))]
    ids = [f"{label}/{i}" for i, label in enumerate(labels)]
    table = write_table(place / "table.parquet", {"id": ids, "label": labels, "path": cells})
    return write_run(place / "run", load(table)), table


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def files_in(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {name: (path.read_bytes(), path.stat().st_mtime_ns) for name, path in files_in(folder).items()}


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
        ({"keep": "not likely wrong", "relabel": True}, 27, 3),
    ],
)
def test_what_is_kept_and_relabelled_is_what_was_asked_for(made, tmp_path, options, written, relabelled):
    done = export(made[0], tmp_path / "clean.csv", "csv", **options)
    assert (done.written, done.relabelled) == (written, relabelled)
    changed = {row["id"]: row["label"] for row in rows_of(done.path) if row["label"] != row["given_label"]}
    expected = {"bird/8.png": "cat", "cat/8.png": "dog", "dog/8.png": "bird"} if relabelled else {}
    assert changed == expected


def test_only_the_selected(made, tmp_path):
    done = export(made[0], tmp_path / "clean.csv", "csv", keep="selected")
    of_run = read_table(made[0] / "examples.parquet").to_pylist()
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


def test_hostile_class_names_become_folders_inside_the_target(hostile_run, tmp_path):
    run, table = hostile_run
    done = export(run, tmp_path / "clean", "folder", data=table)
    assert [path.name for path in tmp_path.iterdir()] == ["clean"]
    names = read_table(done.path / "names.csv").to_pylist()
    label_of = {row["folder"].removeprefix("'"): row["label"].removeprefix("'") for row in names}
    assert sorted(label_of.values()) == sorted(HOSTILE)
    folders = {path.name for path in done.path.iterdir() if path.is_dir()}
    assert folders == label_of.keys()
    assert {
        "_CON",
        "_con.txt",
        "hidden",
        "=cmd()",
        "two_lines",
        "שלום_gnp.exe",
        "names.csv~2",
        "a_b",
        "a_b~2",
    } <= folders
    assert {"Cat", "cat~2"} <= folders
    cells = {row["id"]: row["label"] for row in read_table(table).to_pylist()}
    of_file = dict(zip(read_table(table).column("path").to_pylist(), cells, strict=True))
    for path in files_in(done.path).values():
        if path.name != "names.csv":
            original = path.readlink().relative_to(table.parent).as_posix()
            assert cells[of_file[original]] == label_of[path.parent.name]


@pytest.mark.parametrize("to", ["csv", "parquet", "cleanlab", "labelstudio", "fiftyone"])
def test_hostile_names_pass_through_files(hostile_run, tmp_path, to):
    run, table = hostile_run
    ending = {"csv": "csv", "parquet": "parquet", "cleanlab": "csv"}.get(to, "json")
    done = export(run, tmp_path / f"clean.{ending}", to, data=table)
    if ending == "json":
        rows = json.loads(done.path.read_text(encoding="utf-8"))
        given_labels = [(row.get("meta", row)).get("given_label") or row["ground_truth"]["label"] for row in rows]
    else:
        given_labels = read_table(done.path).column("given_label").to_pylist()
    spelled = [label.removeprefix("'") for label in given_labels]
    assert list(dict.fromkeys(spelled)) == HOSTILE
    assert ("'=cmd()" in given_labels) == (ending == "csv")


def test_cleanlab_has_every_example_in_input_order(made, tmp_path):
    done = export(made[0], tmp_path / "issues.csv", "cleanlab")
    rows = rows_of(done.path)
    assert list(rows[0]) == ["is_label_issue", "label_score", "given_label", "predicted_label"]
    assert [i for i, row in enumerate(rows) if row["is_label_issue"] == "true"] == [8, 9, 18, 19, 28, 29]
    assert [row["given_label"] for row in rows] == ["bird"] * 10 + ["cat"] * 10 + ["dog"] * 10
    assert rows[8]["predicted_label"] == "cat"
    assert rows[0]["label_score"] == ""
    assert done.left_out == 0


def test_labelstudio_tasks_of_pictures(made, tmp_path):
    run, pictures = made
    tasks = json.loads(export(run, tmp_path / "tasks.json", "labelstudio", data=pictures).path.read_text())
    assert len(tasks) == 30
    address = "/data/local-files/?d="
    shown = [Path("/" + unquote(task["data"]["image"].removeprefix(address))) for task in tasks]
    assert shown == [pictures / task["meta"]["id"] for task in tasks]
    assert [i for i, task in enumerate(tasks) if task["predictions"]] == [8, 18, 28]
    (guess,) = tasks[8]["predictions"]
    assert guess["score"] == pytest.approx(0.5 + 0.5 * 8 / 29)
    assert guess["result"][0]["value"] == {"choices": ["cat"]}
    assert guess["result"][0]["to_name"] == "image"
    assert tasks[0]["meta"] == {"id": "bird/0.png", "given_label": "bird", "label_score": None}
    assert 0 <= tasks[9]["meta"]["label_score"] < tasks[1]["meta"]["label_score"] <= 1


@pytest.mark.parametrize("column", ["text", "number"])
def test_labelstudio_tasks_of_texts_and_of_rows(tmp_path, column):
    cells = [f"text number {i} on {'birds' if i < EACH else 'cats'}" if column == "text" else i * i for i in range(20)]
    table = write_table(tmp_path / "t.csv", {column: cells, "label": ["bird"] * EACH + ["cat"] * EACH})
    run = write_run(tmp_path / "run", load(table))
    tasks = json.loads(export(run, tmp_path / "tasks.json", "labelstudio", data=table).path.read_text())
    assert [task["data"]["text"] for task in tasks] == (cells if column == "text" else [f"number = {i}" for i in cells])
    assert tasks[8]["predictions"][0]["result"][0]["to_name"] == "text"
    for to in ("folder", "fiftyone"):
        with pytest.raises(InputError, match=f"has no picture files, which {to} needs"):
            export(run, tmp_path / ("out" if to == "folder" else "out.json"), to, data=table)


def test_a_column_of_labels_can_be_named(tmp_path):
    write_table(tmp_path / "t.csv", {"number": [i * i for i in range(20)], "animal": ["bird"] * EACH + ["cat"] * EACH})
    run = write_run(tmp_path / "run", load(tmp_path / "t.csv", label="animal"))
    with pytest.raises(InputError, match="no column label"):
        export(run, tmp_path / "tasks.json", "labelstudio", data=tmp_path / "t.csv")
    assert export(run, tmp_path / "tasks.json", "labelstudio", data=tmp_path / "t.csv", label="animal").written == 20


def test_fiftyone_samples(made, tmp_path):
    run, pictures = made
    samples = json.loads(export(run, tmp_path / "samples.json", "fiftyone", data=pictures).path.read_text())
    assert [sample["filepath"] for sample in samples] == [
        str(pictures / c / f"{i}.png") for c in ("bird", "cat", "dog") for i in range(10)
    ]
    assert samples[8]["tags"] == ["likely wrong", "train"]
    assert samples[8]["ground_truth"] == {"label": "bird"}
    assert samples[8]["prediction"] == {"label": "cat", "confidence": pytest.approx(0.5 + 0.5 * 8 / 29)}
    assert samples[2]["tags"] == ["kept", "held out"]
    score = read_table(run / "examples.parquet").column("label_score").to_pylist()
    assert [s["mistakenness"] for s in samples[1:]] == [1 - value for value in score[1:]]
    assert samples[0]["mistakenness"] is None


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


# The columns of a table go with it.


def write_own_table(path: Path) -> Path:
    labels = ["-bird", "cat"] * EACH
    table = pa.table(
        {
            "id": [f"=r{i}" for i in range(20)],
            "text": [f"- text number {i}\nof some <b>length</b>, on {label}s" for i, label in enumerate(labels)],
            "animal": labels,
            "split": ["mine"] * 20,
            "seen": pa.array([None if i == 3 else i / 2 for i in range(20)]),
            "tags": [["a", "b"]] * 20,
            "kind": pa.array(["=x", "y"] * 10).dictionary_encode(),
        }
    )
    if path.suffix == ".csv":
        rows = [{name: cell for name, cell in row.items() if name != "tags"} for row in table.to_pylist()]
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        parquet.write_table(table, path)
    return path


def run_of_table(folder: Path, ending: str) -> tuple[Path, Path]:
    table = write_own_table(folder / f"t.{ending}")
    run = write_run(folder / "run", load(table, label="animal"), source=str(table))
    config = json.loads((run / "config.json").read_text())
    config["data"]["label"] = "animal"
    write_json(run / "config.json", config)
    return run, table


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("to", ["csv", "parquet"])
@pytest.mark.parametrize("given", [False, True], ids=["recorded", "given"])
def test_a_cleaned_table_has_the_columns_of_the_own_one(tmp_path, ending, to, given):
    run, table = run_of_table(tmp_path, ending)
    if given:
        table = table.rename(tmp_path / f"moved.{ending}")
    where = {"data": table, "label": "animal"} if given else {}
    done = export(run, tmp_path / f"clean.{to}", to, relabel=True, **where)
    assert done.note == ""
    rows = read_table(done.path)
    ours = ["id", "label", "given_label", "weight", "split", "reason"]
    tags = ["tags"] if ending == to == "parquet" else []
    assert rows.column_names == [*ours, "text", "data_split", "seen", *tags, "kind"]
    before = {row["id"]: row for row in read_table(table).to_pylist()}
    if to == "csv":
        before = {f"'{name}": row for name, row in before.items()}
    assert len(rows) == 18
    for row in rows.to_pylist():
        own = before[row["id"]]
        apostrophe = "'" if to == "csv" else ""
        assert row["text"] == apostrophe + own["text"]
        assert row["kind"] == (apostrophe if own["kind"] == "=x" else "") + own["kind"]
        assert row["data_split"] == "mine"
        assert (row["seen"] is None) == (own["seen"] is None)
        assert row["seen"] is None or float(row["seen"]) == float(own["seen"])
        assert row["given_label"] == (apostrophe if own["animal"] == "-bird" else "") + own["animal"]
    if to == "parquet":
        assert len(load(done.path)) == 18


def test_a_table_of_pictures_keeps_its_columns_past_one_that_cannot_be_read(tmp_path):
    pictures = write_pictures(tmp_path / "pictures", ["bird", "cat"])
    (pictures / "bird" / "3.png").write_bytes(b"no picture")
    cells = [f"pictures/{label}/{i}.png" for label in ("bird", "cat") for i in range(EACH)]
    columns = {"path": cells, "label": [cell.split("/")[1] for cell in cells], "size": [f"size of {c}" for c in cells]}
    table = write_table(tmp_path / "t.csv", columns)
    run = write_run(tmp_path / "run", load(table), source=str(table))
    rows = rows_of(export(run, tmp_path / "clean.csv", "csv", keep="all").path)
    assert len(rows) == 19
    assert all(row["size"] == f"size of {row['id']}" and row["path"] == row["id"] for row in rows)


def test_where_the_columns_are_not_to_be_had_it_is_said_how_to_join(made, tmp_path):
    folder = export(made[0], tmp_path / "a.csv", "csv")
    assert folder.note == "To have more beside it, join it with pictures by id, the name of an example there."
    run, table = run_of_table(tmp_path, "csv")
    table.write_text(table.read_text().replace("=r7", "=r77"))
    done = export(run, tmp_path / "b.csv", "csv")
    assert "has changed since; join it with t.csv by id" in str(done)
    assert read_table(done.path).column_names[-1] == "reason"
    table.unlink()
    assert "is gone: name it with --data, or join it with t.csv by id" in str(export(run, tmp_path / "c.csv", "csv"))
    numbers = {"number": [i * i for i in range(20)], "label": ["bird"] * EACH + ["cat"] * EACH}
    unnamed = write_run(tmp_path / "unnamed", load(write_table(tmp_path / "n.csv", numbers)))
    assert "by id, the number of the row, from 0" in str(export(unnamed, tmp_path / "d.csv", "csv"))


# What a person said comes before what the run thinks.

ANSWERS = {
    "bird/8.png": ("right", ""),  # the run: likely wrong, a cat
    "bird/9.png": ("wrong", "cat"),  # likely wrong, the run knows not what
    "cat/8.png": ("wrong", "bird"),  # likely wrong, a dog
    "cat/9.png": ("none", ""),
    "dog/8.png": ("unsure", ""),
    "bird/3.png": ("wrong", "dog"),  # kept by the run, as is the next
    "cat/3.png": ("none", ""),
}


def fill_in(run: Path, answers: dict[str, tuple[str, str]]) -> Path:
    """The answers in the table that the audit of the run wrote, all of its examples drawn."""
    rows = rows_of(audit(run, kept=100, dropped=100)[0])
    for row in rows:
        row["answer"], row["true_label"] = answers.get(row["id"], ("", ""))
    with (run / "audit" / "audit.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return run / "audit" / "audit.csv"


@pytest.fixture(scope="module", params=["in the audit of the run", "in the corrections it was made with"])
def answered_run(request, made, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("answered") / "run"
    data = load(made[1])
    if request.param == "in the audit of the run":
        read_back(write_run(place, data), fill_in(place, ANSWERS))
        return place
    pins = {}
    for name, (answer, true) in ANSWERS.items():
        if answer != "unsure":
            index = list(data.ids).index(name)
            pins[index] = NONE if answer == "none" else data.classes.index(true or name.split("/")[0])
    return write_run(place, data, pins=pins)


@pytest.mark.parametrize("keep", ["selected", "not likely wrong", "all"])
@pytest.mark.parametrize("relabel", [False, True])
def test_answers_by_hand_are_neither_lost_nor_overridden(answered_run, tmp_path, keep, relabel):
    done = export(answered_run, tmp_path / "clean.csv", "csv", keep=keep, relabel=relabel)
    label = {row["id"]: row["label"] for row in rows_of(done.path)}
    assert label["bird/8.png"] == "bird"
    assert not {"cat/9.png", "cat/3.png"} & label.keys()
    named = {name: label.get(name) for name in ("bird/9.png", "cat/8.png", "bird/3.png")}
    if not relabel:
        assert set(named.values()) == {None}
        assert "5 of them found wrong by hand" in str(done)
    else:
        assert named == {"bird/9.png": "cat", "cat/8.png": "bird", "bird/3.png": "dog"}
        assert label["dog/8.png"] == "bird"  # unsure is no answer: the suggestion stands
        assert (done.relabelled, done.by_hand) == (4, 3)
        assert "1 under their suggested label, 3 under the label given by hand; " in str(done)
    said = {row["id"]: row["audit_answer"] for row in rows_of(done.path) if row["audit_answer"]}
    assert said == {name: ANSWERS[name][0] for name in ANSWERS if name in label and name != "dog/8.png"}
    reasons = {row["id"]: row["reason"] for row in rows_of(done.path)}
    assert reasons["bird/8.png"] != "likely wrong"


def test_tools_that_show_every_example_are_told_the_answers(answered_run, made, tmp_path):
    rows = rows_of(export(answered_run, tmp_path / "issues.csv", "cleanlab").path)
    ids = [f"{c}/{i}.png" for c in ("bird", "cat", "dog") for i in range(10)]
    issue = {id for id, row in zip(ids, rows, strict=True) if row["is_label_issue"] == "true"}
    assert issue == {"bird/9.png", "cat/8.png", "cat/9.png", "bird/3.png", "cat/3.png", "dog/8.png", "dog/9.png"}
    tasks = json.loads(export(answered_run, tmp_path / "t.json", "labelstudio", data=made[1]).path.read_text())
    told = {
        task["meta"]["id"]: [one["result"][0]["value"]["choices"][0] for one in task["annotations"]]
        for task in tasks
        if "annotations" in task
    }
    assert told == {
        "bird/8.png": ["bird"], "bird/9.png": ["cat"], "cat/8.png": ["bird"], "cat/9.png": [],
        "bird/3.png": ["dog"], "cat/3.png": [],
    }  # fmt: skip
    assert [task["meta"]["id"] for task in tasks if task["predictions"]] == ["dog/8.png"]
    samples = json.loads(export(answered_run, tmp_path / "s.json", "fiftyone", data=made[1]).path.read_text())
    audited = {sample["filepath"][-10:]: sample["audited_label"] for sample in samples if sample["audit_answer"]}
    assert audited == {
        "bird/8.png": "bird", "bird/9.png": "cat", "/cat/8.png": "bird", "/cat/9.png": None,
        "bird/3.png": "dog", "/cat/3.png": None,
    }  # fmt: skip


def test_answers_that_were_not_read_back_are_not_passed_by(made, tmp_path):
    run = write_run(tmp_path / "run", load(made[1]))
    fill_in(run, ANSWERS)
    with pytest.raises(InputError, match=r"holds answers that were not read back.*smallloss audit .* --answers"):
        export(run, tmp_path / "clean.csv", "csv")
    assert not (tmp_path / "clean.csv").exists()


# What is refused, and leaves nothing behind.


def test_it_must_be_a_finished_run(made, tmp_path):
    with pytest.raises(InputError, match="is not a run folder"):
        export(tmp_path, tmp_path / "a.csv", "csv")
    (tmp_path / "run").mkdir()
    shutil.copy(made[0] / "config.json", tmp_path / "run")
    with pytest.raises(InputError, match=r"has no examples\.parquet: the run did not finish"):
        export(tmp_path / "run", tmp_path / "a.csv", "csv")
    write_table(tmp_path / "run" / "examples.parquet", {"id": ["a"]})
    with pytest.raises(InputError, match="has no column 'is_label_issue'"):
        export(tmp_path / "run", tmp_path / "a.csv", "csv")


def test_unknown_wishes_name_the_known_ones(made, tmp_path):
    with pytest.raises(InputError, match="folder, csv, parquet, cleanlab, labelstudio, fiftyone"):
        export(made[0], tmp_path / "a.csv", "xlsx")
    with pytest.raises(InputError, match=r"--keep is .some.; it is one of selected, not likely wrong, all"):
        export(made[0], tmp_path / "a.csv", "csv", keep="some")
    with pytest.raises(InputError, match=r"does not end in \.csv"):
        export(made[0], tmp_path / "a.parquet", "csv")
    with pytest.raises(InputError, match="--copy goes with --to folder"):
        export(made[0], tmp_path / "a.csv", "csv", copy=True)
    for options in ({"relabel": True}, {"keep": "selected"}):
        with pytest.raises(InputError, match="every example under its given label"):
            export(made[0], tmp_path / "a.csv", "cleanlab", **options)
    assert not list(tmp_path.iterdir())


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
    refused(tmp_path / f"file{ending}", "is already there")
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


def test_an_empty_folder_or_file_is_filled(made, tmp_path):
    (tmp_path / "clean").mkdir()
    assert export(made[0], tmp_path / "clean", "folder", data=made[1]).written == 24
    (tmp_path / "clean.csv").touch()
    assert export(made[0], tmp_path / "clean.csv", "csv").written == 24


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
    with pytest.raises(InputError, match=f"{to} needs the originals, and .* does not say where pictures is; .* --data"):
        export(run, out, to)
    with pytest.raises(InputError, match=r"digits is not the data that .* was made from"):
        export(run, out, to, data="digits")
    other = tmp_path / "pictures"
    shutil.copytree(pictures, other)
    Image.new("RGB", (8, 8)).save(other / "cat" / "3.png")
    with pytest.raises(InputError, match=r"pictures is not the data that .* was made from"):
        export(run, out, to, data=other)
    for i in range(4):
        (other / "cat" / f"{i}.png").unlink()
    with pytest.raises(InputError, match=r"4 of the 30 pictures .* 'cat/0.png', 'cat/1.png', 'cat/2.png', \.\.\."):
        export(run, out, to, data=other)
    assert not out.exists()


def test_other_data_is_refused_for_a_table_too(made, tmp_path):
    with pytest.raises(InputError, match="digits is not the data"):
        export(made[0], tmp_path / "a.csv", "csv", data="digits")


def test_corrupted_labels_of_a_benchmark_are_those_of_the_run(tmp_path):
    digits = load("digits")
    run = write_run(tmp_path / "run", digits.with_labels((digits.labels + 1) % 10))
    assert export(run, tmp_path / "a.csv", "csv", data="digits").examples == len(digits)
    with pytest.raises(InputError, match="digits has neither picture files nor texts"):
        export(run, tmp_path / "a.json", "labelstudio", data="digits")


@pytest.mark.parametrize("id", ["../../secret.png", "/secret.png", "cat/../../secret.png"])
def test_an_id_that_leads_out_of_the_folder(made, tmp_path, id):
    run = tmp_path / "run"
    shutil.copytree(made[0], run)
    columns = read_table(run / "examples.parquet").to_pydict()
    columns["id"][3] = id
    write_table(run / "examples.parquet", columns)
    with pytest.raises(InputError, match="leads out of"):
        export(run, tmp_path / "clean", "folder", data=made[1])


def test_nothing_left_to_export(made, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(made[0], run)
    columns = read_table(run / "examples.parquet").to_pydict()
    write_table(run / "examples.parquet", columns | {"is_label_issue": [True] * 30, "suggested_label": [None] * 30})
    with pytest.raises(InputError, match=r"No example of .* is left"):
        export(run, tmp_path / "a.csv", "csv", relabel=True)


def test_no_torch(made, tmp_path):
    use = f"export({str(made[0])!r}, {str(tmp_path / 'clean')!r}, 'folder', data={str(made[1])!r})"
    code = f"import sys; from smallloss.exporting import export; {use}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# Names.


@pytest.mark.parametrize(
    "text, name",
    [
        ("cat", "cat"),
        ("../../x", "_.._x"),
        ("..", "_"),
        ("", "_"),
        ("</script>", "__script_"),
        ("two\nlines\x00", "two_lines_"),
        ("NUL", "_NUL"),
        ("nul .tar.gz", "_nul .tar.gz"),
        ("COM¹", "_COM¹"),
        ("CONcert", "CONcert"),
        ("dot. ", "dot"),
        ("日本語", "日本語"),
        ("x" * 300, "x" * 200),
        ("ü" * 300, "ü" * 100),
        ("a\u202eb", "a_b"),
    ],
)
def test_safe_name(text, name):
    assert safe_name(text) == name


@given(st.lists(st.text(max_size=12) | st.sampled_from(HOSTILE), max_size=8))
def test_names_are_safe_and_none_is_given_twice(texts):
    names = Names(taken=["names.csv"])
    given_out = [names.folder(text) for text in texts]
    for name in given_out:
        assert Path(name).name == name
        assert name not in ("", ".", "..")
        assert not name.startswith(".")
        assert not name.endswith((" ", "."))
        assert not set(name) & set('/\\<>:"|?*\n\r\t\x00')
        assert len(name.encode()) <= 210
    assert len({name.casefold() for name in [*given_out, "names.csv"]}) == len(texts) + 1


def test_numbered_files_keep_their_ending():
    names = Names()
    paths = [Path("a/1.png"), Path("b/1.PNG"), Path("c/1.png"), Path("d/1~2.png"), Path("e/CON.png"), Path("f/no")]
    assert [names.file(path) for path in paths] == ["1.png", "1~2.PNG", "1~3.png", "1~2~2.png", "_CON.png", "no"]
    assert names.file(Path("x" * 250 + ".png")) == "x" * 200 + ".png"


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
    assert (done.examples, done.written, done.unreadable) == (31, 29, 2)
    assert str(done).splitlines()[0].endswith("2 left out, 2 of them unreadable")
    assert not {"cat/3.png", "emu/0.png"} & {row["id"] for row in rows_of(tmp_path / "all.csv")}
    export(run, tmp_path / "folder", "folder", data=pictures, keep="all")
    assert len(files_in(tmp_path / "folder")) == 29 + 1  # names.csv


def test_tools_that_show_pictures_are_not_given_broken_ones(with_broken, tmp_path):
    run, pictures = with_broken
    for to in ("fiftyone", "labelstudio"):
        export(run, tmp_path / f"{to}.json", to, data=pictures)
        assert len(json.loads((tmp_path / f"{to}.json").read_text())) == 29


def test_cleanlabs_rows_line_up_with_the_input(with_broken, tmp_path):
    done = export(with_broken[0], tmp_path / "c.csv", "cleanlab")
    assert (done.written, done.left_out) == (31, 0)
    rows = rows_of(tmp_path / "c.csv")
    assert [row["given_label"] for row in rows] == ["bird"] * 10 + ["cat"] * 10 + ["dog"] * 10 + ["emu"]
    assert [i for i, row in enumerate(rows) if not row["label_score"]] == [0, 13, 30]  # the first was never seen
