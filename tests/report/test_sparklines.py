"""A small histogram for each class."""

import re

import numpy as np

from made import part_of, run_of
from smallloss.data.dataset import Dataset
from smallloss.report.svg import SPARK_BINS as BINS
from smallloss.report.svg import SPARK_HEIGHT as HEIGHT
from smallloss.report.svg import Sparkline, sparklines


def tops(path: str) -> dict[int, float]:
    """The height of each bar that a path draws."""
    found = {}
    for start, bars in re.findall(r"M(\d+) [\d.]+((?:V[\d.]+h1)+)V[\d.]+z", path):
        for k, level in enumerate(re.findall(r"V([\d.]+)h1", bars)):
            found[int(start) + k] = round(HEIGHT - float(level), 1)
    return found


def drawn(score: np.ndarray, labels: np.ndarray, rate: float, **how: float) -> list[Sparkline | None]:
    data = Dataset(np.zeros((len(labels), 1), np.float32), labels, tuple(map(str, range(labels.max() + 1))))
    rows = np.arange(len(labels))
    return sparklines(run_of(data, [part_of(data, "train", rows, score, rate, **how)], labels, score).examples, rows)


def test_bars_stand_where_the_scores_are_and_cuts_between_them() -> None:
    """Of 50 35 are kept and 10 likely wrong."""
    score = np.append(np.repeat([0.0, 10.0, 16.0], [36, 4, 9]), [32.0])
    (spark,) = drawn(score, np.zeros(50, int), 0.2, beta=0.5)
    assert spark is not None
    assert tops(spark["kept"]) == {0: round(HEIGHT * np.sqrt(35 / 36), 1)}
    assert tops(spark["aside"]) == {0: HEIGHT, 10: HEIGHT / 3}  # 4 of 36, by square root
    assert tops(spark["wrong"]) == {16: HEIGHT / 2, BINS - 1: HEIGHT / 6}
    assert spark["cuts"] == (0.0, 16.0)


def test_every_class_has_the_same_scale_and_an_unseen_one_no_plot() -> None:
    score = np.array([0.0, 0, 0, 0, 32, 32, 32, 32, np.nan])
    first, second, third = drawn(score, np.repeat([0, 1, 2], [4, 4, 1]), 0.0, beta=0)
    assert first is not None
    assert second is not None
    assert third is None
    assert tops(first["kept"]) == {0: HEIGHT}
    assert tops(second["kept"]) == {BINS - 1: HEIGHT}
    assert second["cuts"] == (32.0,)  # nothing is likely wrong
    assert drawn(np.array([np.nan]), np.zeros(1, int), 0.0) == [None]


def test_equal_scores_can_be_drawn() -> None:
    (spark,) = drawn(np.ones(5), np.zeros(5, int), 0.2)
    assert spark is not None
    assert tops(spark["wrong"]) == {0: HEIGHT}
