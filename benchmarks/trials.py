"""One change at a time: several settings of stage 2 on one selection, which one stage 1 made.

    python benchmarks/trials.py --data FOLDER cifar10/uniform/0.5 rsl_wm.lr=0.1 rsl_wm.lr=0.2,rsl_wm.weight_decay=1e-3

Each trial is one argument: settings with commas between them. `base` alone is the preset as it is.
"""

import argparse
from pathlib import Path

from cells import cell, datasets
from common import RESULTS, named_values, record
from smallloss.methods import presets
from smallloss.methods.small_loss import warm_up
from table2 import run


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cell")
    options.add_argument("trials", nargs="+")
    options.add_argument("--data", type=Path, required=True, help="holds cifar-10-batches-bin and cifar-100-binary")
    options.add_argument("--out", type=Path, default=RESULTS / "trials.jsonl")
    options.add_argument("--preset", default="fast")
    options.add_argument("--device", default="cuda")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for all trials")
    asked = options.parse_args()
    everywhere = named_values(asked.set)
    base = presets.change(presets.get(asked.preset), everywhere)
    one = cell(asked.cell, datasets(asked.data))
    task = one.task(asked.device)
    warm_up(task, base)
    for trial in asked.trials:
        changes = {} if trial == "base" else named_values(trial.split(","))
        row = run(one, "rsl_wm", presets.change(base, changes), task)
        stage = row["stage_seconds"]["rsl_wm"]
        print(f"{trial}: best {row['best']:.2f} last {row['last']:.2f}, {stage:.0f} s, {row['curve']}", flush=True)
        record(asked.out, {"trial": trial, "all": everywhere} | row)


if __name__ == "__main__":
    main()
