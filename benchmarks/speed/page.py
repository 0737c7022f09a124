"""The report of 20,000 pictures and of 5,000 texts, a fifth of the labels wrong: written, opened, filtered, sorted.

Opened by Chromium without a window, beside an empty page in the same run (pip install selenium):

    python benchmarks/speed/page.py --repeats 5
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "helpers"), str(ROOT / "tests" / "browser")]

from common import RESULTS, record  # noqa: E402
from conftest import chromium  # noqa: E402
from made import part_of, run_of, write_run  # noqa: E402
from smallloss.data.dataset import Dataset  # noqa: E402
from smallloss.report.page import write_page  # noqa: E402

OUT = RESULTS / "speed_page.jsonl"
CLASSES, WRONG, KNOWS = 10, 0.2, 0.93  # the share of examples that the network sees rightly
FILTER = """
    const field = document.getElementById(arguments[0]), done = arguments[2], start = performance.now();
    field.value = arguments[1];
    field.dispatchEvent(new Event("change"));
    document.body.offsetHeight;  // laid out
    done(performance.now() - start);
"""


def pictures(n: int, truth: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """As rough as photographs: a few colours of each class, smooth, and grain."""
    coarse = rng.integers(0, 200, (CLASSES, 5, 5, 3))[truth] + rng.integers(-60, 60, (n, 5, 5, 3))
    fine = coarse.repeat(7, 1).repeat(7, 2)[:, :32, :32] + rng.integers(0, 56, (n, 32, 32, 3), np.int16)
    return {"inputs": np.clip(fine, 0, 255).astype(np.uint8)}


def texts(n: int, truth: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    words = np.array([f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"])
    own = rng.permutation(len(words)).reshape(CLASSES, -1)[:, :30]
    shown = [" ".join(words[np.r_[rng.integers(0, len(words), 25), rng.choice(own[k], 8)]]) for k in truth]
    return {"inputs": rng.normal(size=(n, 20)).astype(np.float32), "shown": shown, "kind": "text"}


def write(folder: Path, n: int, of: Any, seed: int) -> tuple[Path, float]:
    """The page, and the seconds that it took; the run itself is made by hand."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, CLASSES, n)
    labels = np.where(rng.random(n) < WRONG, (truth + rng.integers(1, CLASSES, n)) % CLASSES, truth)
    data = Dataset(labels=labels, classes=tuple("abcdefghij"), name="made", **of(n, truth, rng))
    seen = np.where(rng.random(n) < KNOWS, truth, rng.integers(0, CLASSES, n))
    score, split = (labels != seen) + 0.3 * rng.random(n), 4 * n // 5
    parts = [
        part_of(data, "train", range(split), score, WRONG),
        part_of(data, "held out", range(split, n), score, WRONG),
    ]
    run = run_of(data, parts, seen, score, probability=0.5 + 0.5 * rng.random(n))
    g = np.full((2, n, CLASSES), 0.05 / CLASSES, np.float32)
    g[:, np.arange(n), seen] += 0.95
    run.noise = replace(run.noise, probabilities=g)
    write_run(folder, run, (np.eye(CLASSES)[truth] + 0.4 * rng.normal(size=(n, CLASSES))).astype(np.float16))
    _ = data.groups  # `clean` knows them by then
    start = perf_counter()
    return write_page(run, folder / "report.html"), perf_counter() - start


def opened(browser: Any, address: str, ready: str) -> float:
    """Milliseconds from the start of the navigation until there is what `ready` selects."""
    browser.get("about:blank")
    browser.get(address)
    wait = """
        const done = arguments[1], look = () => (document.querySelector(arguments[0]) ? done(performance.now())
            : requestAnimationFrame(look));
        look();
    """
    return float(browser.execute_async_script(wait, ready))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--repeats", type=int, default=5)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    maker = chromium.__wrapped__()  # of the tests' own
    browser = next(maker)
    with tempfile.TemporaryDirectory() as place:
        empty = Path(place) / "empty.html"
        empty.write_text("<!doctype html><title>empty</title><p class=card>", encoding="utf-8")
        for name, n, of in (("pictures", 20_000, pictures), ("texts", 5_000, texts)):
            page, seconds = write(Path(place) / name, n, of, given.seed)
            times: dict[str, list[float]] = {"empty": [], "interactive": [], "filter": [], "sort": []}
            for _ in range(given.repeats):
                times["empty"].append(opened(browser, empty.as_uri(), ".card"))
                times["interactive"].append(opened(browser, page.as_uri(), ".card"))
                for what, field, value in (("filter", "filter-reason", "any"), ("sort", "filter-sort", "id")):
                    times[what].append(browser.execute_async_script(FILTER, field, value))
            found = {what: round(median(all_of), 1) for what, all_of in times.items()}
            line = {
                "examples": n, "of": name, "seed": given.seed, "repeats": given.repeats,
                "write_seconds": round(seconds, 2), "bytes": page.stat().st_size, "milliseconds": found,
                "ratio_to_empty": round(found["interactive"] / found["empty"], 1),
            }  # fmt: skip
            record(OUT, line)
            print(line)
    maker.close()


if __name__ == "__main__":
    main()
