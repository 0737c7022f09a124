"""Which classifier is shipped, and what that costs, by examples that had no part in the choice.

    python benchmarks/trust_shipped.py --fashion IDX

Part of each set is a run's, its labels made wrong; the rest, by true labels, judges what the run would ship. Beside the
rule as it is: each tie to the method asked for, as the rule was before, and the method always.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from common import RESULTS, record
from smallloss.engine.scoring import outputs
from smallloss.engine.task import Task
from smallloss.errors import TooFewError
from smallloss.methods.settings import settings_for
from smallloss.methods.small_loss import choose, retrain, warm_up
from smallloss.report.compare import choose_shipped, paired
from trust_cells import _AT_THE_END, as_it_estimates, divided, half_networks, made
from trust_sets import Labelled, Noisy, Places, sources

SETS = {
    "texts": 400, "mixed columns": 1000, "made up": 500, "digits, table": 600, "breast cancer": 250, "digits": 600,
    "Fashion-MNIST, 3,000": 600,
}  # fmt: skip
SEEDS = (0, 1)
DEAR, FEW = "Fashion-MNIST, 3,000", ("none", "hard:0.2", "uniform:0.2", "instance:0.3")  # of all seeds but the first


def plan(places: Places) -> Iterator[tuple[Labelled, np.ndarray, int]]:
    """A set, which of it the run has, and the seed."""
    every = sources(places)
    for seed in SEEDS:
        for name, n in SETS.items():
            family, pick = every[name]
            noisy = Noisy(family, name, pick(seed), seed)
            mine = np.zeros(len(noisy.true), bool)
            mine[np.random.default_rng([seed, 7]).permutation(len(mine))[:n]] = True
            for noise in made(name):
                if not (name == DEAR and seed and noise not in FEW):
                    yield noisy.labelled(noise), mine, seed


def measure(one: Labelled, mine: np.ndarray, seed: int) -> dict[str, Any] | None:
    """None where too little is kept for RSL to learn from."""
    run, fresh = one.data.take(np.flatnonzero(mine)), one.data.take(np.flatnonzero(~mine))
    task = Task(run, divided(run, seed), {}, seed=seed, device=torch.device("cpu"))
    settings = settings_for(None, "cpu", run, changes=_AT_THE_END)
    stage1 = warm_up(task, settings)
    assert stage1.ledger is not None
    _, noise = as_it_estimates(run, np.stack(half_networks(task, settings, 0)))
    kept = choose(task, settings, noise, stage1.ledger.score(settings.criterion.score)).mask
    try:
        networks = {"cross_entropy": stage1.network, "rsl": retrain(task, settings, task.train[kept]).network}
    except TooFewError:
        return None
    agrees = {
        name: outputs(task, net, run, task.held_out).argmax(1) == run.labels[task.held_out]
        for name, net in networks.items()
    }
    truth = {
        name: float((outputs(task, net, fresh, np.arange(len(fresh))).argmax(1) == fresh.true_labels).mean())
        for name, net in networks.items()
    }
    return {"name": one.name, "noise": one.noise, "kind": one.kind, "seed": seed} | told(agrees, truth)


def told(agrees: dict[str, np.ndarray], truth: dict[str, float]) -> dict[str, Any]:
    tried = [SimpleNamespace(method=name, called=name, agrees=right) for name, right in agrees.items()]
    shipped = choose_shipped(tried, "rsl", "best")  # type: ignore[arg-type]
    assert shipped is not None
    worse = paired(agrees["rsl"], agrees["cross_entropy"]).high < 0
    return {
        "held out": len(agrees["rsl"]), "agrees": {name: int(right.sum()) for name, right in agrees.items()},
        "truth": truth, "chosen": {"now": shipped.method, "ties to rsl": "cross_entropy" if worse else "rsl"},
    }  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--fashion", type=Path, required=True)
    options.add_argument("--out", type=Path, default=RESULTS / "trust_shipped.jsonl")
    asked = options.parse_args()
    torch.set_num_threads(1)
    for one, mine, seed in plan(Places(asked.fashion, None, None, None, None, None)):
        row = measure(one, mine, seed)
        if row is not None:
            record(asked.out, row)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
