"""A run as `clean` leaves it, without the training: of examples, scores and predictions that were made by hand."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.selection import select_codes
from smallloss.criterion.settings import Criterion
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import as_cell
from smallloss.files import write_json
from smallloss.noise.answers import found_wrong, pin
from smallloss.noise.verdict import judge
from smallloss.record.examples import TRAIN, Examples, Part
from smallloss.record.run import Run


def part_of(
    data: Dataset, split: str, rows: Any, score: Any, rate: Any, pins: dict[int, int] | None = None, **how: Any
) -> Part:
    """Some rows of the data, ranked among themselves."""
    rows = np.asarray(rows)
    place = {int(row): at for at, row in enumerate(rows)}
    mine = {place[row]: true for row, true in (pins or {}).items() if row in place}
    labels, names = data.labels[rows], np.array([as_cell(name) for name in data.classes], dtype=object)
    scores, wrong = pin(np.asarray(score)[rows], labels, mine), found_wrong(labels, mine)
    rates = np.broadcast_to(np.asarray(rate, np.float64), len(names))
    chosen = select_codes(scores, labels, rates, None, None, Criterion(**how), known_wrong=wrong, classes=names)
    return Part(split, rows, chosen)


def run_of(data: Dataset, parts: list[Part], predicted: Any, loss: Any, **more: Any) -> Run:
    """What such a run says; `more`: fields of Run, or a probability of what was predicted."""
    examples = Examples.of(data, parts, np.asarray(predicted), np.asarray(loss), more.pop("probability", None))
    facts: dict[str, Any] = {
        "noise_rate": np.asarray(parts[0].selection.quota.noise_rate, np.float64), "evidence": "mean_loss",
        "verdict": judge(examples.labelled(TRAIN)), "accuracies": [], "accuracy_on": "", "history": [], "settings": {},
        "dataset": data, "parts": parts,
    }  # fmt: skip
    return Run(examples=examples.answered(more.pop("pins", None) or {}), **facts | more)


def write_run(folder: Path, run: Run, features: np.ndarray | None = None, **config: Any) -> Path:
    """The folder of it; `config`: what config.json says beside the data."""
    folder.mkdir()
    data = run.dataset
    assert data is not None
    facts: dict[str, Any] = {"name": data.name, "fingerprint": data.fingerprint(), "examples": len(data)}
    facts |= config.pop("data", {})
    write_json(folder / "config.json", {"smallloss_run": 1, "data": facts, **config})
    run.features = features
    run.write(folder)
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a csv file as anybody's reader sees them."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path
