"""A small histogram for each class."""

import re

import numpy as np

from smallloss.noise.choose import select
from smallloss.report.sparklines import BINS, HEIGHT, sparklines


def tops(path: str) -> dict[int, float]:
    """The height of each bar that a path draws."""
    found = {}
    for start, bars in re.findall(r"M(\d+) [\d.]+((?:V[\d.]+h1)+)V[\d.]+z", path):
        for k, level in enumerate(re.findall(r"V([\d.]+)h1", bars)):
            found[int(start) + k] = round(HEIGHT - float(level), 1)
    return found


def test_bars_stand_where_the_scores_are_and_cuts_between_them() -> None:
    score = np.append(np.repeat([0.0, 10.0, 16.0], [36, 4, 9]), [32.0])
    selection = select(score, np.zeros(50, int), noise_rate=0.2, beta=0.5)
    (spark,) = sparklines(selection)
    assert spark is not None
    assert (selection.mask.sum(), selection.is_label_issue.sum()) == (35, 10)
    assert tops(spark.kept) == {0: round(HEIGHT * np.sqrt(35 / 36), 1)}
    assert tops(spark.aside) == {0: HEIGHT, 10: HEIGHT / 3}  # 4 of 36, by square root
    assert tops(spark.wrong) == {16: HEIGHT / 2, BINS - 1: HEIGHT / 6}
    assert spark.cuts == (0.0, 16.0)


def test_every_class_has_the_same_scale_and_an_unseen_one_no_plot() -> None:
    labels = np.array(["a"] * 4 + ["b"] * 4 + ["c"])
    score = np.array([0.0, 0, 0, 0, 32, 32, 32, 32, np.nan])
    first, second, third = sparklines(select(score, labels, noise_rate=0.0, beta=0))
    assert first is not None
    assert second is not None
    assert third is None
    assert tops(first.kept) == {0: HEIGHT}
    assert tops(second.kept) == {BINS - 1: HEIGHT}
    assert second.cuts == (32.0,)  # nothing is likely wrong
    assert sparklines(select(np.array([np.nan]), ["a"], noise_rate=0.0)) == [None]


def test_equal_scores_can_be_drawn() -> None:
    (spark,) = sparklines(select(np.ones(5), np.zeros(5, int), noise_rate=0.2))
    assert spark is not None
    assert tops(spark.wrong) == {0: HEIGHT}
