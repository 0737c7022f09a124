"""Table 1: precision of the selection at the share 1 - eta_i, class by class, by the mean loss of stage 1.

`global_precision` is that of "Only Mean Loss": one ranking of all classes, at the share 1 - eta.

    python benchmarks/table1.py --data FOLDER --seeds 3 cifar10/structured/0.4 cifar10/uniform/0.5
"""

import argparse
import time
from pathlib import Path

from cells import cell, datasets
from common import RESULTS, named_values, record
from smallloss.methods.settings import get_preset
from smallloss.methods.small_loss import warm_up


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


if __name__ == "__main__":
    main()
