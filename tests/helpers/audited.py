"""A run folder to audit, made without training, and answers by somebody who knows the truth."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.auditing.run import read_run
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.transition import structured
from smallloss.data.dataset import Dataset
from smallloss.files import write_json, write_npz
from smallloss.noise.answers import found_wrong, pin
from smallloss.noise.choose import select
from smallloss.report.examples import write_examples
from smallloss.report.result import Part, Result

CLASSES = ("cat", "=dog", "bird\n2")
N, TRAIN = 200, 160


def run_of(folder: Path, seed: int = 0, known: dict[int, int] | None = None, **noise: Any) -> Dataset:
    """A run folder as `clean` leaves it, without the training: the true labels are its scores, nearly.

    known: the corrections it was made with. noise: what its config says of the noise.
    """
    rng = np.random.default_rng(seed)
    truth = np.arange(N) % 3
    labels = corrupt(truth, structured(0.3, [1, 0, 2]), seed).astype(np.int64)
    pictures = rng.integers(0, 256, (N, 4, 4, 3), dtype=np.uint8)
    ids = [f"=pictures/{k}.png" for k in range(N)]
    data = Dataset(pictures, labels, CLASSES, name="pets", ids=ids, true_labels=truth)
    score = (labels != truth) + 0.1 * rng.random(N)
    index = rng.permutation(N)[:TRAIN]
    rate = [0.3, 0.3, 0.0]
    names = np.array(CLASSES)
    pins = {int(np.flatnonzero(index == row)[0]): true for row, true in (known or {}).items() if row in index}
    wrong = found_wrong(labels[index], pins)
    selection = select(
        pin(score[index], labels[index], pins), names[labels[index]], rate, classes=names, known_wrong=wrong
    )
    result = Result(data, [Part("train", index, selection)], score, truth, "mean_loss", None, [], "", [], {})
    folder.mkdir()
    facts = {"name": data.name, "fingerprint": data.fingerprint(), "examples": N}
    config = {"smallloss_run": 1, "data": facts, "noise": noise, "corrections": sorted((known or {}).items())}
    write_json(folder / "config.json", config)
    columns = {"index": index, "selected": selection.mask, "rank_in_class": selection.rank_in_class}
    write_npz(folder / "selection.npz", columns | {"classes": names, "noise_rate": np.array(rate)})
    write_examples(result, folder)
    return data


def rows_of(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def answered(folder: Path, path: Path) -> Path:
    """The table filled in by somebody who knows the truth."""
    rows = rows_of(folder / "audit" / "audit.csv")
    for row in rows:
        truth, given = int(row["index"]) % 3, read_run(folder).labels[int(row["index"])]
        row["answer"] = "right" if truth == given else "wrong"
        row["true_label"] = "" if truth == given else CLASSES[truth]
    return write_rows(path, rows)
