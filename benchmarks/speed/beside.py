"""Two versions of the package, epoch by epoch in turn, in one run: is the later one as fast?

    python benchmarks/speed/beside.py --before FOLDER [--set NAME=VALUE ...]

FOLDER holds the package `smallloss` as it was. Each version trains stage 1 and then rsl_wm in a process of its own, on
the same random pictures, and waits before every epoch until it is its turn. The first two epochs of a stage (captures,
caches) do not count. A line for each stage: the speed of this version over that of the one before, epoch by epoch.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import RESULTS, named_values, record

HERE = Path(__file__).resolve()
WARM_UP = 2


def work(asked: argparse.Namespace) -> None:
    """One version: a line when an epoch may begin, a line read for leave, a line of what it took."""
    import torch

    import smallloss

    called = "engine" if find_spec("smallloss.engine") else "learning"  # as it was called
    stage = import_module(f"smallloss.{called}.stage")
    epoch = stage.Stage._epoch
    say = sys.stdout

    def in_turn(self: Any, k: int) -> Any:
        print(json.dumps({"stage": self.name, "epoch": k}), file=say, flush=True)
        sys.stdin.readline()
        begun = time.perf_counter()
        result = epoch(self, k)
        if asked.device == "cuda":
            torch.cuda.synchronize()
        print(json.dumps({"seconds": time.perf_counter() - begun}), file=say, flush=True)
        return result

    stage.Stage._epoch = in_turn
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (asked.examples, 32, 32, 3), dtype=np.uint8)
    y = rng.integers(0, 10, asked.examples)
    knobs = {"stage1.epochs": asked.epochs, "rsl_wm.epochs": asked.epochs, **named_values(asked.set)}
    how = {"method": "rsl_wm", "noise_rate": 0.3, "device": asked.device, "preset": asked.preset, "settings": knobs}
    smallloss.clean((x, y), **how)


class Side:
    def __init__(self, source: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        command = [sys.executable, str(HERE), "--work", *sys.argv[1:]]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.leave, self.said = self.process.stdin, self.process.stdout

    def hear(self) -> dict[str, Any]:
        """The next line of ours; what else the package prints is passed over."""
        for line in self.said:
            if line.startswith("{"):
                return dict(json.loads(line))
        return {}

    def go(self) -> float:
        print(file=self.leave, flush=True)
        return float(self.hear()["seconds"])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--before", type=Path, required=True)
    options.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    options.add_argument("--preset", default="fast")
    options.add_argument("--examples", type=int, default=45_000)
    options.add_argument("--epochs", type=int, default=7)
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options.add_argument("--out", type=Path, default=RESULTS / "speed_beside.jsonl")
    options.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.work:
        work(asked)
        return
    now, before = Side(HERE.parents[2] / "src"), Side(asked.before)
    found: dict[str, list[tuple[float, float]]] = {}
    while at := now.hear():
        other = before.hear()
        assert at == other, f"{at} beside {other}: the two versions train other stages"
        # Who goes first changes from epoch to epoch, so that neither is always the one after a pause.
        first, second = (now, before) if at["epoch"] % 2 else (before, now)
        took = {first: first.go(), second: second.go()}
        print(at, f"now {took[now]:.2f} s, before {took[before]:.2f} s", flush=True)
        if at["epoch"] >= WARM_UP:
            found.setdefault(at["stage"], []).append((took[before], took[now]))
    for stage, pairs in found.items():
        ratios = [before / now for before, now in pairs]
        facts = {"benchmark": "beside", "stage": stage, "preset": asked.preset, "examples": asked.examples, "seed": 0}
        seconds = dict(zip(("before", "now"), zip(*pairs, strict=True), strict=True))
        row = {"ratio": median(ratios), "least": min(ratios), "most": max(ratios), "seconds": seconds}
        print(stage, {key: round(row[key], 3) for key in ("ratio", "least", "most")}, flush=True)
        record(asked.out, facts | row)


if __name__ == "__main__":
    main()
