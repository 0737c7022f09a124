"""The same file given to smallloss and to cleanlab (docs/guide/cleanlab.md).

python benchmarks/beside_cleanlab.py youtube_comments.csv digits    # pip install cleanlab
"""

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import cleanlab
import numpy as np
from cleanlab.filter import find_label_issues
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

import smallloss as sl
from common import RESULTS, record
from smallloss.criterion.corrupt import corrupt
from smallloss.data.table_files import read_table, write_table

OUT = RESULTS / "beside_cleanlab.jsonl"
MODELS = {  # of a few that were tried, what served cleanlab best
    "texts": make_pipeline(
        TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)), LogisticRegression(C=10, max_iter=400)
    ),
    "numbers": RandomForestClassifier(random_state=0),
}
Answer = tuple[np.ndarray, np.ndarray]  # flagged; how suspicious


def data_of(name: str, folder: Path) -> tuple[Any, list[str], np.ndarray, Path]:
    """What cleanlab's model learns from, labels as they are, which are wrong, and the file that smallloss gets."""
    if name == "digits":
        digits = sl.load("digits")
        labels = corrupt(digits.labels, sl.transition.structured(0.3, digits.class_map), 0)
        np.savez(folder / "digits.npz", x=digits.inputs, y=labels)
        return digits.inputs.reshape(len(labels), -1), labels.tolist(), labels != digits.labels, folder / "digits.npz"
    columns = read_table(Path(name)).to_pydict()
    text, labels, true = (columns[key] for key in ("text", "label", "true_label"))
    write_table(folder / "texts.csv", {"text": text, "label": labels})
    return text, labels, np.array(labels) != np.array(true), folder / "texts.csv"


def of_cleanlab(X: Any, labels: list[str]) -> Answer:
    """Out-of-sample probabilities, five folds: which are flagged, and how suspicious all are."""
    model = MODELS["texts" if isinstance(X[0], str) else "numbers"]
    given = np.unique(labels, return_inverse=True)[1]
    p = cross_val_predict(model, X, given, cv=5, method="predict_proba")
    return find_label_issues(given, p), 1 - p[np.arange(len(given)), given]


def of_smallloss(path: Path) -> Answer:
    table = sl.clean(path, path.parent / "run").table()
    return np.asarray(table["is_label_issue"], bool), 1 - np.asarray(table["label_score"], float)


def measured(flagged: np.ndarray, score: np.ndarray, wrong: np.ndarray) -> dict[str, Any]:
    hits = int((flagged & wrong).sum())
    best = np.argsort(-score)[:100]
    return {
        "flagged": int(flagged.sum()), "of which wrong": hits, "F1": 2 * hits / int(flagged.sum() + wrong.sum()),
        "wrong of the 100 worst": int(wrong[best].sum()), "AP": float(average_precision_score(wrong, score)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="digits, or a csv with the columns text, label, true_label")
    for name in parser.parse_args().data:
        with tempfile.TemporaryDirectory() as folder:
            X, labels, wrong, path = data_of(name, Path(folder))
            row: dict[str, Any] = {"data": Path(name).stem, "n": len(labels), "wrong": int(wrong.sum())}
            row |= {"cleanlab version": cleanlab.__version__}
            for tool, ask in {
                "cleanlab": partial(of_cleanlab, X, labels),
                "smallloss": partial(of_smallloss, path),
            }.items():
                started = perf_counter()
                flagged, score = ask()
                row[tool] = measured(flagged, score, wrong) | {"seconds": perf_counter() - started}
            record(OUT, row)
            print(json.dumps(row, indent=1))


if __name__ == "__main__":
    main()
