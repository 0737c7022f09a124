"""What a person said comes before what the run thinks."""

import json
from pathlib import Path

import pytest

from exported import write_run
from made import rows_of, write_rows
from smallloss.auditing.session import audit, read_back
from smallloss.data.source import load
from smallloss.data.table_files import read_table
from smallloss.errors import InputError
from smallloss.exporting.export import export
from smallloss.noise.answers import NONE

ANSWERS = {
    "bird/8.png": ("right", ""),  # the run: likely wrong, a cat
    "bird/9.png": ("wrong", "cat"),  # likely wrong, the run knows not what
    "cat/8.png": ("wrong", "bird"),  # likely wrong, a dog
    "cat/9.png": ("none", ""),
    "dog/8.png": ("unsure", ""),
    "bird/3.png": ("wrong", "dog"),  # kept by the run, as is the next
    "cat/3.png": ("none", ""),
}
NAMED = {name: true for name, (answer, true) in ANSWERS.items() if answer == "wrong"}


def fill_in(run: Path, answers: dict[str, tuple[str, str]]) -> Path:
    """The answers in the table that the audit of the run wrote, all of its examples drawn."""
    rows = read_table(audit(run, kept=100, dropped=100)[0]).to_pylist()
    for row in rows:
        row["answer"], row["true_label"] = answers.get(row["id"], ("", ""))
    return write_rows(run / "audit" / "audit.csv", rows)


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


def suggestions(run: Path) -> dict[str, str]:
    """What the run takes for another class, but for what a person decided on."""
    rows = read_table(run / "examples.parquet").to_pylist()
    return {row["id"]: row["suggested_label"] for row in rows if row["suggested_label"]}


@pytest.mark.parametrize("keep", ["selected", "not likely wrong", "all"])
@pytest.mark.parametrize("relabel", [False, True])
def test_answers_by_hand_are_neither_lost_nor_overridden(answered_run, tmp_path, keep, relabel):
    done = export(answered_run, tmp_path / "clean.csv", "csv", keep=keep, relabel=relabel)
    label = {row["id"]: row["label"] for row in rows_of(done.path)}
    assert label["bird/8.png"] == "bird"
    assert not {"cat/9.png", "cat/3.png"} & label.keys()
    assert {name: label[name] for name in NAMED} == NAMED
    assert done.by_hand == 3
    assert done.why["none of the classes, by hand"] == 2
    assert "3 under the label given by hand; " in str(done)
    suggested = suggestions(answered_run)  # an audit flags others than the run did
    assert done.relabelled == 3 + relabel * len(suggested)
    assert ("Suggested labels are the network's guesses: look at them" in str(done)) == (relabel and bool(suggested))
    if relabel:
        assert {name: label[name] for name in suggested} == suggested  # unsure is no answer: a suggestion stands
    weight = {row["id"]: float(row["weight"]) for row in rows_of(done.path)}
    assert {weight[name] for name in ("bird/8.png", *NAMED)} == {1.0}
    said = {row["id"]: row["audit_answer"] for row in rows_of(done.path) if row["audit_answer"]}
    assert said == {name: ANSWERS[name][0] for name in ANSWERS if name in label and name != "dog/8.png"}
    reasons = {row["id"]: row["reason"] for row in rows_of(done.path)}
    assert reasons["bird/8.png"] != "likely wrong"


def test_tools_that_show_every_example_are_told_the_answers(answered_run, made, tmp_path):
    rows = rows_of(export(answered_run, tmp_path / "issues.csv", "cleanlab").path)
    ids = [f"{c}/{i}.png" for c in ("bird", "cat", "dog") for i in range(10)]
    issue = {id for id, row in zip(ids, rows, strict=True) if row["is_label_issue"] == "true"}
    found_wrong = {"bird/9.png", "cat/8.png", "cat/9.png", "bird/3.png", "cat/3.png"}
    assert issue & ANSWERS.keys() - {"dog/8.png"} == found_wrong
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
    assert {task["meta"]["id"] for task in tasks if task["predictions"]} == set(suggestions(answered_run))
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
