"""Write docs/results.md from the lines in benchmarks/results: no figure is typed by hand.

python benchmarks/results_page.py
"""

from common import RESULTS
from results_bars import section as bars
from results_beyond import demos, estimation, folders, frozen, weak_networks
from results_paper import accuracy, paper_curve, precision, selection_speed, speed, trials, without_gpu
from results_trust import trust

BLANK = """## Not measured yet, or missed

Not measured: verdicts on CIFAR-10 where dominance fails; 20,000 CIFAR-10 png files in folders on a GPU; RSL on pairwise
.4 and on CIFAR-100; the `paper` preset beyond epoch 28 of stage 1.

Missed: 55,000 images/s; 94.6 % on uniform .5 (93.53 in ten minutes), and the paper's 93.38 in four minutes (92.80;
93.38 with stage 1 at lr .1); RSL_WM on CIFAR-100 uniform .4 (70.82, paper 71.51; last 70.86, paper 70.69), and with
WRN-28-2 in four minutes (90.43); precision on structured .2 (98.36, paper 99.38); estimated rates of human labels below
the confident joint's error (.0212 against .0207; .019 with the preset before); wrong labels found on CIFAR-100 pairwise
.4 (F1 .64, cleanlab .65).
"""


def main() -> None:
    parts = [
        "# Results\n\nMade by `benchmarks/results_page.py` from `benchmarks/results`, where each line has its seed, "
        "commit, hardware and command. Precision at the share 1 - η_i is that of so many of the smallest losses.\n",
        speed(), precision(), accuracy(), paper_curve(), without_gpu(), trials(), estimation(), weak_networks(),
        bars(), trust(), folders(), frozen(), demos(), selection_speed(), BLANK,
    ]  # fmt: skip
    (RESULTS.parents[1] / "docs" / "results.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
