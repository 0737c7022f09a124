"""Table 1: precision of the selection at the share 1 - eta_i, class by class, by the mean loss of stage 1.

`global_precision` is that of "Only Mean Loss": one ranking of all classes, at the share 1 - eta.

    python benchmarks/table1.py --data FOLDER --seeds 3 cifar10/structured/0.4 cifar10/uniform/0.5

With --probabilities, the two half-trainings that noise rates are estimated by follow, and a file for
benchmarks/estimation.py is written for each cell.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from cells import Cell, cell, datasets
from common import RESULTS, commit, hardware, named_values, record
from smallloss.criterion.ledger import LossLedger
from smallloss.engine.task import Task
from smallloss.methods.cross import out_of_sample
from smallloss.methods.settings import Settings, get_preset
from smallloss.methods.small_loss import warm_up


def write_probabilities(
    folder: Path, one: Cell, task: Task, settings: Settings, ledger: LossLedger, alone: float
) -> None:
    """What benchmarks/estimation.py reads: predictions out of sample for the training part, labels, score."""
    start = time.perf_counter()
    probabilities = out_of_sample(task, settings)
    seconds = time.perf_counter() - start
    facts = {
        "cell": one.name, "seed": one.seed, "net": settings.net, "preset": settings.preset,
        "lr": settings.recipe("stage1").lr, "seconds_stage1": alone,
        "seconds_halves": seconds, "cost": (alone + seconds) / alone, "commit": commit(),
        "hardware": hardware(),
    }  # fmt: skip
    print(one.name, "halves", round(seconds, 1), "s, cost", round(facts["cost"], 2), flush=True)
    rows, dataset = one.train, one.dataset
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        folder / f"{one.name.replace('/', '_')}_{one.seed}.npz",
        probabilities=probabilities[:, rows].astype(np.float16),
        score=ledger.score(settings.criterion.score)[rows].astype(np.float32),
        labels=dataset.labels[rows], true_labels=dataset.true_labels[rows], facts=np.array(json.dumps(facts)),
    )  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cells", nargs="+")
    options.add_argument("--data", type=Path, required=True, help="holds cifar-10-batches-bin and cifar-100-binary")
    options.add_argument("--out", type=Path, default=RESULTS / "table1.jsonl")
    options.add_argument("--preset", default="fast")
    options.add_argument("--device", default="cuda")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--probabilities", type=Path, help="a folder for predictions out of sample")
    asked = options.parse_args()
    data = datasets(asked.data)
    settings = get_preset(asked.preset).changed(named_values(asked.set))
    for name in asked.cells:
        for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
            one = cell(name, data, seed)
            task = one.task(asked.device)
            start = time.perf_counter()
            fitted = warm_up(task, settings)
            seconds = time.perf_counter() - start
            score = fitted.ledger.score(settings.criterion.score)
            precision, selected = one.precision(score)
            row = {
                "cell": name, "method": "stage1", "preset": asked.preset, "protocol": "paper", "net": settings.net,
                "seed": seed, "precision": precision, "global_precision": one.global_precision(score),
                "selected_precision": selected, "best": 100 * fitted.best["test"], "last": 100 * fitted.last["test"],
                "seconds": seconds, "epochs": settings.recipe("stage1").epochs, "lr": settings.recipe("stage1").lr,
            }  # fmt: skip
            record(asked.out, row)
            print(
                name, seed, {key: round(value, 2) for key, value in row.items() if isinstance(value, float)}, flush=True
            )
            if asked.probabilities is not None:
                write_probabilities(asked.probabilities, one, task, settings, fitted.ledger, seconds)


if __name__ == "__main__":
    main()
