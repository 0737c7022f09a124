"""Write docs/results.md from the lines in benchmarks/results: no figure of a table is typed by hand.

python benchmarks/results_page.py
"""

from common import RESULTS
from results_bars import section as bars
from results_paper import accuracy, precision, selection_speed, side_by_side, speed, without_gpu
from results_trust import by_group, on_a_gpu
from results_workbench import section as workbench

INTRO = """# Results

Made by `benchmarks/results_page.py` from `benchmarks/results`, where each line has its seed, commit, hardware and
command. Figures are percentages unless it says otherwise. *Kept* is what a method learns from as right, *flagged* what
it calls likely wrong.
"""

BLANK = """## Not reached, not measured

Not reached, beside what stands above: 94.6 on uniform .5 (93.53 in ten minutes; in four 92.80, the paper 93.38); the
paper's RSL_WM on CIFAR-100, uniform .4, and its precision on structured .2; 55,000 pictures a second.

Not measured: the preset `paper` beyond epoch 28; RSL on pairwise .4 and on CIFAR-100; `rsl_flight` and all methods but
RSL, RSL_WM and cross entropy on a GPU; table 4.
"""


def main() -> None:
    sections = (
        precision,
        accuracy,
        without_gpu,
        side_by_side,
        speed,
        selection_speed,
        by_group,
        on_a_gpu,
        bars,
        workbench,
    )
    text = "\n".join([INTRO, *(section() for section in sections), BLANK])
    (RESULTS.parents[1] / "docs" / "results.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
