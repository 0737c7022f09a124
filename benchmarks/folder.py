"""A folder of badly labelled pictures, cleaned as a new user would: rates unknown, then with the true rates.

    python benchmarks/folder.py --data FOLDER --which fashion    10,000 Fashion-MNIST png; idx files in FOLDER
    python benchmarks/folder.py --data FOLDER --which cifar      20,000 CIFAR-10 png; cifar-10-batches-bin in FOLDER

Labels are corrupted at .3: 0 <-> 6, 2 -> 4, 5 -> 7, 9 -> 7 on Fashion-MNIST, the paper's structured noise on CIFAR-10.
The class folders are named after the noisy label, and the only command is `smallloss clean FOLDER --out RUN`. The
bar: kept precision with rates unknown within 1 point of kept precision with the true rates; Fashion-MNIST in under
10 minutes on two cores. Precision and recall are counted from examples.csv over all rows, in percent.

Every run is one line in benchmarks/results/folder.jsonl. Pictures and runs stay in a new folder under --work.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from common import RESULTS, record
from memory import PeakMemory
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.transition import CIFAR10_MAP, structured
from smallloss.data.dataset import Dataset
from smallloss.data.source import load

R = 0.3
FASHION_MAP = (6, 1, 4, 3, 4, 7, 0, 7, 8, 7)
SETS = {"fashion": ("idx", FASHION_MAP, 10_000), "cifar": ("cifar10", CIFAR10_MAP, 20_000)}

Truth = dict[str, tuple[str, str]]  # id -> (noisy label, true label)


def write_folder(folder: Path, dataset: Dataset, class_map: tuple[int, ...], n: int, seed: int) -> Truth:
    """n pictures drawn at random, as png files in folders named after their noisy labels."""
    chosen = np.sort(np.random.default_rng(seed).permutation(len(dataset))[:n])
    true = dataset.labels[chosen]
    noisy = corrupt(true, structured(R, class_map), seed)
    truth = {}
    for name in dataset.classes:
        (folder / name).mkdir(parents=True)
    for row, given, right in zip(chosen.tolist(), noisy.tolist(), true.tolist(), strict=True):
        place = f"{dataset.classes[given]}/{row:05d}.png"
        Image.fromarray(dataset.inputs[row].squeeze()).save(folder / place)
        truth[place] = dataset.classes[given], dataset.classes[right]
    return truth


def true_rates(truth: Truth) -> dict[str, float]:
    """noise_rate[k]: the share of wrong labels among the examples that carry label k."""
    wrong: dict[str, list[bool]] = {}
    for given, right in truth.values():
        wrong.setdefault(given, []).append(given != right)
    return {label: float(np.mean(found)) for label, found in wrong.items()}


def clean(folder: Path, run: Path, extra: list[str]) -> dict[str, float]:
    """The real command in a process of its own: its seconds, and the most memory it held at once."""
    command = [sys.executable, "-m", "smallloss", "clean", str(folder), "--out", str(run), *extra]
    start = time.perf_counter()
    process = subprocess.Popen(command)
    with PeakMemory(process.pid) as peak:
        status = process.wait()
    if status:
        raise SystemExit(f"smallloss clean ended with the status {status}.")
    return {"seconds": time.perf_counter() - start, "peak_memory_mib": peak.mib}


def measure(run: Path, truth: Truth) -> dict[str, Any]:
    """What examples.csv says, against the truth, in percent."""
    with (run / "examples.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if sorted(row["id"] for row in rows) != sorted(truth):
        raise SystemExit(f"{run} does not have one row for each picture.")
    right = np.array([len(set(truth[row["id"]])) == 1 for row in rows])
    kept, issue, train = (
        np.array([row[column] == value for row in rows])
        for column, value in (("selected", "true"), ("is_label_issue", "true"), ("split", "train"))
    )
    return {
        "wrong_labels": 100 * float((~right).mean()),
        "kept": int(kept.sum()),
        "kept_precision": 100 * float(right[kept].mean()),
        "kept_precision_train": 100 * float(right[kept & train].mean()),
        "kept_recall": 100 * float(kept[right].mean()),
        "issue_precision": 100 * float((~right)[issue].mean()),
        "issue_recall": 100 * float(issue[~right].mean()),
    }


def rate_error(run: Path, rates: dict[str, float]) -> float:
    """Mean absolute error of the estimated rates over the classes, in points."""
    found = json.loads((run / "estimate.json").read_text(encoding="utf-8"))
    pairs = zip(found["classes"], found["noise_rate"], strict=True)
    return 100 * float(np.mean([abs(rate - rates[label]) for label, rate in pairs]))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--which", choices=list(SETS), required=True)
    options.add_argument("--device", default="auto")
    options.add_argument("--pictures", type=int, help="fewer, for a trial")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    options.add_argument("--out", type=Path, default=RESULTS / "folder.jsonl")
    asked = options.parse_args()
    kind, class_map, n = SETS[asked.which]
    n = asked.pictures or n
    asked.work.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"smallloss_{asked.which}_", dir=asked.work))
    truth = write_folder(work / "pictures", load(f"{kind}:{asked.data}"), class_map, n, asked.seed)
    rates = true_rates(truth)
    with (work / "rates.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("label", "noise_rate"), *rates.items()])
    print(f"{len(truth):,} pictures in {work}", flush=True)
    for known, extra in (("nothing", []), ("true rates", ["--noise-rate", str(work / "rates.csv")])):
        row: dict[str, Any] = {"set": asked.which, "files": len(truth), "r": R, "seed": asked.seed, "known": known}
        row |= {
            "load_before": os.getloadavg()[0],
            "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
        }
        run = work / known.replace(" ", "_")
        row |= clean(work / "pictures", run, ["--device", asked.device, *extra])
        row |= measure(run, truth)
        if not extra:
            row["rate_error"] = rate_error(run, rates)
        record(asked.out, row)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
