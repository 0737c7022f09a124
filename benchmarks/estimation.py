"""Estimated noise rates against the truth: ours beside the usual estimators, on the same probabilities.

python benchmarks/estimation.py --fashion FOLDER [cells]       Fashion-MNIST (see fashion.py), on a CPU
python benchmarks/estimation.py --npz cifar10_uniform_0.5.npz  probabilities, labels, true_labels, score
python benchmarks/estimation.py ... --cleanlab                 also cleanlab's own numbers; it must be installed

One line per cell and estimator. `mae` is over the labels, of the share of wrong ones among those that carry it. `f1` is
of the wrong labels found: ours by the rank of the score beyond the estimated rate, cleanlab's by find_label_issues.
`score` is the mean margin in sample, its sign turned. `probabilities` are one matrix or one of each network, NaN where
it had learnt a row: ours takes them as they are, the others their mean.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, record
from estimators import beta_mixture, dual_t, gaussian_mixture, joint_noise_rate
from fashion import Data, Fashion
from smallloss.criterion.selection import Selection, precision_recall
from smallloss.criterion.transition import noise_rate, prior_from_labels
from smallloss.noise.choose import select
from smallloss.noise.confident import confident_joint
from smallloss.noise.estimate import estimate
from smallloss.noise.model import NoiseModel

CELLS = (
    "none", "uniform:0.3", "uniform:0.5", "uniform:0.7", "pairwise:0.2", "pairwise:0.4", "structured:0.2",
    "structured:0.4", "instance:0.2", "instance:0.4", "hard:0.2", "hard:0.35", "soft:0.2", "soft:0.35",
)  # fmt: skip
FILTERS = ("prune_by_noise_rate", "both", "confident_learning")

Row = dict[str, Any]


class Truth:
    """What an estimate is held against."""

    def __init__(self, data: Data) -> None:
        self.labels, self.wrong = data["labels"], data["labels"] != data["true_labels"]
        self.c = data["probabilities"].shape[-1]
        counts = np.bincount(self.labels, minlength=self.c)
        self.rate = np.bincount(self.labels[self.wrong], minlength=self.c) / np.maximum(counts, 1)
        self.prior = np.bincount(data["true_labels"], minlength=self.c) / len(self.labels)
        self.carried = counts > 0

    def of_rates(self, rate: np.ndarray) -> Row:
        return {"mae": float(np.abs(rate - self.rate)[self.carried].mean())}

    def of_interval(self, found: NoiseModel) -> Row:
        inside = (found.low <= self.rate) & (self.rate <= found.high)
        return {
            "coverage": float(inside[self.carried].mean()),
            "width": float((found.high - found.low)[self.carried].mean()),
            "overall": found.overall,
        }

    def of_issues(self, issue: np.ndarray) -> Row:
        found, total = int((issue & self.wrong).sum()), int(issue.sum()) + int(self.wrong.sum())
        precision, recall = precision_recall(issue, self.wrong)
        return {"f1": 2 * found / max(total, 1), "issue_precision": precision, "issue_recall": recall}

    def of_selection(self, score: np.ndarray, found: NoiseModel) -> Row:
        """Selected with the estimated rates, beside the same score with the true ones."""
        ours = self._selected(score, found.noise_rate, found.prior, found.upper)
        known = self._selected(score, self.rate, self.prior, None)
        precision, known_precision = (precision_recall(one.mask, ~self.wrong).precision for one in (ours, known))
        return self.of_issues(ours.is_label_issue) | {
            "f1_with_true_rates": self.of_issues(known.is_label_issue)["f1"],
            "selected": int(ours.mask.sum()),
            "selected_with_true_rates": int(known.mask.sum()),
            "selected_precision": precision,
            "selected_precision_with_true_rates": known_precision,
        }

    def _selected(self, score: np.ndarray, rate: np.ndarray, prior: np.ndarray, upper: Any) -> Selection:
        return select(score, self.labels, rate, classes=range(self.c), prior=prior, upper=upper)


def mean_of(probabilities: np.ndarray) -> np.ndarray:
    """[n, c], over the networks that had not learnt a row; each row sums to 1."""
    P = np.nanmean(probabilities.reshape(-1, *probabilities.shape[-2:]).astype(np.float64), axis=0)
    return P / P.sum(axis=1, keepdims=True)


def estimators(data: Data, truth: Truth) -> Iterator[tuple[str, Row]]:
    P, labels, c = mean_of(data["probabilities"]), data["labels"], truth.c
    counts = np.bincount(labels, minlength=c)
    ours = estimate(data["probabilities"], labels, classes=range(c))
    row = truth.of_rates(ours.noise_rate) | truth.of_interval(ours)
    yield "ours", row | (truth.of_selection(data["score"], ours) if "score" in data else {})
    yield "confident joint", truth.of_rates(joint_noise_rate(confident_joint(P, labels, c)))
    T = dual_t(P, labels, c)
    yield "dual-T", truth.of_rates(noise_rate(T, prior_from_labels(T, counts)))
    disagree = np.bincount(labels[P.argmax(axis=1) != labels], minlength=c) / np.maximum(counts, 1)
    yield "argmax disagreement", truth.of_rates(disagree)
    if "score" in data:
        yield "gaussian mixture", truth.of_rates(gaussian_mixture(data["score"], labels, c))
        yield "beta mixture", truth.of_rates(beta_mixture(data["score"], labels, c))


def cleanlab(data: Data, truth: Truth) -> Iterator[tuple[str, Row]]:
    """Its calibrated confident joint and its ways to find issues, on the same probabilities."""
    from cleanlab.count import compute_confident_joint
    from cleanlab.filter import find_label_issues

    P, labels = mean_of(data["probabilities"]), data["labels"]
    joint = compute_confident_joint(labels, P, calibrate=True)
    yield "cleanlab confident joint", truth.of_rates(1 - joint.diagonal() / joint.sum(axis=1))
    for way in FILTERS:
        issue = find_label_issues(labels, P, filter_by=way, n_jobs=1)
        yield f"cleanlab {way}", truth.of_issues(issue)


def measure(cell: str, data: Data, asked: argparse.Namespace, made: Row | None = None) -> None:
    truth = Truth(data)
    accuracy = float((mean_of(data["probabilities"]).argmax(axis=1) == data["true_labels"]).mean())
    line = f"{cell:24s} acc {accuracy:.3f} wrong {truth.wrong.mean():.3f}"
    start = time.perf_counter()
    for name, found in [*estimators(data, truth), *(cleanlab(data, truth) if asked.cleanlab else ())]:
        row = {"cell": cell, "estimator": name, "n": len(truth.labels), "accuracy": accuracy, "seed": asked.seed}
        row["evidence"] = "counts"
        record(asked.out, row | found | {"seconds": time.perf_counter() - start}, made)
        shown = ("mae", "coverage", "width", "f1", "selected_precision", "selected_precision_with_true_rates")
        line += f"\n  {name:28s}" + "".join(f"  {key} {found[key]:.3f}" for key in shown if key in found)
        start = time.perf_counter()
    print(line, flush=True)


def read_npz(path: Path) -> tuple[Data, Row]:
    """The arrays, and what the file says of how they were made."""
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    return data, json.loads(str(data.pop("facts"))) if "facts" in data else {}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cells", nargs="*", default=CELLS)
    options.add_argument("--fashion", type=Path, help="the folder of the idx files of Fashion-MNIST")
    options.add_argument("--npz", type=Path, nargs="*", default=[])
    options.add_argument("--cleanlab", action="store_true", help="also cleanlab, which must be installed")
    options.add_argument("--examples", type=int, default=45_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=RESULTS / "estimation_cpu.jsonl")
    asked = options.parse_args()
    for path in asked.npz:
        data, made = read_npz(path)
        measure(path.stem, data, asked, made)
    if asked.fashion:
        fashion = Fashion(asked.fashion, asked.examples, asked.seed)
        for cell in asked.cells:
            measure(f"fashion/{cell}", fashion.cell(cell), asked)


if __name__ == "__main__":
    main()
