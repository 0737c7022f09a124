"""All methods under one protocol on two cores, by `smallloss compare`: digits under three kinds of noise, three seeds.

    python benchmarks/methods.py --work FOLDER

Runs that are done in FOLDER are not run again; their lines go to benchmarks/results/methods.jsonl.
"""

import argparse
from pathlib import Path

from common import RESULTS, record
from smallloss import methods
from smallloss.comparing.compare import compare
from smallloss.comparing.jobs import Results

CELLS = ("uniform:0.5", "pairwise:0.4", "structured:0.4")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--out", type=Path, default=RESULTS / "methods.jsonl")
    asked = options.parse_args()
    names = ",".join(methods.names())
    for noise in CELLS:
        folder = asked.work / noise.replace(":", "-")
        print(compare("digits", folder, methods=names, seeds=3, noise=noise, device="cpu").words, flush=True)
        for row in Results(folder).rows():
            record(asked.out, {"cell": f"digits/{noise.replace(':', '/')}", **row})


if __name__ == "__main__":
    main()
