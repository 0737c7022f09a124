"""The `paper` preset as far as time allows: killed part-way (SIGKILL), started again, its curve recorded.

    python benchmarks/paper_curve.py --data FOLDER --work FOLDER --seconds 120 cifar10/uniform/0.5

The same command goes on where the last one was killed. Each row has the whole curve so far.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from common import RESULTS, record

_TABLE2 = Path(__file__).with_name("table2.py")


def train(asked: argparse.Namespace, seconds: float) -> bool:
    """RSL_WM under the preset, killed after so many seconds; true where it ended by itself."""
    command = [
        sys.executable, str(_TABLE2), asked.cell, "--data", str(asked.data), "--work", str(asked.work),
        "--preset", "paper", "--device", asked.device, "--out", str(asked.work / "finished.jsonl"),
    ]  # fmt: skip
    for change in ("stage1.checkpoint_seconds=10", "rsl_wm.checkpoint_seconds=10", *asked.set):
        command += ["--set", change]
    process = subprocess.Popen(command)
    try:
        return process.wait(timeout=seconds) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def curve(folder: Path) -> list[dict[str, Any]]:
    """The rows of metrics.jsonl that a resumed run would keep: one an epoch."""
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        rows[row["stage"], row["epoch"]] = row
    return list(rows.values())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cell")
    options.add_argument("--data", type=Path, required=True, help="holds cifar-10-batches-bin and cifar-100-binary")
    options.add_argument("--work", type=Path, required=True, help="holds the run between calls")
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--parts", type=int, default=2, help="starts within these seconds, each of them killed")
    options.add_argument("--device", default="cuda")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options.add_argument("--out", type=Path, default=RESULTS / "paper_curve.jsonl")
    asked = options.parse_args()
    begun, kills = time.perf_counter(), 0
    while kills < asked.parts and not train(asked, asked.seconds / asked.parts):
        kills += 1
    rows = curve(asked.work / f"{asked.cell.replace('/', '-')}-0")
    row = {
        "cell": asked.cell, "method": "rsl_wm", "preset": "paper", "protocol": "paper", "net": "wrn-28-2", "seed": 0,
        "kills": kills, "seconds": time.perf_counter() - begun, "epochs": Counter(row["stage"] for row in rows),
        "train_seconds": sum(row["seconds"] for row in rows),
        "curve": [[row["stage"], row["epoch"], round(100 * row["test"], 2)] for row in rows if "test" in row],
    }  # fmt: skip
    record(asked.out, row)


if __name__ == "__main__":
    main()
