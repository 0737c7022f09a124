"""What is odd about an example whatever its label: far from all others; dark, blurred or of an odd size as a picture;
there twice.

Simple measures, and no line drawn: the most extreme are listed, each with its value.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from smallloss.data.dataset import Dataset
from smallloss.report.near import nearest

MOST = 100  # of each list
TITLES = "light", "sharpness", "off size", "far"
ALIKE = "alike"
_PIXELS = 1 << 22
_SOME, _NEAREST = 2000, 5  # others, drawn at random, and those of them that tell how far an example lies


def lists(data: Dataset, features: np.ndarray | None) -> list[dict[str, Any]]:
    """Columns of the page: of those on a list their value, of all others none."""
    columns = [] if data.pictures is None else [*_seen(data.pictures), *_sizes(data)]
    if features is not None and len(features) > _NEAREST:
        columns.append(_far(np.nan_to_num(np.asarray(features, np.float32))))
    _, group, count = np.unique(data.groups, return_inverse=True, return_counts=True)
    twice = count[group] > 1
    if twice.any():
        numbers = np.unique(group[twice], return_inverse=True)[1] + 1
        columns.append(_column(ALIKE, 0, np.flatnonzero(twice), numbers, len(data)))
    return columns


def _far(x: np.ndarray) -> dict[str, Any]:
    """The mean distance to the nearest few of some others among the features of the run."""
    some = np.random.default_rng(0).permutation(len(x))[:_SOME]
    place = np.full(len(x), -1)
    place[some] = np.arange(len(some))
    near = some[nearest(x, x[some], _NEAREST, place)]
    far = np.mean([np.linalg.norm(x - x[near[:, k]], axis=1) for k in range(near.shape[1])], axis=0)
    order = np.argsort(-far, kind="stable")[:MOST]
    return _column(TITLES[3], 2, order, far[order], len(x))


def _seen(pictures: np.ndarray) -> Iterator[dict[str, Any]]:
    """Mean light in percent of white, and the variance of the Laplacian of the gray values, which blur makes small."""
    found = np.empty((2, len(pictures)))
    size = max(1, _PIXELS // int(np.prod(pictures.shape[1:3])))
    for start in range(0, len(pictures), size):
        gray = np.asarray(pictures[start : start + size, ..., :3]).mean(3, dtype=np.float32)
        inner = gray[:, 1:-1, 1:-1]
        around = gray[:, :-2, 1:-1] + gray[:, 2:, 1:-1] + gray[:, 1:-1, :-2] + gray[:, 1:-1, 2:]
        edges = (4 * inner - around).reshape(len(gray), -1)
        found[:, start : start + size] = gray.mean((1, 2)) / 2.55, edges.var(1) if edges.size else 0
    for title, values in zip(TITLES, found, strict=False):
        order = np.argsort(values, kind="stable")[:MOST]
        yield _column(title, 1, order, values[order], len(pictures))


def _sizes(data: Dataset) -> Iterator[dict[str, Any]]:
    """How many times as wide, high, narrow or low as is usual the files are; nothing where all are alike."""
    sides = None if data.sources is None else _sides(data.sources)
    if sides is None or (sides == sides[0]).all():
        return
    off = np.abs(np.log(sides / np.median(sides, axis=0))).max(1)
    order = np.argsort(-off, kind="stable")[:MOST]
    order = order[off[order] > 0]
    yield _column(TITLES[2], 1, order, np.exp(off[order]), len(data))
    texts = [""] * len(data)
    for row in order.tolist():
        width, height = sides[row].astype(int).tolist()
        texts[row] = f"{width:,} × {height:,}"
    yield {"title": "size", "kind": "text", "values": texts}


def _sides(sources: Any) -> np.ndarray | None:
    """Width and height of each file, before any resizing; None where one is gone."""
    from smallloss.data.decode import shape_of

    try:
        return np.array([shape_of(source)[:2] for source in sources], np.float64)
    except Exception:  # a file may hold anything by now, and a decoder may fail in any way
        return None


def _column(title: str, digits: int, rows: np.ndarray, values: np.ndarray, n: int) -> dict[str, Any]:
    found: list[int | None] = [None] * n
    for row, value in zip(rows.tolist(), np.round(values * 10**digits).astype(int).tolist(), strict=True):
        found[row] = value
    return {"title": title, "kind": "number", "digits": digits, "values": found}
