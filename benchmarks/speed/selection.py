"""Speed of the selection and of the ledger, each beside what it must be compared with, in the same run.

select: `select` with the columns it leaves behind, against one np.argsort of the same scores (at most 2
        times), and the growth of peak memory, against the size of the scores (under 10 times).
ledger: `LossLedger.update` of a batch of 1,024, against a training step of a small digits net (under 3 %).

    python benchmarks/speed/selection.py select --examples 10_000_000 --classes 1000
    python benchmarks/speed/selection.py ledger

Every measurement is one line in benchmarks/results/speed_selection.jsonl.
"""

import argparse
import multiprocessing
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, record
from smallloss.criterion.ledger import LossLedger
from smallloss.noise.choose import select

SCORES = {
    "distinct": lambda score: score,
    "float32": lambda score: score.astype(np.float32).astype(np.float64),  # some ties in every class
    "rounded": lambda score: score.round(2),  # almost nothing but ties
}


def seconds(work: Callable[[], Any]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def peak_bytes() -> int:
    """The most memory this process held since the mark was last reset (Linux)."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def selection_with_columns(score: np.ndarray, labels: np.ndarray) -> None:
    result = select(score, labels, 0.2, prior="uniform")
    _ = result.mask, result.is_label_issue, result.weight, result.reason_code, result.cutoff


def measure_selection(examples: int, classes: int, scores: str, seed: int, repeats: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    score = SCORES[scores](rng.standard_exponential(examples))
    labels = rng.integers(0, classes, examples)
    Path("/proc/self/clear_refs").write_text("5")  # resets the mark, which making the scores had pushed up
    before = peak_bytes()
    ours = [seconds(lambda: selection_with_columns(score, labels))]
    growth = peak_bytes() - before
    theirs = [seconds(lambda: np.argsort(score))]
    for _ in range(repeats - 1):
        ours.append(seconds(lambda: selection_with_columns(score, labels)))
        theirs.append(seconds(lambda: np.argsort(score)))
    return {
        "select_seconds": median(ours),
        "argsort_seconds": median(theirs),
        "time_ratio": median(ours) / median(theirs),
        "peak_growth_bytes": growth,
        "score_bytes": score.nbytes,
        "memory_ratio": growth / score.nbytes,
    }


def measure_ledger(given: str, seed: int, repeats: int) -> dict[str, Any]:
    import torch
    from sklearn.datasets import load_digits

    torch.manual_seed(seed)
    digits = load_digits()
    images = torch.tensor(digits.images[:1024], dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(digits.target[:1024])
    index = torch.arange(1024)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, padding=1, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(512, 10),
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    ledger = LossLedger(1024)
    steps, updates, ends = [], [], []
    for _ in range(repeats):
        start = perf_counter()
        logits = net(images)
        loss = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
        middle = perf_counter()
        if given == "loss":
            ledger.update(index, loss)
        else:
            ledger.update(index, logits=logits, label=labels)
        updates.append(perf_counter() - middle)
        steps.append(middle - start)
        ends.append(seconds(ledger.end_epoch))
    return {
        "update_seconds": median(updates),
        "step_seconds": median(steps),
        "end_epoch_seconds": median(ends),
        "time_ratio": median(updates) / median(steps),
    }


def in_a_process_of_its_own(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=["select", "ledger"])
    parser.add_argument("--examples", type=int, default=10_000_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--scores", choices=list(SCORES), default="distinct")
    parser.add_argument("--given", choices=["loss", "logits"], default="loss", help="what update is given")
    parser.add_argument("--repeats", type=int, default=None, help="3 for select, 300 for ledger")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS / "speed_selection.jsonl")
    options = parser.parse_args()
    start = perf_counter()
    if options.part == "select":
        case = {name: getattr(options, name) for name in ("examples", "classes", "scores", "seed")}
        found = in_a_process_of_its_own(measure_selection, *case.values(), options.repeats or 3)
    else:
        case = {"batch": 1024, "given": options.given, "seed": options.seed}
        found = in_a_process_of_its_own(measure_ledger, options.given, options.seed, options.repeats or 300)
    line = {"part": options.part, **case, **found, "seconds": perf_counter() - start}
    line |= {"threads": os.environ.get("OMP_NUM_THREADS", "default"), "numpy": np.__version__}
    for name, value in line.items():
        print(f"{name:20} {value:,.6g}" if isinstance(value, float) else f"{name:20} {value}")
    record(options.out, line)


if __name__ == "__main__":
    main()
