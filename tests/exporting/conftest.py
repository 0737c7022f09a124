"""A run as `clean` leaves it, and what looks at an export from outside. Helpers are fixtures, for tests import none."""

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.files import write_json, write_npz
from smallloss.noise.choose import select
from smallloss.record.examples import write_examples
from smallloss.record.run import Part, Result


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
    parts = []
    for split, index in (("train", np.flatnonzero(place != 2)), ("held out", np.flatnonzero(place == 2))):
        names = np.array(data.classes, dtype=object)
        rate = 0.2 if split == "train" else 0.0
        part = select(score[index], names[data.labels[index]], rate, classes=names)
        parts.append(Part(split, index, part))
    result = Result(
        data, parts, score, predicted, "mean_loss", None, [], "", [], {}, probability=np.linspace(0.5, 1, n),
        pins=pins or {},
    )  # fmt: skip
    facts: dict[str, Any] = {"name": data.name, "fingerprint": data.fingerprint(), "examples": n}
    folder.mkdir()
    facts |= {name: text for name, text in (("source", source), ("label", label)) if text}
    write_json(folder / "config.json", {"smallloss_run": 1, "data": facts})
    chosen = parts[0].selection
    columns = {"index": parts[0].index, "selected": chosen.mask, "rank_in_class": chosen.rank_in_class}
    columns |= {"classes": np.array(data.classes), "noise_rate": np.asarray(chosen.quota.noise_rate)}
    write_npz(folder / "selection.npz", columns)
    write_examples(result, folder)
    return folder


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


def _rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


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
    return _rows_of


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
