"""Speed of reading a folder of small pictures, beside a plain loop with Pillow, in the same run.

A folder of PNG or JPEG files, ten classes, is made once and kept in the temporary folder; then, in turns and in
alternating order, three ways read it, the file cache warm for all:

    plain   np.stack([np.asarray(Image.open(path).convert("RGB")) for path in paths])
    load    `load` of ours, up to the finished Dataset in memory
    cached  the pictures decoded into a file that stays mapped, as a set above the memory budget is kept

On two cores ours is to be at least 1.8 times as fast; the line also says how many cores other programs kept busy
meanwhile, for with one of two taken nothing can be gained. The most memory that a process of its own holds at once,
its helpers included, is taken apart from the times, and is to stay under the budget (MEMORY_BUDGET in data/pictures).

    python benchmarks/speed/decode.py
    python benchmarks/speed/decode.py --pictures 100_000
    python benchmarks/speed/decode.py --pictures 100_000 --format jpg

Every measurement is one line in benchmarks/results/speed_decode.jsonl.
"""

import argparse
import os
import subprocess
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
from memory import PeakMemory
from smallloss.data import load, pictures


def made_once(count: int, side: int, ending: str, seed: int) -> Path:
    """Smooth shapes with some grain: files about as large as those of photos of this size."""
    place = Path(tempfile.gettempdir()) / f"smallloss_decode_{count}_{side}_{ending}_{seed}"
    if place.is_dir():
        return place
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(dir=place.parent) as beside:
        folder = Path(beside) / "new"
        for label in range(10):
            (folder / str(label)).mkdir(parents=True)
        for index in range(count):
            coarse = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8))
            smooth = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC)).astype(np.int16)
            picture = np.clip(smooth + rng.integers(-8, 9, smooth.shape), 0, 255).astype(np.uint8)
            Image.fromarray(picture).save(folder / str(index % 10) / f"{index:06d}.{ending}")
        folder.rename(place)
    return place


def plain_loop(folder: Path) -> np.ndarray:
    found = []
    for path in sorted(folder.glob("*/*")):
        with Image.open(path) as image:
            found.append(np.asarray(image.convert("RGB")))
    return np.stack(found)


def cached(folder: Path) -> np.ndarray:
    """As for a set above the budget: into a file, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        pictures.MEMORY_BUDGET, budget = 0, pictures.MEMORY_BUDGET
        try:
            return load(folder).inputs
        finally:
            pictures.MEMORY_BUDGET = budget


WAYS: dict[str, Callable[[Path], Any]] = {"plain": plain_loop, "load": load, "cached": cached}


def peak_memory(way: str, folder: Path) -> float:
    """MiB of a process that does nothing else, everything it imports included."""
    process = subprocess.Popen([sys.executable, __file__, "--alone", way, str(folder)])
    with PeakMemory(process.pid, every=0.01) as peak:
        if process.wait():
            raise SystemExit(f"{way} failed in a process of its own.")
    return peak.mib


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
    parser.add_argument("--format", choices=["png", "jpg"], default="png")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS / "speed_decode.jsonl")
    parser.add_argument("--alone", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        WAYS[args.alone[0]](Path(args.alone[1]))
        return
    start = perf_counter()
    folder = made_once(args.pictures, args.side, args.format, args.seed)
    expected = plain_loop(folder)  # warms the file cache
    if not all(np.array_equal(expected, got) for got in (load(folder).inputs, cached(folder))):
        raise SystemExit("The ways do not read the same pixels; give --side in steps of 8 from 32 to 96.")
    del expected
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    began, before, load_before = perf_counter(), busy_seconds(), os.getloadavg()[0]
    for turn in range(args.repeats):
        for way in list(WAYS)[:: 1 if turn % 2 == 0 else -1]:
            seconds[way].append(timed(lambda way=way: WAYS[way](folder))[0])  # type: ignore[misc]
    everyone, own = (now - then for now, then in zip(busy_seconds(), before, strict=True))
    others = (everyone - own) / (perf_counter() - began)
    middle = {way: median(taken) for way, taken in seconds.items()}
    memory = {way: peak_memory(way, folder) for way in WAYS}
    row = {
        "part": "decode",
        "pictures": args.pictures,
        "side": args.side,
        "format": args.format,
        "seed": args.seed,
        "repeats": args.repeats,
        "cores": len(os.sched_getaffinity(0)),
        "cores_busy_with_others": round(others, 2),
        "load_before": load_before,
        "plain_loop_seconds": middle["plain"],
        "load_seconds": middle["load"],
        "times_as_fast": middle["plain"] / middle["load"],
        "cached_seconds": middle["cached"],
        "cached_times_as_fast": middle["plain"] / middle["cached"],
        "peak_memory_mib": memory,
        "budget_mib": pictures.MEMORY_BUDGET / 2**20,
        "seconds": perf_counter() - start,
    }
    record(args.out, row)
    print(
        f"plain {middle['plain']:.2f} s; load {middle['load']:.2f} s, {row['times_as_fast']:.2f} times as fast; "
        f"cached {middle['cached']:.2f} s, {row['cached_times_as_fast']:.2f} times; peak MiB "
        f"{ {way: round(mib) for way, mib in memory.items()} }; {others:.2f} cores busy with others"
    )


if __name__ == "__main__":
    main()
