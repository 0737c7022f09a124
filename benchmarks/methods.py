"""All methods under one protocol on two cores, by `smallloss compare`: digits under three kinds of noise, and 1,000
pictures of Fashion-MNIST with one human answer each, rates unknown; three seeds.

    python benchmarks/methods.py --work FOLDER --fashion FOLDER --people FILE

Runs that are done in FOLDER are not run again; their lines go to benchmarks/results/methods.jsonl.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, record
from smallloss import methods
from smallloss.comparing.compare import compare
from smallloss.comparing.jobs import Results
from smallloss.data.dataset import Dataset
from smallloss.data.idx import load_idx
from two_cores import first

DIGITS = ("uniform:0.5", "pairwise:0.4", "structured:0.4")


@dataclass(frozen=True)
class People:
    """The test pictures of Fashion-MNIST; each seed draws 1,000 of them, and one of the answers that people gave."""

    fashion: Path
    answers: Path

    def __call__(self, seed: int) -> Dataset:
        rng, data = np.random.default_rng(seed), load_idx(self.fashion).test
        assert data is not None
        counts = np.load(self.answers)["counts"].astype(np.int64)
        given = np.stack([rng.multinomial(1, row / row.sum()) for row in counts]).argmax(1)
        return first(data, given, 1000, rng)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--fashion", type=Path, help="a folder of idx files")
    options.add_argument("--people", type=Path, help="fashion_mnist_test_answers.npz")
    options.add_argument("--methods", default=",".join(methods.names()))
    options.add_argument("--out", type=Path, default=RESULTS / "methods.jsonl")
    asked = options.parse_args()
    cells: dict[str, dict[str, Any]] = {f"digits/{noise}": {"data": "digits", "noise": noise} for noise in DIGITS}
    if asked.fashion is not None:
        cells["fashion/human"] = {"data": People(asked.fashion, asked.people)}
    for cell, how in cells.items():
        folder = asked.work / cell.removeprefix("digits/").replace(":", "-").replace("/", "-")
        print(compare(out=folder, methods=asked.methods, seeds=3, device="cpu", **how).words, flush=True)
        for row in Results(folder).rows():
            if row["method"] in {"cross_entropy", "confident_learning", *asked.methods.split(",")}:
                record(asked.out, {"cell": cell.replace(":", "/"), **row})


if __name__ == "__main__":
    main()
