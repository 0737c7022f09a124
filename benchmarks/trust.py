"""Does what is said of noisy labels hold? Measured on the cells that trust_cells.py made, a line for each figure.

    python benchmarks/trust.py [PART ...] --cells FOLDER [--before FOLDER] [--only TEXT]

The parts:

    estimate    rates, flags and intervals beside the estimate before it, cleanlab, "the prediction is not the label"
    verdict     what is said without answers
    audits      400 simulated audits of what is kept, stopped at the first green or red, at four promises
    interval    of the real sets: does it hold at every look, how many answers does the score save
    teach       how well the label score ranks after answers; rounds of answers that teach and questions anew
    rates       after 60 answers, with 200 suspicious ones and without: does the interval hold the overall rate
    accuracy    by true labels, without answers and after 60, of what is held out
    shipped     cross entropy or RSL, and what that choice costs
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import trust_accuracy
import trust_audits
import trust_estimate
import trust_interval
import trust_rates
import trust_teach
import trust_verdict
from common import RESULTS, record
from trust_tools import Cell, Row, cells

PARTS: dict[str, Callable[[Cell], Iterator[Row]]] = {
    "estimate": trust_estimate.measure,
    "verdict": trust_verdict.measure,
    "audits": trust_audits.measure,
    "interval": trust_interval.measure,
    "teach": trust_teach.measure,
    "rates": trust_rates.measure,
    "accuracy": trust_accuracy.measure,
    "shipped": trust_accuracy.shipped,
}


def rounded(value: Any) -> Any:
    """Six digits behind the point: there are thousands of lines."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 6) if isinstance(value, float) else value


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parts", nargs="*", help="all of them, if none is named")
    options.add_argument("--cells", type=Path, required=True)
    options.add_argument("--before", type=Path, help="cells of the same networks, made by the code before")
    options.add_argument("--only", default="", help="cells whose file's name holds this")
    options.add_argument("--out", type=Path, default=RESULTS / "trust.jsonl")
    asked = options.parse_args()
    for part in asked.parts or PARTS:
        begun = time.perf_counter()
        for cell in cells(asked.cells, asked.before, asked.only):
            for row in PARTS[part](cell):
                record(asked.out, rounded({"part": part} | row))
        print(f"{part}: {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
