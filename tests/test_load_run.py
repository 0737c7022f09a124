"""A run in hand, and read back from its folder: the same table, the same issues, the same page."""

import csv
import re
import sys
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

import smallloss as sl
from smallloss.data.memory import as_frame
from smallloss.errors import InputError
from smallloss.record.run import Run

HOSTILE = "<img src=x onerror=alert(1)>"


def columns(n=90):
    """Three classes, every sixth label wrong; gaps in the features, numbers as labels."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    x = rng.normal(size=(n, 3)).round(3) + 4 * np.eye(3)[truth]
    kind = np.where(rng.random(n) < 0.9, np.array(["a", "b", "c"])[truth], "d").tolist()
    label = np.where(np.arange(n) % 6 == 0, (truth + 1) % 3, truth)
    gaps = [None if row % 7 == 0 else value for row, value in enumerate(x[:, 0].tolist())]
    names = [f"{HOSTILE}{row}" for row in range(n)]
    return {"id": names, "x": gaps, "y": x[:, 1].tolist(), "z": x[:, 2].tolist(), "kind": kind, "label": label.tolist()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Of a csv, and of a frame of the same rows."""
    folder, found = tmp_path_factory.mktemp("runs"), columns()
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(found)
        out.writerows(zip(*found.values(), strict=True))
    how = {"epochs": 8, "noise_rate": {"0": 0.2, "1": 0.2, "2": 0.2}}
    doors = {"csv": folder / "t.csv", "frame": pa.table(found)}
    return [sl.clean(data, folder / name, **how) for name, data in doors.items()]


def test_a_frame_makes_the_run_of_its_csv_to_the_byte(runs):
    for name in ("examples.csv", "examples.parquet"):
        of_csv, of_frame = ((run.folder / name).read_bytes() for run in runs)
        assert of_csv == of_frame


def test_issues_are_the_likely_wrong_ones_the_worst_first(runs):
    of_csv, of_frame = runs
    issues, table = of_csv.issues(), of_csv.table()
    wrong = np.flatnonzero(table["is_label_issue"])
    assert 5 < len(wrong) < 45
    assert sorted(issues["index"]) == wrong.tolist()
    assert (np.diff(issues["label_score"]) >= 0).all()
    assert list(issues["given_label"]) == [str(columns()["label"][row]) for row in issues["index"]]
    framed = of_frame.issues()
    assert isinstance(framed, pa.Table)
    assert framed.column("given_label").to_pylist() == [int(label) for label in issues["given_label"]]
    assert pa.types.is_integer(framed.schema.field("suggested_label").type)  # whole numbers, gaps or not
    assert of_frame.table().num_rows == 90


def test_a_run_is_read_back_as_it_was(runs):
    for run in runs:
        again = sl.load_run(run.folder)
        one, other = (pa.table(some.issues()) for some in (run, again))
        assert one.drop_columns("label_score").equals(other.drop_columns("label_score"))
        assert str(again.verdict) == str(run.verdict)
        assert again.report() == run.report() == run.folder / "report.html"
        assert repr(again) == repr(run)
        x = run.result.dataset.inputs
        np.testing.assert_array_equal(again.predict_proba(x), run.predict_proba(x))
        assert again.predict(x).tolist() == run.predict(x).tolist()
        with pytest.raises(InputError, match="has no selection: table\\(\\) says"):
            _ = again.selection
    with pytest.raises(InputError, match="is not a run folder"):
        sl.load_run(runs[0].folder.parent)


def test_new_rows_in_memory_are_described_as_those_of_the_run(runs):
    """Few, in another order, without labels: by the medians and categories of all rows."""
    some, found = [7, 0, 33], columns()
    new = {name: [cells[row] for row in some] for name, cells in found.items() if name not in ("id", "label")}
    of_csv, of_frame = runs
    expected = of_csv.predict_proba(of_csv.result.dataset.inputs)[some]
    for run in (of_csv, of_frame, sl.load_run(of_csv.folder)):
        for given in (new, pa.table(new)):
            np.testing.assert_allclose(run.predict_proba(given), expected, atol=1e-6)
    assert of_frame.predict(new).tolist() == expected.argmax(1).tolist()
    with pytest.raises(InputError, match="has no column 'kind'; what was learned from has one"):
        of_csv.predict({"x": [1], "y": [2], "z": [3]})
    with pytest.raises(InputError, match=r"of the rows of a table in memory, .* run clean on it again"):
        sl.load_run(of_frame.folder).predict(new)


def test_new_texts_are_described_as_those_of_the_run():
    words = {"tea": "a pot of green tea with some leaves", "car": "the fast engine of an old red car"}
    labels = ["tea", "car"] * 30
    texts = [f"{words[name]} and {k} more things" for k, name in enumerate(labels)]
    run = sl.clean((texts, labels), noise_rate=0.05, epochs=6)
    expected = run.predict_proba(run.result.dataset.inputs)
    for new in (texts[:2], {"remark": texts[:2]}, np.array(texts[:2])):
        np.testing.assert_allclose(run.predict_proba(new), expected[:2], atol=1e-5)
    assert run.predict(["green tea", "an old engine"]).tolist() == ["tea", "car"]
    assert set(run.issues()["given_label"]) <= {"tea", "car"}


def test_what_a_notebook_shows_is_small_and_harmless(runs):
    html = runs[1]._repr_html_()
    assert len(html) < 6000
    assert "<img" not in html
    assert not re.search(r"src=|href=|http|<script|style", html.replace("&lt;img src=x onerror=alert(1)", ""))
    assert html.count("<tr>") == 11
    worst = runs[1].issues().column("label_score")[0].as_py()
    assert f"<td>{worst:.3f}</td>" in html
    assert "more in <code>run.issues()</code>" in html


def test_a_run_that_was_written_nowhere_has_no_page(runs):
    run = sl.CleanRun(runs[0].result, None, None, None)
    with pytest.raises(InputError, match="written nowhere, so it has no page"):
        run.report()
    assert "The report" not in run._repr_html_()


def test_whole_numbers_with_gaps_stay_whole_in_a_frame(monkeypatch):
    """pandas turns them into floats, unless it is told not to; and only packages that are known are imported."""
    told = {}

    class Table:
        def to_pandas(self, types_mapper):
            told["int64"] = types_mapper(pa.int64())
            return "frame"

    module = ModuleType("pandas")
    module.Int64Dtype = lambda: "Int64"
    monkeypatch.setitem(sys.modules, "pandas", module)
    monkeypatch.setattr("smallloss.data.memory.pa.table", lambda columns: Table())
    assert as_frame({"a": [1, None]}, "pandas") == "frame"
    assert told == {"int64": "Int64"}
    monkeypatch.setitem(sys.modules, "polars", None)  # not installed
    for package in ("polars", "os", None):
        assert as_frame({"a": [1, None]}, package) == {"a": [1, None]}


def test_the_labels_of_a_run_of_before_are_read_as_text(runs, tmp_path):
    """Its result.json has no values."""
    assert Run.read(runs[1].folder).examples.values == [0, 1, 2]
    assert Run.read(runs[0].folder).examples.values is None
