"""Tables 2 and 3: test accuracy, best (by clean validation) and last, from noisy labels to model.

    python benchmarks/table2.py --data FOLDER --method cross_entropy,rsl,rsl_wm cifar10/uniform/0.5

A run of many minutes is resumed from --work by the same command.
"""

import argparse
import contextlib
from pathlib import Path
from typing import Any

from cells import Cell, cell, datasets
from common import RESULTS, named_values, record
from smallloss import methods
from smallloss.engine import checkpoint
from smallloss.engine.task import Task
from smallloss.methods.settings import Settings, get_preset
from smallloss.methods.small_loss import warm_up
from smallloss.record.folder import RunFolder
from table1 import write_probabilities


def run(one: Cell, method: str, settings: Settings, task: Task) -> dict[str, Any]:
    """One method; stage 1 is shared by all methods of a task, and counted for each."""
    learned = methods.get(method).train(task, settings, one.noise)
    stage1, final = task.finished.get("stage1"), learned.fitted
    row = {
        "cell": one.name, "method": method, "preset": settings.preset, "protocol": "paper", "net": learned.net,
        "stage1_net": settings.net, "lr": settings.recipe("stage1").lr,
        "seed": one.seed, "best": 100 * final.best["test"], "last": 100 * final.last["test"],
        "seconds": sum(stage.seconds for stage in learned.stages.values()),
        "stage_seconds": {name: stage.seconds for name, stage in learned.stages.items()},
        "curve": [round(100 * r["test"], 2) for r in final.history if "test" in r],
        "steps": sum(r["steps"] for r in final.history),
    }  # fmt: skip
    if stage1 is not None:
        row["precision"], row["selected_precision"] = one.precision(stage1.ledger.score(settings.criterion.score))
    if final.ledger is not None and learned.selection is not None:
        # The second look: the share 1 - eta_i by the last ranking, and what the selection now uses.
        row["second_precision"], _ = one.precision(learned.score)
        row["second_selected_precision"] = 100 * float(one.right[learned.selection.mask].mean())
        row["second_used_share"] = 100 * float(learned.selection.mask[one.right].mean())
        row["networks"] = settings.own["mixmatch"].networks
    return row


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cells", nargs="+")
    options.add_argument("--data", type=Path, required=True, help="holds cifar-10-batches-bin and cifar-100-binary")
    options.add_argument("--out", type=Path, default=RESULTS / "table2.jsonl")
    options.add_argument("--method", default="rsl_wm", help="one, or several with commas: they share stage 1")
    options.add_argument("--preset", default="fast")
    options.add_argument("--device", default="cuda")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--work", type=Path, help="keep checkpoints here and go on from them")
    options.add_argument("--probabilities", type=Path, help="a folder for predictions out of sample, as in table1.py")
    asked = options.parse_args()
    data = datasets(asked.data)
    settings = get_preset(asked.preset).changed(named_values(asked.set))
    for name in asked.cells:
        for seed in range(asked.seeds):
            one = cell(name, data, seed)
            task = one.task(asked.device)
            with contextlib.ExitStack() as stack:
                if asked.work is not None:
                    where = asked.work / f"{name.replace('/', '-')}-{seed}"
                    task.folder = stack.enter_context(RunFolder(where, {"cell": name, "settings": repr(settings)}))
                    task.folder.start_metrics(checkpoint.committed_rows(where))
                for method in asked.method.split(","):
                    row = run(one, method, settings, task)
                    record(asked.out, row)
                    print({key: value for key, value in row.items() if key != "curve"}, flush=True)
                    print("curve", row["curve"], flush=True)
                if asked.probabilities is not None:
                    stage1 = warm_up(task, settings)
                    write_probabilities(asked.probabilities, one, task, settings, stage1.ledger, stage1.seconds)


if __name__ == "__main__":
    main()
