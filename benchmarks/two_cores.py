"""What two cores get: how well labels are ranked, how well is learnt, and how long it takes, arm by arm.

    python benchmarks/two_cores.py --data FOLDER fashion/uniform:0.4 --arms cross_entropy rsl,net=quick-small

An arm is a method and settings with commas between them; preset `cpu`, true rates. A fifth of each set is held out and
judged by true labels. Cells: fashion/KIND:R (idx files in --data), fashion/human (--people: one answer a picture),
comments (--comments), digits/KIND:R and mixed/KIND:R (a table). Arms with the same first stage share it; its seconds
count for each.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import RESULTS, named_values, record
from smallloss import methods
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.transition import DIGITS_MAP, from_spec
from smallloss.data.dataset import Dataset
from smallloss.data.idx import load_idx
from smallloss.data.source import load
from smallloss.engine.task import Check, Task
from smallloss.methods.settings import STAGE1, Settings, settings_for
from smallloss.methods.small_loss import rank
from smallloss.noise.model import NoiseModel
from trust_sets import LOOKS_LIKE, Places, sources

_LIKE = {"fashion": LOOKS_LIKE, "digits": DIGITS_MAP, "mixed": (1, 0, 3, 2)}


def labelled(cell: str, n: int, seed: int, asked: argparse.Namespace) -> Dataset:
    """n examples with wrong labels, and the true ones."""
    rng, (name, _, noise) = np.random.default_rng(seed), cell.partition("/")
    if cell == "comments":
        return load(asked.comments)
    if cell == "fashion/human":
        data = load_idx(asked.data).test
        assert data is not None
        counts = np.load(asked.people)["counts"].astype(np.int64)
        given = np.stack([rng.multinomial(1, row / row.sum()) for row in counts]).argmax(1)
        return first(data, given, n, rng)
    if name == "fashion":
        data = load_idx(asked.data)
    else:
        places = Places(None, None, None, None, None, None)
        data = sources(places)[{"mixed": "mixed columns"}.get(name, name)][1](seed)
    truth = np.asarray(data.labels)
    return first(data, corrupt(truth, from_spec(noise, len(data.classes), _LIKE[name]), seed), n, rng)


def first(data: Dataset, given: np.ndarray, n: int, rng: np.random.Generator) -> Dataset:
    """n of them, drawn at random."""
    rows = np.sort(rng.permutation(len(data))[:n])
    truth = np.asarray(data.labels)[rows]
    return replace(data.take(rows).with_labels(given[rows]), true_labels=truth, test=None)


def make_task(data: Dataset, seed: int) -> Task:
    order = np.random.default_rng(seed + 1).permutation(len(data))
    held_out, train = np.sort(order[: len(data) // 5]), np.sort(order[len(data) // 5 :])
    assert data.true_labels is not None
    return Task(data, train, {"test": Check(data, held_out, data.true_labels[held_out])}, seed=seed)


def true_rates(task: Task) -> NoiseModel:
    labels, truth = task.dataset.labels[task.train], task.dataset.true_labels[task.train]
    return NoiseModel(noise_rate=np.array([(truth != labels)[labels == k].mean() for k in range(task.classes)]))


def precision(task: Task, score: np.ndarray, noise: NoiseModel) -> float:
    """Right among the share 1 - eta_k of each label that scores best."""
    labels, truth, right = task.dataset.labels, task.dataset.true_labels, []
    for k, rate in enumerate(noise.noise_rate):
        mine = task.train[labels[task.train] == k]
        best = mine[np.argsort(score[mine], kind="stable")][: round((1 - rate) * len(mine))]
        right.append(truth[best] == k)
    return 100 * float(np.concatenate(right).mean())


def measure(task: Task, arm: str, asked: argparse.Namespace, stages: dict[Any, Any]) -> dict[str, Any]:
    method, *pairs = arm.split(",")
    changes = named_values([*asked.set, *pairs])
    settings = settings_for(None, "cpu", task.dataset, changes=changes)
    task.finished = {key[0]: stage for key, stage in stages.items() if key == key_of(settings)}
    noise = true_rates(task)
    learned = methods.train(method, task, settings, noise)
    stages[key_of(settings)] = stage1 = task.finished.get(STAGE1, learned.fitted)
    score = learned.score if learned.score is not None else rank(stage1, settings)[0]
    return {
        "method": method, "changed": changes, "net": learned.net, "last": 100 * learned.fitted.last["test"],
        "precision": precision(task, score, noise), "seconds": sum(one.seconds for one in learned.stages.values()),
        "seconds_last": learned.fitted.seconds,
    }  # fmt: skip


def key_of(settings: Settings) -> Any:
    return STAGE1, str(settings.net), settings.recipe(STAGE1)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cells", nargs="+")
    options.add_argument("--arms", nargs="+", required=True)
    options.add_argument("--data", type=Path)
    options.add_argument("--people", type=Path)
    options.add_argument("--comments", type=Path)
    options.add_argument("--n", type=int, default=12_500)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for all arms")
    options.add_argument("--out", type=Path, default=RESULTS / "two_cores.jsonl")
    asked = options.parse_args()
    for seed in range(asked.seeds):
        for cell in asked.cells:
            data, stages = labelled(cell, asked.n, seed, asked), dict[Any, Any]()
            for arm in asked.arms:
                row = {"cell": cell, "n": len(data), "seed": seed, "preset": "cpu"}
                row |= measure(make_task(data, seed), arm, asked, stages) | {"threads": torch.get_num_threads()}
                record(asked.out, row)
                print(
                    cell,
                    seed,
                    arm,
                    *(f"{name} {row[name]:.2f}" for name in ("last", "precision", "seconds")),
                    flush=True,
                )


if __name__ == "__main__":
    main()
