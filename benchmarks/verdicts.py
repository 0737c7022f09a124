"""The verdict with 60 answers by hand, over many simulated audits: how often it says trust, caution, do not trust.

python benchmarks/verdicts.py --fashion FOLDER [cells]   Fashion-MNIST, two-fold, on a CPU
python benchmarks/verdicts.py --npz FILE ...             probabilities, labels, true_labels, score, predicted from files

Every audit draws 40 kept and 20 dropped examples anew and answers from the truth. Where dominance fails (pairwise
from .5 on, structured .6) no audit may end in trust; where it holds, with an accurate network, all should.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, record
from estimation import contradicted, read_npz
from fashion import Data, Fashion
from smallloss.criterion.selection import SAFETY_LEVEL, Selection
from smallloss.noise.answers import Answers, draw
from smallloss.noise.choose import select
from smallloss.noise.estimate import estimate
from smallloss.noise.trust import MAJORITY_FLIP, judge

CELLS = (
    "pairwise:0.5", "pairwise:0.6", "structured:0.6",
    "uniform:0.3", "uniform:0.5", "pairwise:0.2", "structured:0.2",
)  # fmt: skip
WORDS = ("trust", "caution", "do not trust")


def measure(cell: str, data: Data, audits: int, seed: int) -> dict[str, Any]:
    P, labels, true = data["probabilities"], data["labels"], data["true_labels"]
    start = time.perf_counter()
    found = estimate(P, labels, contradicted=contradicted(data))
    c, upper = P.shape[1], found.upper(SAFETY_LEVEL)
    selection = select(data["score"], labels, found.noise_rate, classes=range(c), upper=upper, prior=found.prior)
    alone = judge(found, selection, P, labels)
    said = [
        judge(found, selection, P, labels, audit=answers(selection, true, seed * audits + k)).trust
        for k in range(audits)
    ]
    return {
        "cell": cell,
        "audits": audits,
        "seed": seed,
        **{word.replace(" ", "_"): said.count(word) / audits for word in WORDS},
        "without_answers": alone.trust,
        "limit_stated": MAJORITY_FLIP in alone.limits,
        "accuracy": float((P.argmax(1) == true).mean()),
        "kept_precision": float((labels == true)[selection.mask].mean()),
        "promised": None if alone.precision is None else alone.precision.value,
        "seconds": time.perf_counter() - start,
    }


def answers(selection: Selection, true: np.ndarray, seed: int) -> Answers:
    """40 kept and 20 dropped, answered by somebody who knows."""
    sample = draw(selection, seed=seed)
    return Answers(sample.index, sample.kept, selection.class_index[sample.index].astype(np.int64), true[sample.index])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cells", nargs="*", default=CELLS)
    options.add_argument("--fashion", type=Path, help="the folder of the idx files of Fashion-MNIST")
    options.add_argument("--npz", type=Path, nargs="*", default=[])
    options.add_argument("--audits", type=int, default=400)
    options.add_argument("--examples", type=int, default=45_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=RESULTS / "verdicts.jsonl")
    asked = options.parse_args()
    fashion = Fashion(asked.fashion, asked.examples, asked.seed) if asked.fashion else None
    cells = [(f"fashion/{cell}", cell) for cell in asked.cells] if fashion else []
    for name, source in [*((path.stem, path) for path in asked.npz), *cells]:
        data, made = read_npz(source) if isinstance(source, Path) else (fashion.cell(source), {})
        row = measure(name, data, asked.audits, asked.seed)
        record(asked.out, row, made)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
