"""Every example, in the words of cleanlab, Label Studio and FiftyOne."""

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from exported import write_run
from made import rows_of
from smallloss.data.source import load
from smallloss.data.table_files import read_table, write_table
from smallloss.errors import InputError
from smallloss.exporting.export import export


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
    cells = [f"text number {i} on {'birds' if i < 10 else 'cats'}" if column == "text" else i * i for i in range(20)]
    table = write_table(tmp_path / "t.csv", {column: cells, "label": ["bird"] * 10 + ["cat"] * 10})
    run = write_run(tmp_path / "run", load(table))
    tasks = json.loads(export(run, tmp_path / "tasks.json", "labelstudio", data=table).path.read_text())
    assert [task["data"]["text"] for task in tasks] == (cells if column == "text" else [f"number = {i}" for i in cells])
    assert tasks[8]["predictions"][0]["result"][0]["to_name"] == "text"
    for to in ("folder", "fiftyone"):
        with pytest.raises(InputError, match=f"has no picture files, which {to} needs; .* cleanlab or labelstudio"):
            export(run, tmp_path / ("out" if to == "folder" else "out.json"), to, data=table)


def test_a_column_of_labels_can_be_named(tmp_path):
    write_table(tmp_path / "t.csv", {"number": [i * i for i in range(20)], "animal": ["bird"] * 10 + ["cat"] * 10})
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
