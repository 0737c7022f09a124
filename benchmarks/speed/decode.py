"""Speed of reading a folder of small pictures, beside a plain loop with Pillow, in the same run.

A folder of PNG files, ten classes, is made once; then, in turns, `load` of ours up to the finished Dataset and

    np.stack([np.asarray(Image.open(path).convert("RGB")) for path in paths])

read it, the file cache warm for both. On two cores ours is to be at least 1.8 times as fast; the line also says how
many cores other programs kept busy meanwhile, for with one of two taken nothing can be gained.

    python benchmarks/speed/decode.py
    python benchmarks/speed/decode.py --pictures 100_000

Every measurement is one line in benchmarks/results/speed_decode.jsonl.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import RESULTS, record
from smallloss.data import load


def make(folder: Path, pictures: int, side: int, seed: int) -> None:
    """Smooth shapes with some grain: PNG files about as large as those of photos of this size."""
    rng = np.random.default_rng(seed)
    for label in range(10):
        (folder / str(label)).mkdir()
    for index in range(pictures):
        coarse = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC)).astype(np.int16)
        grain = rng.integers(-8, 9, smooth.shape)
        picture = np.clip(smooth + grain, 0, 255).astype(np.uint8)
        Image.fromarray(picture).save(folder / str(index % 10) / f"{index:06d}.png")


def plain_loop(folder: Path) -> np.ndarray:
    pictures = []
    for path in sorted(folder.rglob("*.png")):
        with Image.open(path) as image:
            pictures.append(np.asarray(image.convert("RGB")))
    return np.stack(pictures)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


def busy_seconds() -> tuple[float, float]:
    """Processor time that the whole machine (Linux), and that this process with its helpers, has spent so far."""
    user, nice, system, _idle, _wait, irq, softirq, steal, *_ = map(int, Path("/proc/stat").read_text().split()[1:11])
    everyone = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return everyone, sum(os.times()[:4])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=20_000)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    start = perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, args.pictures, args.side, args.seed)
        expected, got = plain_loop(folder), load(folder).inputs  # warms the file cache
        if not np.array_equal(expected, got):
            raise SystemExit("The two ways do not read the same pixels; give --side in steps of 8 from 32 to 96.")
        theirs, ours = [], []
        began, before = perf_counter(), busy_seconds()
        for _ in range(args.repeats):
            theirs.append(timed(lambda: plain_loop(folder))[0])
            ours.append(timed(lambda: load(folder))[0])
        everyone, own = (now - then for now, then in zip(busy_seconds(), before, strict=True))
        others = (everyone - own) / (perf_counter() - began)
    row = {
        "part": "decode",
        "pictures": args.pictures,
        "side": args.side,
        "seed": args.seed,
        "repeats": args.repeats,
        "cores": len(os.sched_getaffinity(0)),
        "cores_busy_with_others": round(others, 2),
        "plain_loop_seconds": median(theirs),
        "load_seconds": median(ours),
        "times_as_fast": median(theirs) / median(ours),
        "seconds": perf_counter() - start,
    }
    record(RESULTS / "speed_decode.jsonl", row)
    print(
        f"plain {median(theirs):.2f} s, ours {median(ours):.2f} s: {row['times_as_fast']:.2f} times as fast, "
        f"{others:.2f} cores busy with others"
    )


if __name__ == "__main__":
    main()
