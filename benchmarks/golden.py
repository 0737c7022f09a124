"""The bytes that finished runs leave behind: a change of the code that should change no behaviour leaves them alone.

    python benchmarks/golden.py write golden.json      # before the change
    python benchmarks/golden.py check golden.json      # after it, on the same machine: which files of which run differ

Runs of every method, with rates given and estimated, on pictures, a folder of them, a table of texts and of numbers.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_wine

FILES = (
    "examples.parquet", "examples.csv", "ledger.npz", "selection.npz", "features.npz", "model.safetensors",
    "out_of_sample.npz", "estimate.json", "result.json", "report.html",
)  # fmt: skip
SHORT = ("--epochs", "3", "--device", "cpu")
RUNS: dict[str, tuple[str, ...]] = {
    "rsl": ("digits",),
    "rsl, estimated": ("digits", "--estimate"),
    "cross entropy": ("digits", "--method", "cross_entropy"),
    "co-teaching": ("digits", "--method", "co_teaching"),
    "rsl_wm": ("digits", "--method", "rsl_wm"),
    "rsl_wm, estimated": ("digits", "--method", "rsl_wm", "--estimate", "--relabel"),
    "folder": ("pictures",),
    "folder, given": ("pictures", "--noise-rate", "0.2", "--path", "streaming"),
    "texts": ("texts.csv",),
    "numbers": ("numbers.csv", "--noise-rate", "0.2", "--ship", "method"),
}


def make_data(folder: Path) -> None:
    rng, digits = np.random.default_rng(0), load_digits()
    for k in range(240):
        label = digits.target[k] if rng.random() > 0.2 else (digits.target[k] + 1) % 10
        place = folder / "pictures" / f"digit {label}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray((digits.images[k] * 15).astype(np.uint8)).save(place / f"{k}.png")
    words = {"sport": ["ball", "goal", "team", "match", "win"], "food": ["salt", "bread", "soup", "oven", "taste"]}
    lines = ["text,label"]
    for k in range(200):
        true = ("sport", "food")[k % 2]
        label = true if rng.random() > 0.2 else ("food", "sport")[k % 2]
        lines.append(f"{' '.join(rng.choice(words[true], 6))} {k % 7},{label}")
    (folder / "texts.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    wine = load_wine()
    head = ",".join([*(name.replace("/", " ") for name in wine.feature_names), "label"])
    rows = [",".join([*map(str, x), f"grape {y}"]) for x, y in zip(wine.data, wine.target, strict=True)]
    (folder / "numbers.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def hashes(folder: Path) -> dict[str, dict[str, str]]:
    found = {}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    for name, arguments in RUNS.items():
        out = folder / name.replace(", ", " ").replace(" ", "-")
        command = [sys.executable, "-m", "smallloss", "clean", *arguments, "--out", str(out), *SHORT]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{name}: {done.stderr}")
        there = [file for file in FILES if (out / file).is_file()]
        found[name] = {file: hashlib.sha256((out / file).read_bytes()).hexdigest()[:16] for file in there}
        print(f"{name}: {len(there)} files", flush=True)
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("write", "check"))
    options.add_argument("file", type=Path)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        make_data(Path(place))
        found = hashes(Path(place))
    if asked.what == "write":
        asked.file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return
    before = json.loads(asked.file.read_text(encoding="utf-8"))
    differ = [
        f"{name}: {file}"
        for name, files in before.items()
        for file in sorted(files.keys() | found[name].keys())
        if files.get(file) != found[name].get(file)
    ]
    print("\n".join(differ) or "every file of every run is the same")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
