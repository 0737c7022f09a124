"""Write docs/results.md from the lines in benchmarks/results: no figure is typed by hand.

python benchmarks/results_page.py
"""

from common import RESULTS
from results_beyond import demos, estimation, folders, frozen, verdicts, weak_networks
from results_paper import accuracy, precision, selection_speed, speed, trials, without_gpu

BLANK = """## Not measured yet, or missed

Not measured: RSL_WM on CIFAR-100 pairwise .4, and on uniform .5 in four minutes since lr .25; the `paper` preset's
curve; verdicts on CIFAR-10 where dominance fails; 20,000 CIFAR-10 png files in folders on a GPU. The estimates on
CIFAR-100 and the verdicts were measured before weak networks were believed by half, and before only answers on kept
examples spoke for a swap.

Missed: 55,000 images/s; uniform .5 in ten minutes, by a hair (93.42, last 93.49; prototype 93.45); RSL_WM on CIFAR-100
uniform .4 (70.82, paper 71.51; last 70.86, paper 70.69), and with WRN-28-2 in four minutes (90.43); precision on
structured .2 (98.36, paper 99.38); estimated rates of human labels below the confident joint's error (.0212 against
.0207; .019 with the preset before).
"""


def main() -> None:
    parts = [
        "# Results\n\nWritten by `benchmarks/results_page.py` from the files in `benchmarks/results`; each line there "
        "has its seed, commit, hardware, seconds and command.\n",
        speed(), precision(), accuracy(), without_gpu(), trials(), estimation(), weak_networks(), verdicts(),
        folders(), frozen(), demos(), selection_speed(), BLANK,
    ]  # fmt: skip
    (RESULTS.parents[1] / "docs" / "results.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
