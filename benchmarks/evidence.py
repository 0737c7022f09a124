"""Does the evidence beside a suspicion tell wrong labels from false alarms?

Of those called likely wrong, the AUC of how much nearer the nearest kept example of the class seen lies than that of
the label given; beside it, that of random kept ones of the same two classes.

    python benchmarks/evidence.py youtube_comments.csv FOLDER    # of the four idx files of Fashion-MNIST
    python benchmarks/evidence.py FOLDER --people fashion_mnist_test_answers.npz    # one human answer a picture
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import smallloss as sl
from common import RESULTS, record
from cpu_methods import LOOKS_LIKE
from methods import People
from smallloss.criterion.corrupt import corrupt
from smallloss.data.dataset import Dataset
from smallloss.data.idx import load_idx
from smallloss.record.run import Run
from smallloss.report.evidence import evidence

OUT = RESULTS / "evidence.jsonl"
DRAWS = 20  # of the random ones


def data_of(place: str, n: int, seed: int, people: Path | None) -> Dataset:
    """The comments as they are; of Fashion-MNIST n pictures, structured .3, or 1,000 with an answer each."""
    if Path(place).is_file():
        return sl.load(place)
    if people is not None:
        return replace(People(Path(place), people)(seed), name="fashion-mnist, people")
    data = load_idx(Path(place))
    few = data.take(np.sort(np.random.default_rng(seed).permutation(len(data))[:n]))
    labels = corrupt(few.labels, sl.transition.structured(0.3, LOOKS_LIKE), seed)
    return replace(few, labels=labels, true_labels=few.labels, test=None)


def measured(run: Run, seed: int) -> dict[str, Any]:
    e, rng = run.examples, np.random.default_rng(seed)
    assert e.true is not None
    assert run.features is not None
    rows = np.flatnonzero(e.likely_wrong & (e.seen >= 0) & (e.seen != e.label))
    beside, wrong, x = evidence(run, rows), (e.true != e.label)[rows], np.asarray(run.features, np.float32)

    def far(row: int, k: int) -> float:
        kept = np.flatnonzero(e.kept & (e.label == k) & (np.arange(len(e)) != row))
        return float(np.linalg.norm(x[rng.choice(kept)] - x[row]))

    nearer = np.subtract(*(np.array(beside[name], float) for name in ("given_far", "seen_far")))
    at_random = [
        roc_auc_score(wrong, [far(row, e.label[row]) - far(row, e.seen[row]) for row in rows]) for _ in range(DRAWS)
    ]
    return {
        "flagged": len(rows), "false alarms": int((~wrong).sum()),
        "AUC of the nearest": float(roc_auc_score(wrong, nearer)), "AUC of random ones": float(np.mean(at_random)),
    }  # fmt: skip


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("places", nargs="+")
    asked.add_argument("-n", type=int, default=1500)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--people", type=Path)
    given = asked.parse_args()
    for place in given.places:
        started, data = perf_counter(), data_of(place, given.n, given.seed, given.people)
        with tempfile.TemporaryDirectory() as folder:
            run = sl.clean(data, Path(folder) / "run", seed=given.seed, device="cpu").result
        found = {"data": data.name, "n": len(data), "seed": given.seed} | measured(run, given.seed)
        record(OUT, found | {"seconds": perf_counter() - started})
        print(found)


if __name__ == "__main__":
    main()
