"""The methods without a GPU: test accuracy on part of Fashion-MNIST, preset `cpu`, true rates.

    python benchmarks/cpu_methods.py --data FOLDER uniform:0.4 structured:0.4

FOLDER holds the four idx files. Cells are KIND:R as in `smallloss corrupt`.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from common import RESULTS, named_values, record
from smallloss import methods
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.transition import from_spec
from smallloss.data.idx import load_idx
from smallloss.engine.task import Check, Task
from smallloss.methods.settings import settings_for
from smallloss.noise.model import NoiseModel

LOOKS_LIKE = (6, 1, 4, 3, 2, 7, 6, 5, 8, 9)  # T-shirt -> shirt, pullover <-> coat, sandal <-> sneaker
_RARELY = {f"{stage}.evaluate_every": 10 for stage in ("stage1", "rsl", "rsl_wm")}


def make_task(folder: Path, T: np.ndarray, n: int, seed: int) -> Task:
    """n pictures with noisy labels to learn from, all 10,000 test pictures to judge by."""
    data = load_idx(folder)
    assert data.test is not None
    rows = np.sort(np.random.default_rng(seed).permutation(len(data))[:n])
    truth = np.asarray(data.labels)[rows]
    noisy = replace(
        data, inputs=np.ascontiguousarray(data.inputs[rows]), labels=corrupt(truth, T, seed), true_labels=truth,
        test=None, ids=[data.ids[row] for row in rows],
    )  # fmt: skip
    checks = {"test": Check(data.test, np.arange(len(data.test)), np.asarray(data.test.labels))}
    return Task(noisy, np.arange(n), checks, seed=seed, device=torch.device("cpu"))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cells", nargs="+")
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--out", type=Path, default=RESULTS / "cpu_methods.jsonl")
    options.add_argument("--method", default="cross_entropy,rsl,rsl_wm")
    options.add_argument("--n", type=int, default=10_000)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    asked = options.parse_args()
    changes = named_values(asked.set)
    for seed in range(asked.seeds):
        for name in asked.cells:
            T = from_spec(name, len(LOOKS_LIKE), LOOKS_LIKE)
            task = make_task(asked.data, T, asked.n, seed)
            settings = settings_for(None, "cpu", task.dataset, changes=_RARELY | changes)
            for method in asked.method.split(","):
                learned = methods.get(method).train(
                    task, settings, NoiseModel.given(range(len(T)), transition=T, prior="uniform")
                )
                row = {
                    "cell": f"fashion/{name}", "n": asked.n, "method": method, "preset": settings.preset,
                    "net": learned.net, "seed": seed, "changed": changes, "last": 100 * learned.fitted.last["test"],
                    "seconds": sum(stage.seconds for stage in learned.stages.values()),
                    "steps": sum(row["steps"] for row in learned.fitted.history),
                    "threads": torch.get_num_threads(),
                }  # fmt: skip
                record(asked.out, row)
                print(row, flush=True)


if __name__ == "__main__":
    main()
