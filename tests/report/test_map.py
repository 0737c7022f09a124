"""The examples on a plane."""

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from made import part_of, run_of
from smallloss.data.dataset import Dataset
from smallloss.record.run import Run
from smallloss.report import map as maps
from smallloss.report import workbench as benches
from smallloss.report.map import places


def clusters(n: int, labels: np.ndarray, seed: int = 0) -> tuple[np.ndarray, Run]:
    """Three clouds in ten dimensions, in turn; their labels tell nothing of them."""
    rng = np.random.default_rng(seed)
    x = 8 * rng.normal(size=(3, 10))[np.arange(n) % 3] + rng.normal(size=(n, 10))
    loss = rng.random(n)
    data = Dataset(np.zeros((n, 2), np.float32), labels, ("cat", "dog"))
    return x.astype(np.float16), run_of(data, [part_of(data, "train", range(n), loss, 0.2)], labels, loss)


def alike(found: np.ndarray, n: int) -> float:
    """How often the nearest on the plane is of the same cloud."""
    apart = ((found[:, None] - found) ** 2).sum(2) + 10**9 * np.eye(n, dtype=np.int64)
    return float((apart.argmin(1) % 3 == np.arange(n) % 3).mean())


def test_clouds_stay_together_whatever_their_labels() -> None:
    x, run = clusters(240, np.arange(240) // 2 % 2)
    found = places(x, run.examples.likely_wrong)
    assert alike(found, 240) > 0.98
    assert found.min() == 0
    assert found.max() == maps._SIDE
    np.testing.assert_array_equal(found, places(x, run.examples.likely_wrong))


def test_of_many_some_are_laid_out_and_the_others_put_beside_them(monkeypatch) -> None:
    monkeypatch.setattr(maps, "LAID_OUT", 90)
    x, run = clusters(240, np.arange(240) // 2 % 2)
    assert alike(places(x, run.examples.likely_wrong), 240) > 0.95


def test_few_and_equal_ones_have_places_too() -> None:
    for n in (4, 30):
        _, run = clusters(n, np.arange(n) % 2)
        for features in (np.zeros((n, 5), np.float16), np.arange(n, dtype=np.float16)[:, None]):
            assert places(features, run.examples.likely_wrong).shape == (n, 2)
    run.examples = replace(run.examples, reason=np.full(n, 1, np.int8))
    assert places(features, run.examples.likely_wrong).min() == 0


@pytest.mark.parametrize("budget", [8_000, 2_000_000])
def test_the_page_has_places_and_evidence_of_what_it_lists_alone(budget: int, monkeypatch) -> None:
    monkeypatch.setattr(benches, "BUDGET", budget)
    x, run = clusters(1200, np.arange(1200) // 2 % 2)
    run.features = x
    bench = benches.workbench(run)
    data: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(bench.data)))
    (listed,) = (column["values"] for column in data["columns"] if column["title"] == "row")
    assert (len(listed) < 1200) == (budget < 10_000)
    wrong = np.flatnonzero(run.examples.likely_wrong)
    assert bench.suspects == len(wrong)
    assert sorted(data["evidence"]["rows"]) == np.intersect1d(wrong, listed).tolist()
    assert list(zip(data["map"]["x"], data["map"]["y"], strict=True)) == [
        tuple(place) for place in places(x[listed], run.examples.likely_wrong[listed]).tolist()
    ]
