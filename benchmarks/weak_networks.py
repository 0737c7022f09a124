"""Estimated noise rates where the network is weak: few pictures, or features that hardly tell the classes apart.

    python benchmarks/weak_networks.py --data FOLDER

FOLDER holds cifar-10-batches-bin and cifar-100-binary. Rates are over the whole set; RSL's test accuracy is taken where
there is a test part.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification

from common import RESULTS, record
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.selection import precision_recall
from smallloss.criterion.transition import from_spec
from smallloss.data.arrays import from_arrays
from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.engine.task import Check, Task
from smallloss.methods.cross import learn_noise
from smallloss.methods.settings import Settings, settings_for
from smallloss.methods.small_loss import choose, retrain, warm_up
from smallloss.noise.model import NoiseModel

_AT_THE_END = {f"{stage}.evaluate_every": 1000 for stage in ("stage1", "rsl")}
NOISES = ("uniform:0", "pairwise:0.2", "uniform:0.25", "uniform:0.5")
Examples = tuple[np.ndarray, np.ndarray]


def pictures(data: Dataset, classes: list[int], n: int) -> tuple[Examples, Examples]:
    """n pictures of some classes, as many of each, and the official test pictures of these classes."""
    assert data.test is not None
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.choice(np.flatnonzero(data.labels == k), n // len(classes), False) for k in classes])
    tested = np.flatnonzero(np.isin(data.test.labels, classes))
    parts = ((data, rng.permutation(rows)), (data.test, tested))
    first, second = ((np.asarray(d.inputs[at]), np.searchsorted(classes, d.labels[at])) for d, at in parts)
    return first, second


def random_filters(data: Dataset, classes: list[int], n: int) -> tuple[Examples, None]:
    (x, y), _ = pictures(data, classes, n)
    filters = np.random.default_rng(0).normal(size=(x[0].size, 512)) / x[0].size ** 0.5
    return (np.maximum((x.reshape(n, -1) / 255 - 0.5) @ filters, 0).astype(np.float32), y), None


def table(read: Callable[..., Any], n: int | None = None) -> tuple[Examples, None]:
    x, y = read(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return (x[rows].astype(np.float32), y[rows]), None


def made_up(n: int, classes: int, apart: float) -> tuple[Examples, None]:
    x, y = make_classification(
        n, 20, n_informative=12, n_classes=classes, class_sep=apart, flip_y=0, random_state=3
    )  # fmt: skip
    return (x.astype(np.float32), y), None


def sets(cifar10: Dataset, cifar100: Dataset) -> dict[str, Callable[[], Any]]:
    return {
        "digits, 300": lambda: table(load_digits, 300),
        "digits": lambda: table(load_digits),
        "wine": lambda: table(load_wine),
        "breast cancer": lambda: table(load_breast_cancer),
        "made up, 5 classes": lambda: made_up(1500, 5, 0.5),
        "made up, 5 classes, apart": lambda: made_up(1500, 5, 1.0),
        "made up, 10 classes": lambda: made_up(3000, 10, 0.7),
        "CIFAR-10 by random filters, 4 classes": lambda: random_filters(cifar10, [0, 1, 2, 6], 1200),
        "CIFAR-10 by random filters": lambda: random_filters(cifar10, list(range(10)), 3000),
        "CIFAR-10, 6 classes": lambda: pictures(cifar10, [0, 1, 2, 5, 6, 8], 2400),
        "CIFAR-10": lambda: pictures(cifar10, list(range(10)), 2000),
        "CIFAR-100, 40 classes": lambda: pictures(cifar100, list(range(40)), 2400),
    }


def measure(name: str, noise: str, learnt: Examples, tested: Examples | None) -> dict[str, Any]:
    x, true = learnt
    labels = corrupt(true, from_spec(noise, int(true.max()) + 1), 1)
    data = from_arrays(x, labels, test=tested)
    checks = {} if data.test is None else {"test": Check(data.test, np.arange(len(data.test)), data.test.labels)}
    task = Task(data, np.arange(len(labels)), checks, device=torch.device("cpu"))
    settings, begun = settings_for(None, "cpu", data, changes=_AT_THE_END), time.perf_counter()
    found = learn_noise(task, settings)
    row: dict[str, Any] = {
        "cell": f"{name}/{noise}", "n": len(labels), "seed": 0, "true": float((labels != true).mean()),
        **dict(zip(("estimated", "low", "high"), found.overall, strict=True)), "seconds": time.perf_counter() - begun,
    }  # fmt: skip
    return row | judged(task, settings, found, labels != true)


def judged(task: Task, settings: Settings, found: NoiseModel, wrong: np.ndarray) -> dict[str, Any]:
    """What a selection by the rates calls wrong and keeps, and what RSL learns from that."""
    score = warm_up(task, settings).ledger.score(settings.criterion.score)
    chosen = choose(task, settings, found, score)
    found_wrong = precision_recall(chosen.is_label_issue, wrong)
    precision, recall = (None if np.isnan(one) else float(one) for one in found_wrong)
    facts: dict[str, Any] = {"precision": precision, "recall": recall, "kept": int(chosen.mask.sum())}
    facts["kept_precision"] = float((~wrong)[chosen.mask].mean())
    if task.checks:
        facts["test"] = 100 * retrain(task, settings, task.train[chosen.mask]).last["test"]
    return facts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("sets", nargs="*", help="only these, by name")
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, default=RESULTS / "weak_networks.jsonl")
    asked = options.parse_args()
    every = sets(load(f"cifar10:{asked.data}"), load(f"cifar100:{asked.data}"))
    for name, make in every.items():
        for noise in NOISES if name in (asked.sets or every) else ():
            row = measure(name, noise, *make())
            record(asked.out, row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
