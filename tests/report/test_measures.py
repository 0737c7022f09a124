"""Lists of what is odd whatever its label: the most extreme of each, with the value."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from smallloss.data.dataset import Dataset
from smallloss.report.measures import MOST, lists


def listed(data: Dataset) -> dict[str, list[Any]]:
    return {column["title"]: column["values"] for column in lists(data, None)}


def of(pixels: np.ndarray, **more: Any) -> Dataset:
    return Dataset(pixels, np.arange(len(pixels)) % 2, ("cat", "dog"), **more)


def test_dark_and_blurred_pictures_by_rank() -> None:
    pixels = np.repeat(np.arange(MOST + 2, dtype=np.uint8)[::-1, None], 25, 1).reshape(-1, 5, 5, 1)
    pixels[4, 2, 2] += 7  # alone in the middle: the Laplacian is 28 there, -7 at its four neighbours, else 0
    found = listed(of(pixels))
    assert found["light"][:2] == [None, None]
    assert found["light"][-1] == 0
    assert found["light"][2] == round(10 * 99 / 2.55)
    assert [row for row, value in enumerate(found["sharpness"]) if value] == []  # the sharpest is on no list of 100
    few = listed(of(pixels[3:6]))
    assert few["sharpness"] == [0, round(10 * (28**2 + 4 * 7**2) / 9), 0]


def test_files_of_an_odd_size_by_how_many_times_the_usual(tmp_path: Path) -> None:
    sizes = [(20, 10), (20, 10), (20, 10), (60, 10), (20, 5)]
    files = [str(tmp_path / f"{k}.png") for k in range(5)]
    for file, size in zip(files, sizes, strict=True):
        Image.new("L", size).save(file)
    pixels = np.random.default_rng(0).integers(0, 256, (5, 4, 4, 1), np.uint8)
    found = listed(of(pixels, sources=files))
    assert found["off size"] == [None, None, None, 30, 20]
    assert found["size"][3:] == ["60 × 10", "20 × 5"]
    (tmp_path / "0.png").unlink()
    assert "size" not in listed(of(pixels, sources=files))
    assert "size" not in listed(of(pixels[:2], sources=files[1:3]))


def test_what_is_there_twice_whatever_it_is() -> None:
    rows = np.array([[0, 1], [2, 3], [0, 1], [4, 5], [2, 3]], np.float32)
    assert lists(of(rows), None) == [{"title": "alike", "kind": "number", "digits": 0, "values": [1, 2, 1, None, 2]}]
    assert lists(of(rows[:2]), None) == []


def test_what_is_unlike_all_others_by_the_features() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3000, 8)).astype(np.float16)
    features[7] += 30
    features[2500] -= 60  # wherever the others are drawn from
    rows = np.arange(6000, dtype=np.float32).reshape(3000, 2)
    (far,) = (column["values"] for column in lists(of(rows), features) if column["title"] == "far")
    listed = [row for row, value in enumerate(far) if value is not None]
    assert len(listed) == 100
    assert sorted(listed, key=lambda row: -far[row])[:2] == [2500, 7]
