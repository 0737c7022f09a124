"""A run as `clean` leaves it, and what looks at an export from outside."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import made as by_hand
from smallloss.data.dataset import Dataset
from smallloss.data.source import load


def _write_run(
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


def _write_pictures(root: Path, classes: list[str], each: int = 10) -> Path:
    rng = np.random.default_rng(0)
    for name in classes:
        (root / name).mkdir(parents=True)
        for i in range(each):
            Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(root / name / f"{i}.png")
    return root


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(run, pictures): 10 of each class, of which the last two are likely wrong."""
    place = tmp_path_factory.mktemp("made")
    pictures = _write_pictures(place / "pictures", ["bird", "cat", "dog"])
    return _write_run(place / "run", load(pictures)), pictures


def _files_in(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def _snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {name: (path.read_bytes(), path.stat().st_mtime_ns) for name, path in _files_in(folder).items()}


@pytest.fixture(scope="session")
def write_run() -> Callable[..., Any]:
    """`write_run(folder, data)`, with where the run found its data or what a person said of it."""
    return _write_run


@pytest.fixture(scope="session")
def write_pictures() -> Callable[..., Any]:
    """`write_pictures(root, classes)`: a folder of each class, of ten pictures of 8 x 8."""
    return _write_pictures


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., Any]:
    """The rows of a csv file as anybody's reader sees them."""
    return by_hand.rows_of


@pytest.fixture(scope="session")
def files_in() -> Callable[..., Any]:
    """The files below a folder by their names from there."""
    return _files_in


@pytest.fixture(scope="session")
def snapshot() -> Callable[..., Any]:
    """What every file below a folder holds, and when it was written."""
    return _snapshot


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """`command("export", run, ...)`: what the program prints when it is well."""

    def run(*arguments: Any) -> str:
        program = [sys.executable, "-m", "smallloss", *map(str, arguments)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "200"}
        done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
