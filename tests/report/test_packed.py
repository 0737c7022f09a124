"""Every example inside the page."""

import base64
import json
import re
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from made import part_of, run_of
from smallloss.data.dataset import Dataset, Unreadable
from smallloss.record.run import Run
from smallloss.report import page as pages
from smallloss.report.packed import BUDGET, Packed, packed
from smallloss.report.page import page


def unpacked(table: Packed) -> dict[str, Any]:
    return json.loads(zlib.decompress(base64.b64decode(table.data)))


def columns(table: Packed) -> dict[str, list[Any]]:
    """Values by title; names instead of their codes."""
    found = {}
    for column in unpacked(table)["columns"]:
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
    noise = np.broadcast_to(rng.integers(0, 256, (96, 96, 3), np.uint8), (n, 96, 96, 3))
    loss = rng.exponential(size=n)
    data = Dataset(noise, labels, names, ids=ids)
    splits = {"train": np.arange(n * 4 // 5), "held out": np.arange(n * 4 // 5, n)}
    parts = [part_of(data, split, rows, loss, 0.3) for split, rows in splits.items()]
    return run_of(data, parts, rng.integers(0, classes, n), loss, probability=rng.random(n))


def test_every_example_with_what_became_of_it(result: Run) -> None:
    table = packed(result)
    found = columns(table)
    assert (table.rows, table.total) == (10, 10)
    assert found["id"] == list(result.dataset.ids)
    assert found["label"][:3] == ["cat", "cat", "dog"]
    assert found["predicted"][6] is None
    assert found["mean loss"][:2] == [500, 100]
    assert found["mean loss"][6] is None
    assert found["rank"] == [2, 1, 1, 3, 1, 1, None, 2, 3, None]
    assert [k for k, name in enumerate(found["reason"]) if name == "likely wrong"] == [3, 8]
    assert found["split"][3:7] == ["train", "held out", "train", None]
    assert found["true label"][3] == "dog"
    assert found["label score"][3] < 500 < found["label score"][1]
    assert "probability" not in found
    sure = replace(result.examples, probability=np.full(10, 0.25))
    assert columns(packed(replace(result, examples=sure)))["probability"] == [250] * 10
    features = np.zeros((10, 2), np.float32)
    data = replace(result.dataset, inputs=features, normalisation=None, kind="", shown=["x" * 500] * 10)
    assert columns(packed(replace(result, dataset=data)))["text"] == ["x" * 119 + "…"] * 10


def test_what_could_not_be_read_is_there_too(result: Run) -> None:
    lost = {"broken\n.png": Unreadable("cut short", "dog", 3), "odd.png": Unreadable("empty", "owl", 3)}
    table = packed(replace(result, examples=replace(result.examples, unreadable=lost)))
    found = columns(table)
    assert (table.rows, table.total) == (12, 12)
    assert found["id"][10:] == ["broken\\n.png", "odd.png"]
    assert found["label"][10:] == ["dog", None]
    assert found["reason"][10:] == ["unreadable", "unreadable"]
    assert found["label score"][10:] == found["rank"][10:] == found["predicted"][10:] == [None, None]


def test_a_table_too_large_keeps_the_lowest_label_scores() -> None:
    result = many(3000)
    whole = packed(result)
    assert whole.rows == 3000
    some = packed(result, len(whole.data) // 3)
    assert len(some.data) <= len(whole.data) // 3
    assert 500 < some.rows < 1500
    everyone, kept = columns(whole), columns(some)
    lowest = sorted(everyone["label score"])[: some.rows]
    assert sorted(kept["label score"]) == lowest
    assert kept["id"] == sorted(kept["id"], key=everyone["id"].index)
    result.dataset = replace(result.dataset, shown=["word " * 20] * 3000)
    assert "text" in columns(packed(result))
    less = packed(result, len(whole.data))
    assert less.rows == 3000  # texts go before rows do
    assert "text" not in columns(less)
    assert packed(result, 10).rows == 0


def test_the_page_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    result = many(300)
    assert "with the lowest label scores" not in page(result)
    monkeypatch.setattr(pages, "BUDGET", len(packed(result).data) // 2)
    assert "of 300 examples with the lowest label scores" in page(result)


def test_fifty_thousand_pictures_make_a_page_under_five_megabytes() -> None:
    text = page(many(50_000))
    pictures = re.findall(r'src="(data:image/jpeg;base64,[^"]+)"', text)
    (data,) = re.findall(r'id="examples-data">([^<]+)<', text)
    assert unpacked(Packed(data, 0, 0))["rows"] == 50_000
    assert len(pictures) == 10 * (8 + 4)
    assert len(data) < BUDGET
    assert len(data) + sum(map(len, pictures)) < 3_000_000
    assert len(text.encode()) < 5_000_000
