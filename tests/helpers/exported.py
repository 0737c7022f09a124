"""A run as `clean` leaves it, and what looks at an export from outside."""

from pathlib import Path

import numpy as np
from PIL import Image

import made as by_hand
from smallloss.data.dataset import Dataset


def write_run(
    folder: Path,
    data: Dataset,
    *,
    source: str | None = None,
    label: str | None = None,
    pins: dict[int, int] | None = None,
) -> Path:
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
    splits = (("train", place != 2, 0.2), ("held out", place == 2, 0.0))
    parts = [by_hand.part_of(data, split, np.flatnonzero(some), score, rate) for split, some, rate in splits]
    run = by_hand.run_of(data, parts, predicted, score, probability=np.linspace(0.5, 1, n), pins=pins)
    return by_hand.write_run(folder, run, data={"source": source, "label": label})


def write_pictures(root: Path, classes: list[str], each: int = 10) -> Path:
    rng = np.random.default_rng(0)
    for name in classes:
        (root / name).mkdir(parents=True)
        for i in range(each):
            Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(root / name / f"{i}.png")
    return root


def files_in(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {name: (path.read_bytes(), path.stat().st_mtime_ns) for name, path in files_in(folder).items()}
