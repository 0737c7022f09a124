"""What the extra `photos` buys and costs: a folder of pictures, partly with wrong labels, cleaned with it and without.

    python benchmarks/photos.py --data FOLDER                                          # none and photos:128
    python benchmarks/photos.py --data FOLDER --n 600 photos:128 photos:160 photos:224 # how large should they be?

FOLDER holds cifar-10-batches-bin. Some of its pictures become .png of 96 x 96, a quarter of each class named as the
class that it is most like. A line for each backbone: F1 of the flags (%), precision of the kept (%), area under the
curve of label_score, each over all pictures, held out or not; seconds of the run, of a core, and of a core for the
features among them.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from sklearn.metrics import f1_score, roc_auc_score

import smallloss as sl
from common import RESULTS, record
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.transition import structured
from smallloss.engine.embedding import embedded
from smallloss.engine.progress import Progress
from smallloss.run.photos import NONE

LIKE = (2, 9, 0, 5, 7, 3, 2, 4, 0, 1)  # airplane bird, automobile truck, cat dog, deer horse; frog bird, ship airplane
WRONG, SIDE = 0.25, 96


def write(data: Path, folder: Path, n: int, seed: int) -> dict[str, bool]:
    """The pictures as files; id -> is its label wrong?"""
    everything = sl.load(f"cifar10:{data}")
    rows = np.sort(np.random.default_rng(seed).permutation(len(everything))[:n])
    truth = everything.labels[rows]
    given = corrupt(truth, structured(WRONG, LIKE), seed)
    wrong = {}
    for row, label, true in zip(rows.tolist(), given.tolist(), truth.tolist(), strict=True):
        name = f"{everything.classes[label]}/{row:05}.png"
        (folder / name).parent.mkdir(exist_ok=True)
        Image.fromarray(everything.inputs[row]).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(folder / name)
        wrong[name] = label != true
    return wrong


def measure(folder: Path, wrong: dict[str, bool], backbone: str, seed: int) -> dict[str, Any]:
    wall, own = time.perf_counter(), time.process_time()
    table = sl.clean(folder, backbone=backbone, seed=seed).table()
    seconds = {"seconds": time.perf_counter() - wall, "seconds_of_a_core": time.process_time() - own}
    if backbone != NONE:
        own = time.process_time()
        embedded(sl.load(folder), backbone, torch.device("cpu"), None)[1](None, Progress(enabled=False))
        seconds["seconds_features"] = time.process_time() - own
    is_wrong = np.array([wrong[name] for name in table["id"]])
    kept = np.asarray(table["selected"], bool)
    return {
        "wrong": 100 * is_wrong.mean(),
        "f1": 100 * f1_score(is_wrong, np.asarray(table["is_label_issue"], bool)),
        "precision_kept": 100 * (1 - is_wrong[kept].mean()),
        "kept": int(kept.sum()),
        "auc": roc_auc_score(~is_wrong, np.asarray(table["label_score"], np.float64)),
        **seconds,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("backbones", nargs="*", default=[NONE, "photos:128"])
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--n", type=int, default=2000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=RESULTS / "photos.jsonl")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wrong = write(asked.data, Path(folder), asked.n, asked.seed)
        for backbone in asked.backbones:
            facts = {"backbone": backbone, "n": asked.n, "side": SIDE, "seed": asked.seed}
            row = facts | measure(Path(folder), wrong, backbone, asked.seed)
            record(asked.out, row)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
