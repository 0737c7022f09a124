"""Wrong labels found in texts and tables, noise rates unknown, beside cleanlab on the same features.

python benchmarks/tables_and_texts.py [demos] [--cleanlab]    cleanlab must be installed

Ours is `smallloss clean table.parquet` as a user would call it; is_label_issue of every row counts. cleanlab gets the
features that our network sees, in its usual recipe: five-fold probabilities, find_label_issues as it comes.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from common import RESULTS, record
from demos import Demo, demos
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.selection import precision_recall
from smallloss.criterion.transition import from_spec
from smallloss.data.dataset import Dataset
from smallloss.run.pipeline import clean

NOISE = ("uniform:0.2", "uniform:0.3", "structured:0.2", "pairwise:0.2")


def noisy_labels(demo: Demo, noise: str, seed: int) -> np.ndarray:
    """Structured noise mixes up each two neighbouring classes; of an odd number the last stays clean."""
    c = demo.classes
    pairs = [min(k ^ 1, c - 1) for k in range(c)]
    return corrupt(demo.true, from_spec(noise, c, pairs if noise.startswith("structured") else None), seed)


def ours(demo: Demo, labels: np.ndarray, seed: int) -> tuple[np.ndarray, Dataset, dict[str, Any]]:
    """is_label_issue of every row, from a file, with nothing but the defaults."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        names = pa.array([f"class {k}" for k in labels])
        parquet.write_table(pa.table({**demo.columns, "label": names}), path)
        result = clean(path, method="cross_entropy", seed=seed, device="cpu").result
    issue = np.zeros(len(labels), bool)
    for part in result.parts:
        issue[part.index] = part.selection.is_label_issue
    assert result.estimate is not None
    rate = np.array([(demo.true != labels)[labels == k].mean() for k in range(demo.classes)])
    return issue, result.dataset, {"mae": float(np.abs(result.estimate.noise_rate - rate).mean())}


def cleanlabs(dataset: Dataset, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    from cleanlab.filter import find_label_issues
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.neural_network import MLPClassifier

    x = (dataset.inputs - dataset.mean) / dataset.std
    models = {
        "logistic regression": LogisticRegression(max_iter=2000),
        "MLP": MLPClassifier((256,), max_iter=60, early_stopping=True, random_state=seed),
    }
    for name, model in models.items():
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        P = cross_val_predict(model, x, dataset.labels, cv=folds, method="predict_proba")
        yield f"cleanlab, {name}", find_label_issues(dataset.labels, P, n_jobs=1)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("demos", nargs="*")
    options.add_argument("--noise", nargs="*", default=NOISE)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--cleanlab", action="store_true", help="also cleanlab, which must be installed")
    options.add_argument("--out", type=Path, default=RESULTS / "tables_and_texts.jsonl")
    asked = options.parse_args()
    for demo in demos():
        if asked.demos and demo.name not in asked.demos:
            continue
        for noise in asked.noise:
            for seed in range(asked.seeds):
                measure(demo, noise, seed, asked)


def measure(demo: Demo, noise: str, seed: int, asked: argparse.Namespace) -> None:
    labels = noisy_labels(demo, noise, seed)
    wrong = labels != demo.true
    start = time.perf_counter()
    issue, dataset, facts = ours(demo, labels, seed)
    found = [("ours", issue, facts | {"seconds": time.perf_counter() - start})]
    if asked.cleanlab:
        found += [(name, issue, {}) for name, issue in cleanlabs(dataset, seed)]
    line = f"{demo.name:14s} {noise:15s} {seed} wrong {wrong.mean():.3f}"
    for method, issue, facts in found:
        precision, recall = precision_recall(issue, wrong)
        row = {"cell": f"{demo.name}/{noise}", "method": method, "seed": seed, "n": len(labels)}
        record(asked.out, row | {"issue_precision": precision, "issue_recall": recall} | facts)
        line += f" | {method} p {precision:.3f} r {recall:.3f}"
    print(line, flush=True)


if __name__ == "__main__":
    main()
