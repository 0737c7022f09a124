"""One change at a time: several settings of stage 2 on one selection, which one stage 1 made.

    python benchmarks/trials.py --data FOLDER cifar10/uniform/0.5 base rsl_wm.lr=0.1,rsl_wm.weight_decay=1e-3

Each trial is one argument: settings with commas between them. `base` is the preset as it is. A trial may begin where an
earlier one stood after some epochs: `base@35:mixmatch.lambda_u=30` is that setting from epoch 35 of `base` on.
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

from cells import cell, datasets
from common import RESULTS, named_values, record
from smallloss.engine.progress import Progress
from smallloss.engine.task import Task
from smallloss.methods.settings import Settings, get_preset
from smallloss.methods.small_loss import warm_up
from smallloss.record.folder import RunFolder
from table2 import run

_STAGE = "rsl_wm"


class Keep(Progress):
    """Keeps the checkpoints that later trials begin with. `rsl_wm.checkpoint_seconds=0` writes one after each epoch."""

    def __init__(self, task: Task, trial: str, epochs: set[int]) -> None:
        super().__init__(enabled=False)
        self.task, self.trial, self.epochs, self.done = task, trial, epochs, 0

    def stage(self, name: str, epochs: int, done: int) -> None:
        self.done = done

    def epoch(self, note: str) -> None:
        self.done += 1
        if self.done in self.epochs:
            checkpoint = self.task.checkpoint(_STAGE)
            assert checkpoint is not None
            shutil.copy(checkpoint, kept(self.task, self.trial, self.done))


def kept(task: Task, trial: str, epoch: int) -> Path:
    assert task.folder is not None
    return task.folder / f"{trial}@{epoch}"


def parts(trial: str) -> tuple[str, int, dict[str, str]]:
    """(the trial that it begins as, until which epoch, its settings)."""
    start, _, rest = trial.rpartition(":")
    begun, _, epoch = start.rpartition("@")
    settings = [] if rest == "base" else rest.split(",")
    return begun, int(epoch or 0), named_values(settings)


def changes(trial: str) -> dict[str, str]:
    """All settings of a trial, with those of the one that it begins as."""
    begun, _, own = parts(trial)
    return (changes(begun) if begun else {}) | own


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
    base = get_preset(asked.preset).changed(everywhere)
    one = cell(asked.cell, datasets(asked.data))
    task = one.task(asked.device)
    warm_up(task, base)
    with tempfile.TemporaryDirectory() as where, RunFolder(where, {}) as task.folder:
        for trial in asked.trials:
            row = train(task, one, trial, base.changed(changes(trial)), asked.trials)
            stage = row["stage_seconds"][_STAGE]
            print(f"{trial}: best {row['best']:.2f} last {row['last']:.2f}, {stage:.0f} s, {row['curve']}", flush=True)
            record(asked.out, {"trial": trial, "all": everywhere} | row)


def train(task: Task, one: Any, trial: str, settings: Settings, trials: list[str]) -> dict[str, Any]:
    """A trial, from its start or from where another stood."""
    checkpoint = task.checkpoint(_STAGE)
    assert checkpoint is not None
    begun, epoch, _ = parts(trial)
    checkpoint.unlink(missing_ok=True)
    if begun:
        checkpoint.parent.mkdir(exist_ok=True)
        shutil.copy(kept(task, begun, epoch), checkpoint)
    later = {parts(other)[1] for other in trials if parts(other)[0] == trial}
    task.progress = Keep(task, trial, later)
    always = {"rsl_wm.checkpoint_seconds": "0"} if later else {}
    return run(one, _STAGE, settings.changed(always), task)


if __name__ == "__main__":
    main()
