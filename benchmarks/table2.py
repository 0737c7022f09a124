"""Tables 2 and 3: test accuracy, best (by clean validation) and last, from noisy labels to model.

    python benchmarks/table2.py --data FOLDER --method rsl_wm cifar10/uniform/0.5

A run of many minutes is resumed from --work by the same command.
"""

import argparse
import contextlib
import time
from pathlib import Path

from cells import Cell, cell, datasets
from common import record

from smallloss import methods
from smallloss.learning import checkpoint
from smallloss.methods import presets
from smallloss.methods.presets import Settings
from smallloss.run_folder import RunFolder


def run(one: Cell, method: str, settings: Settings, work: Path | None) -> dict[str, object]:
    task = one.task()
    with contextlib.ExitStack() as stack:
        if work is not None:
            where = work / f"{one.name.replace('/', '-')}-{method}-{one.seed}"
            task.folder = stack.enter_context(RunFolder(where, {"cell": one.name, "settings": repr(settings)}))
            task.folder.start_metrics(checkpoint.committed_rows(where))
        start = time.perf_counter()
        learned = methods.get(method).train(task, settings, one.noise)
        seconds = time.perf_counter() - start
    row = {
        "cell": one.name, "method": method, "preset": settings.preset, "protocol": "paper", "net": settings.net,
        "seed": one.seed, "best": 100 * learned.fitted.best["test"], "last": 100 * learned.fitted.last["test"],
        "seconds": seconds, "stage_seconds": {name: stage.seconds for name, stage in learned.stages.items()},
    }  # fmt: skip
    stage1 = learned.stages.get("stage1")
    if stage1 is not None and stage1.ledger is not None:
        row["precision"], row["selected_precision"] = one.precision(stage1.ledger.score(settings.score))
        row["cross_entropy_best"] = 100 * stage1.best["test"]
        row["cross_entropy_last"] = 100 * stage1.last["test"]
    if learned.ledger is not None and learned.score is not None and learned.ledger is not stage1.ledger:
        row["second_precision"], _ = one.precision(learned.score)
        selection = learned.selection
        row["second_selected_precision"] = 100 * float(one.right[selection.mask].mean())
        row["second_used_share"] = 100 * float(selection.mask[one.right].mean())
    row["curve"] = [round(100 * r["test"], 2) for r in learned.fitted.history if "test" in r]
    return row


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cells", nargs="+")
    options.add_argument("--data", type=Path, required=True, help="holds cifar-10-batches-bin and cifar-100-binary")
    options.add_argument("--out", type=Path, default=Path("benchmarks/results/table2.jsonl"))
    options.add_argument("--method", default="rsl_wm")
    options.add_argument("--preset", default="fast")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--work", type=Path, help="keep checkpoints here and go on from them")
    asked = options.parse_args()
    data = datasets(asked.data)
    settings = presets.change(presets.get(asked.preset), dict(pair.split("=", 1) for pair in asked.set))
    for name in asked.cells:
        for seed in range(asked.seeds):
            row = run(cell(name, data, seed), asked.method, settings, asked.work)
            record(asked.out, row)
            print({key: value for key, value in row.items() if key != "curve"}, flush=True)
            print("curve", row["curve"][:: max(1, len(row["curve"]) // 20)], flush=True)


if __name__ == "__main__":
    main()
