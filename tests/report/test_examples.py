from dataclasses import replace

import numpy as np
from pyarrow import parquet

from made import rows_of
from smallloss.data.dataset import Unreadable
from smallloss.noise.answers import NONE
from smallloss.record.examples import COLUMNS, NOBODY, Examples
from smallloss.record.run import Run

ONLY_SOMETIMES = ("predicted_probability", "audit_answer", "audited_label", "true_label")


def test_one_row_per_input_example_in_input_order(result: Run) -> None:
    table = result.examples.table()
    assert list(table) == [one.name for one in COLUMNS if one.name not in ONLY_SOMETIMES] + ["true_label"]
    assert all(len(column) == 10 for column in table.values())
    assert list(table["index"]) == list(range(10))
    assert table["id"].tolist() == [f"{k}.png" for k in range(10)]
    train, held = "train", "held out"
    assert list(table["split"]) == [train, train, held, train, held, train, "", train, train, ""]
    assert list(table["given_label"]) == ["cat", "cat", "dog", "cat", "cat", "dog", "cat", "dog", "dog", "dog"]
    assert list(table["predicted_label"][5:8]) == ["dog", None, "dog"]
    assert list(table["true_label"][[3, 5]]) == ["dog", "cat"]
    assert list(table["rank_in_class"]) == [2, 1, 1, 3, 1, 1, 0, 2, 3, 0]
    assert list(np.flatnonzero(table["is_label_issue"])) == [3, 8]
    assert list(table["reason"]) == [
        *("kept", "kept", "kept", "likely wrong", "kept"),
        *("kept", "never seen", "kept", "likely wrong", "never seen"),
    ]
    assert list(table["selected"]) == [reason == "kept" for reason in table["reason"]]
    np.testing.assert_array_equal(table["score"], result.examples.mean_loss)
    np.testing.assert_array_equal(table["cutoff"], [0.5, 0.5, 0.7, 0.5, 0.6, 0.3, np.nan, 0.3, 0.3, np.nan])
    assert np.isnan(table["label_score"][[6, 9]]).all()


def test_what_cannot_be_read_is_listed_in_its_place(result: Run, tmp_path) -> None:
    """First, two in a row, and last; the rows of the others are as they were."""
    places = (("first", "cat", 0), ("one", "dog", 4), ("two", "=emu", 4), ("last", "dog", 10))
    lost = {f"{name}.png": Unreadable("no picture", label, before=before) for name, label, before in places}
    replace(result.examples, unreadable=lost).write(tmp_path)
    rows = parquet.read_table(tmp_path / "examples.parquet").to_pylist()
    ids = [f"{k}.png" for k in range(10)]
    assert [row["id"] for row in rows] == ["first.png", *ids[:4], "one.png", "two.png", *ids[4:], "last.png"]
    (tmp_path / "plain").mkdir()
    result.examples.write(tmp_path / "plain")
    plain = parquet.read_table(tmp_path / "plain" / "examples.parquet").to_pylist()
    # as text: NaN is not equal to itself
    assert str([row for row in rows if row["id"] not in lost]) == str(plain)
    listed = [row for row in rows if row["id"] in lost]
    assert [row["given_label"] for row in listed] == ["cat", "dog", "=emu", "dog"]
    for row in listed:
        assert row["reason"] == "unreadable"
        assert row["index"] is row["predicted_label"] is row["true_label"] is None
        assert not row["is_label_issue"]
        assert not row["selected"]
        assert row["rank_in_class"] == row["weight"] == 0
        assert np.isnan([row[name] for name in ("label_score", "score", "mean_loss", "cutoff")]).all()
    first = rows_of(tmp_path / "examples.csv")[0]
    assert first["index"] == first["label_score"] == first["mean_loss"] == first["predicted_label"] == ""


def test_answers_by_hand_are_marked(result: Run) -> None:
    """Of cats 3 is likely wrong, of dogs 8; 0 and 5 are kept."""
    cat, dog = 0, 1
    answered = result.examples.answered({3: cat, 0: dog, 5: NONE})
    table = answered.table()
    assert table["audited_label"].tolist() == ["dog", None, None, "cat", *[None] * 6]
    assert table["audit_answer"].tolist() == ["wrong", None, None, "right", None, "none", *[None] * 4]
    assert table["is_label_issue"][[0, 3, 5]].tolist() == [True, False, True]
    assert table["label_score"][[0, 3, 5]].tolist() == [0, 1, 0]
    by_hand = ["corrected by hand", "set aside for safety", "none of the classes, by hand"]
    assert table["reason"][[0, 3, 5]].tolist() == by_hand
    assert not table["selected"][0]
    assert table["weight"][[0, 5]].tolist() == [0, 0]


def test_what_is_written_is_what_is_read(result: Run, tmp_path) -> None:
    """Answers, suggestions and what could not be read included."""
    lost = {"lost.png": Unreadable("", "=emu", before=4)}
    whole = replace(result.examples, probability=np.linspace(0.5, 1, 10), unreadable=lost).answered({3: 0, 5: NONE})
    whole.write(tmp_path)
    again = Examples.read(tmp_path / "examples.parquet", whole.classes)
    assert str(again.with_unreadable()) == str(whole.with_unreadable())
    stored = parquet.read_table(tmp_path / "examples.parquet").to_pydict()
    rows = rows_of(tmp_path / "examples.csv")
    assert [row["id"] for row in rows] == stored["id"] == whole.with_unreadable()["id"].tolist()
    assert rows[7]["label_score"] == rows[7]["predicted_label"] == rows[7]["cutoff"] == ""
    for name in ("label", "suggested", "split", "reason", "rank", "answer", "true"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name), err_msg=name)
    assert whole.suggested[[3, 8]].tolist() == [NOBODY, 0]
    assert "true_label" not in replace(whole, true=None).table()
