"""What ranks best: one stage-1 training, scored by the network and by the average of its weights, every way.

    python benchmarks/scores.py --data FOLDER --set stage1.schedule=triangular cifar10/pairwise/0.4

Precision (%) at the share 1 - eta_i for mean loss, mean margin and mean of 1 - p, over several windows.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from cells import Cell, cell, datasets
from common import RESULTS, named_values, record
from smallloss.criterion.ledger import LossLedger
from smallloss.engine.scoring import score
from smallloss.engine.stage import Stage
from smallloss.methods.settings import Settings, get_preset
from smallloss.methods.supervised import Supervised

WINDOWS = ((0, 1), (0.1, 1), (0.2, 1), (0.33, 1), (0.5, 1), (0.33, 0.7), (0.33, 0.85), (0.5, 0.85))


class Watched(Stage):
    """Keeps every epoch's losses and margins, of the network and of the average."""

    def _record(self, epoch: int) -> None:
        every = torch.arange(len(self.task.dataset), device=self.task.device)
        views = self.inputs.plain(every)
        judges = {"network": self.networks[0]} | ({"average": self.averages[0].network} if self.averages else {})
        for who, network in judges.items():
            found = score(network, self.inputs, views, self.task.labels)
            self.kept.setdefault(who, []).append((found.loss.cpu().numpy(), found.margin.cpu().numpy()))


def watch(one: Cell, settings: Settings, device: str) -> tuple[Watched, float]:
    task, recipe = one.task(device), settings.recipe("stage1")
    objective = Supervised(task, "stage1", task.train, recipe, settings.net)
    stage = Watched(task, objective, ledger=LossLedger(len(one.dataset)))
    stage.kept = {}
    start = time.perf_counter()
    stage.fit()
    return stage, time.perf_counter() - start


def precisions(one: Cell, losses: np.ndarray, margins: np.ndarray) -> dict[str, float]:
    """By the three scores, of some epochs."""
    scores = {"mean_loss": losses.mean(0), "mean_margin": -margins.mean(0), "mean_1_minus_p": -np.exp(-losses).mean(0)}
    return {name: float(one.precision(values.astype(np.float64))[0]) for name, values in scores.items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cells", nargs="+")
    options.add_argument("--data", type=Path, required=True, help="holds cifar-10-batches-bin and cifar-100-binary")
    options.add_argument("--out", type=Path, default=RESULTS / "scores.jsonl")
    options.add_argument("--preset", default="fast")
    options.add_argument("--device", default="cuda")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    asked = options.parse_args()
    data = datasets(asked.data)
    settings = get_preset(asked.preset).changed(named_values(asked.set))
    for name in asked.cells:
        one = cell(name, data)
        stage, seconds = watch(one, settings, asked.device)
        for who, epochs in stage.kept.items():
            losses, margins = (np.stack(column) for column in zip(*epochs, strict=True))
            for window in WINDOWS:
                start, stop = (int(share * len(losses) + 0.5) for share in window)
                found = precisions(one, losses[start:stop], margins[start:stop])
                print(name, who, window, {key: round(value, 2) for key, value in found.items()}, flush=True)
                schedule = settings.recipe("stage1").schedule
                facts = {"cell": name, "schedule": schedule, "judge": who, "window": window, "seed": 0}
                record(asked.out, facts | {"net": settings.net, "seconds": seconds} | found)


if __name__ == "__main__":
    main()
