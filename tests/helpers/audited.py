"""A run folder to audit, made without training, and answers by somebody who knows the truth."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from made import part_of, rows_of, write_rows, write_run
from made import run_of as run_by_hand
from smallloss.auditing.run import read_run
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.transition import structured
from smallloss.data.dataset import Dataset
from smallloss.record.examples import HELD_OUT, TRAIN

CLASSES = ("cat", "=dog", "bird\n2")
N, TRAINED_ON = 600, 480
RATE = [0.3, 0.3, 0.0]


def run_of(
    folder: Path, seed: int = 0, known: dict[int, int] | None = None, *, blind: bool = False, **noise: Any
) -> Dataset:
    """A run folder as `clean` leaves it, without the training: the true labels are its scores, nearly.

    known: the corrections it was made with. blind: the scores tell nothing, but the features still tell the classes.
    noise: what its config says of the noise.
    """
    rng = np.random.default_rng(seed)
    truth = truths()
    labels = corrupt(truth, structured(0.3, [1, 0, 2]), seed).astype(np.int64)
    pictures = rng.integers(0, 256, (N, 4, 4, 3), dtype=np.uint8)
    ids = [f"=pictures/{k}.png" for k in range(N)]
    data = Dataset(pictures, labels, CLASSES, name="pets", ids=ids, true_labels=truth)
    score = (0 if blind else 1) * (labels != truth) + 0.1 * rng.random(N)
    trained_on = np.sort(rng.permutation(N)[:TRAINED_ON])
    splits = ((TRAIN, trained_on), (HELD_OUT, np.setdiff1d(np.arange(N), trained_on)))
    parts = [part_of(data, split, rows, score, RATE, known) for split, rows in splits]
    predicted = np.where(rng.random(N) < 0.1, labels, truth)
    run = run_by_hand(data, parts, predicted, score, pins=known, probability=np.full(N, 0.9))
    features = np.eye(3)[truth] + 0.3 * rng.normal(size=(N, 3))
    write_run(
        folder, run, features, data={"source": None, "label": None}, noise=noise,
        corrections=sorted((known or {}).items()), method="rsl",
    )  # fmt: skip
    return data


def truths() -> np.ndarray:
    return np.arange(N) % 3


def answered(
    folder: Path, path: Path, table: str = "audit.csv", which: Callable[[int], bool] = lambda place: True
) -> Path:
    """A table filled in by somebody who knows the truth; `which`: by place, what is answered."""
    rows, labels = rows_of(folder / "audit" / table), read_run(folder).labels
    for place, row in enumerate(rows):
        if which(place):
            true, given = int(truths()[int(row["index"])]), int(labels[int(row["index"])])
            row["answer"] = "right" if true == given else "wrong"
            row["true_label"] = "" if true == given else CLASSES[true]
    return write_rows(path, rows)
