"""Every example inside the page."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from made import part_of, run_of
from markup import Reader, unpacked
from smallloss.data.dataset import Dataset, Unreadable
from smallloss.noise.answers import NONE
from smallloss.record.run import Run
from smallloss.report import workbench as benches
from smallloss.report.packed import Table, pack, table
from smallloss.report.page import page
from smallloss.report.workbench import workbench


def columns(found: Table) -> dict[str, list[Any]]:
    """Values by title; names instead of their codes."""
    return by_title(found.columns)


def by_title(columns: list[dict[str, Any]]) -> dict[str, list[Any]]:
    found = {}
    for column in columns:
        names = column.get("names")
        found[column["title"]] = [names[v] if v >= 0 else None for v in column["values"]] if names else column["values"]
    return found


def many(n: int, classes: int = 10) -> Run:
    """n pictures of pure noise, which nothing can compress, under ids as long as real paths are."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, n)
    names = tuple(f"class number {k}" for k in range(classes))
    random = rng.integers(0, 2**32, n)
    ids = [f"train/{names[k]}/IMG_2024{i:06d}_{random[i]:08x}.jpeg" for i, k in enumerate(labels)]
    noise = np.broadcast_to(rng.integers(0, 256, (1, 48, 48, 3), np.uint8), (n, 48, 48, 3))
    loss = rng.exponential(size=n)
    data = Dataset(noise, labels, names, ids=ids)
    splits = {"train": np.arange(n * 4 // 5), "held out": np.arange(n * 4 // 5, n)}
    parts = [part_of(data, split, rows, loss, 0.3) for split, rows in splits.items()]
    return run_of(data, parts, rng.integers(0, classes, n), loss, probability=rng.random(n))


def test_every_example_with_what_became_of_it(result: Run) -> None:
    found = columns(table(result))
    assert table(result)[1:3] == (10, 10)
    assert found["id"] == list(result.dataset.ids)
    assert found["row"] == list(range(10))
    assert found["given"][:3] == ["cat", "cat", "dog"]
    assert found["looks like"][3] == "dog"
    assert found["looks like"][6] is None
    assert found["mean loss"][:2] == [500, 100]
    assert found["mean loss"][6] is None
    assert found["rank"] == [2, 1, 1, 3, 1, 1, None, 2, 3, None]
    assert [k for k, name in enumerate(found["reason"]) if name == "likely wrong"] == [3, 8]
    assert found["split"][3:7] == ["train", "held out", "train", None]
    assert found["true label"][3] == "dog"
    assert found["label score"][3] < 500 < found["label score"][1]
    assert not {"probability", "by hand", "spelled"} & set(found)


def test_how_sure_it_is_stands_only_beside_what_is_predicted(result: Run) -> None:
    e = replace(result.examples, probability=np.full(10, 0.25), suggested=np.where(np.arange(10) == 8, 0, -2))
    e = replace(e, predicted=np.where(np.arange(10) == 8, 1, e.predicted))
    found = columns(table(replace(result, examples=e)))
    assert found["looks like"][8] == "cat"
    assert found["probability"][7:9] == [250, None]


def test_answers_by_hand_and_names_that_a_file_spells_otherwise(result: Run) -> None:
    e = replace(result.examples.answered({3: 1, 8: NONE}), ids=["=a\n", *result.examples.ids[1:]])
    found = columns(table(replace(result, examples=e)))
    assert found["by hand"] == [None, None, None, "dog", *[None] * 4, "none of the classes", None]
    assert (found["id"][0], found["spelled"][0]) == ("=a\\n", "'=a\n")


def test_texts_are_cut_and_the_unseen_in_them_left_out(result: Run) -> None:
    features = np.zeros((10, 2), np.float32)
    shown = ["x" * 500, "a\u202eb\n c\ufeff", *["x"] * 8]
    data = replace(result.dataset, inputs=features, normalisation=None, kind="text", shown=shown)
    assert columns(table(replace(result, dataset=data)))["text"][:2] == ["x" * 119 + "…", "ab c"]


def test_what_could_not_be_read_is_there_too(result: Run) -> None:
    lost = {"broken\n.png": Unreadable("cut short", "dog", 3), "odd.png": Unreadable("empty", "owl", 3)}
    every = table(replace(result, examples=replace(result.examples, unreadable=lost)))
    found = columns(every)
    assert (every.rows, every.total) == (12, 12)
    assert found["id"][10:] == ["broken\\n.png", "odd.png"]
    assert found["given"][10:] == ["dog", None]
    assert found["reason"][10:] == ["unreadable", "unreadable"]
    assert found["label score"][10:] == found["rank"][10:] == found["row"][10:] == [None, None]


def test_a_table_too_large_keeps_the_lowest_label_scores() -> None:
    result = many(3000)
    whole = table(result)
    assert whole.rows == 3000
    size = len(pack({"columns": whole.columns}))
    some = table(result, size // 3)
    assert len(pack({"columns": some.columns})) <= size // 3
    assert 500 < some.rows < 1500
    everyone, kept = columns(whole), columns(some)
    assert sorted(kept["label score"]) == sorted(everyone["label score"])[: some.rows]
    assert kept["id"] == sorted(kept["id"], key=everyone["id"].index)
    result.dataset = replace(result.dataset, shown=["word " * 20] * 3000)
    assert "text" in columns(table(result))
    less = table(result, size)
    assert less.rows == 3000  # texts go before rows do
    assert "text" not in columns(less)
    assert table(result, 10).rows == 0


def test_each_suspect_comes_with_what_it_is_held_against_until_the_page_is_full(monkeypatch) -> None:
    result = many(200)
    result.features = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float16)
    bench = workbench(result)
    facts, wrong = unpacked(bench.data), np.flatnonzero(result.examples.likely_wrong)
    worst = wrong[np.argsort(result.examples.label_score[wrong], kind="stable")].tolist()
    assert facts["evidence"]["rows"] == worst
    assert sorted(facts["shown"]["rows"]) == list(range(200))
    beside = [*facts["evidence"]["given"][0], *facts["evidence"]["seen"][0]]
    assert facts["shown"]["rows"][: 1 + len(set(beside))] == list(dict.fromkeys([worst[0], *beside]))
    assert (bench.suspects, bench.shown) == (len(worst), len(worst))
    assert f"the pictures of all {len(worst)} that are likely wrong" in Reader(page(result)).said
    monkeypatch.setattr(benches, "PAGE", 3 * len(bench.data) // 4)
    less = workbench(result)
    assert len(less.data) < 0.8 * len(bench.data)
    assert 0 < less.shown < len(worst)
    assert f"the pictures of the {less.shown} most suspicious of {len(worst)}" in Reader(page(result)).said


def test_the_page_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    result = many(300)
    assert "All 300 examples are on this page" in Reader(page(result)).said
    monkeypatch.setattr(benches, "BUDGET", len(pack({"columns": table(result).columns})) // 2)
    assert "of 300 examples with the lowest label scores are on this page" in Reader(page(result)).said


def test_a_page_of_many_pictures_stays_under_five_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    result = many(12_000)
    monkeypatch.setattr(Dataset, "groups", np.arange(12_000))  # nothing in noise is alike
    text = page(result)
    assert 4_000_000 < len(text.encode()) < 5_000_000
