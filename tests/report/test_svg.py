"""Plots: round numbers on the axes, bars and curves where the data are, and nothing of the user's in them."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from made import part_of, run_of
from smallloss.data.dataset import Dataset
from smallloss.record.run import Run
from smallloss.report import svg as plots
from smallloss.report.svg import SPARK_BINS as BINS
from smallloss.report.svg import SPARK_HEIGHT as HEIGHT
from smallloss.report.svg import Axes, Sparkline, learning_curves, loss_curves, panels, ticks


def numbers(svg: str) -> list[str]:
    return re.findall(r">([−\d.,]+)</text>", svg)


@pytest.mark.parametrize(
    "low, high, expected",
    [
        (0, 116, [0, 25, 50, 75, 100, 125]),
        (0.778, 0.957, [0.75, 0.8, 0.85, 0.9, 0.95, 1.0]),
        (5, 5, [5, 6]),
        (-0.3, 0.3, [-0.4, -0.2, 0, 0.2, 0.4]),
    ],
)
def test_the_numbers_of_an_axis_are_round_and_hold_the_data(low, high, expected):
    np.testing.assert_allclose(ticks(low, high), expected, atol=1e-12)


@pytest.mark.parametrize("span", [1e-3, 0.3, 7, 12345.6, 1e12])
@pytest.mark.parametrize("low", [-3.7, 0.0, 1e6])
def test_few_numbers_hold_any_range(span, low):
    found = ticks(low, low + span)
    assert found[0] <= low + 1e-6 * span
    assert found[-1] >= low + span * (1 - 1e-6)
    assert 2 <= len(found) <= 8


def test_epochs_are_whole_and_a_hole_is_a_hole():
    svg = loss_curves(np.array([1.0, np.nan, 3.0, 2.0]), np.array([4.0, 4.0, 4.0, 4.0]), 0)
    ElementTree.fromstring(svg)
    assert numbers(svg) == ["1", "2", "3", "4", "0", "1", "2", "3", "4"]
    assert svg.count("<circle") == 1  # the first epoch has no neighbour


def test_a_single_epoch_is_a_dot_and_many_stages_have_looks_of_their_own():
    svg = learning_curves([([1], [0.5])])
    assert "<circle" in svg
    svg = learning_curves([([1, 2], [0.1, 0.2])] * 5)
    assert len(set(re.findall(r'stroke="var\(--curve-\d\)"[^/]*', svg))) == 4


def test_a_curve_passes_through_its_points():
    axes = Axes(np.array([0.0, 1]), np.array([0.0, 10]), ("x", "y"), (0, 1))
    (path,) = re.findall(r'd="(M[^"]+)"', axes.line(([0, 1], [0, 10]), "red"))
    (x0, y0), (x1, y1) = (map(float, point.split()) for point in path[1:].split("L"))
    assert (x0, y1) == (float(axes.x(0)), float(axes.y(10)))
    assert x0 < x1
    assert y0 > y1  # up is up


def test_panels_share_their_scale_and_the_first_lies_behind_all():
    first, second = panels([[([1, 2], [50, 60])], [([1, 2], [70, 95])]])
    assert numbers(first) == numbers(second)
    assert second.count('stroke="var(--quiet)"') == 1
    assert panels([[], []]) == []


# --- a small histogram for each class ---


def tops(path: str) -> dict[int, float]:
    """The height of each bar that a path draws."""
    found = {}
    for start, bars in re.findall(r"M(\d+) [\d.]+((?:V[\d.]+h1)+)V[\d.]+z", path):
        for k, level in enumerate(re.findall(r"V([\d.]+)h1", bars)):
            found[int(start) + k] = round(HEIGHT - float(level), 1)
    return found


def ranked(score: np.ndarray, labels: np.ndarray, rate: float, **how: float) -> Run:
    data = Dataset(np.zeros((len(labels), 1), np.float32), labels, tuple(map(str, range(labels.max() + 1))))
    return run_of(data, [part_of(data, "train", np.arange(len(labels)), score, rate, **how)], labels, score)


def drawn(score: np.ndarray, labels: np.ndarray, rate: float, **how: float) -> list[Sparkline | None]:
    return plots.sparklines(ranked(score, labels, rate, **how).examples, np.arange(len(labels)))


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
    run = ranked(np.ones(5), np.zeros(5, int), 0.2)
    assert plots.score_histogram(run.examples, np.arange(5)).startswith("<svg")
    (spark,) = drawn(np.ones(5), np.zeros(5, int), 0.2)
    assert spark is not None
    assert tops(spark["wrong"]) == {0: HEIGHT}
