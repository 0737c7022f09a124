"""Accuracy by true labels: by hand, as an interval that holds, and questions that are a fair sample."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from smallloss.noise.accuracy import LEVEL, TrueAccuracy, held_out_questions, with_answers, without_answers
from smallloss.noise.answers import NONE, UNSURE


def world(n: int, c: int, right: float, T: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True class, label under class-only noise, prediction that knows nothing of the noise."""
    rng = np.random.default_rng(seed)
    true = rng.integers(c, size=n)
    label = (T[true].cumsum(1) > rng.random((n, 1))).argmax(1)
    return true, label, np.where(rng.random(n) < right, true, rng.integers(c, size=n))


def test_the_trace_by_hand() -> None:
    """Two classes, 4 + 4 examples, every fourth label wrong: T = [[.75, .25], [.25, .75]], T^-t = [[1.5, -.5], ...].

    The joint of label and prediction is [[3, 1], [2, 2]] / 8, so the trace of T^-t N is
    1.5 (3 + 2) / 8 - .5 (2 + 1) / 8 = .75.
    """
    label, predicted = np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 0, 1, 0, 0, 1, 1])
    assert without_answers(label, predicted, np.array([0.25, 0.25])).value == pytest.approx(0.75)
    joint = np.array([[0.375, 0.125], [0.125, 0.375]])
    assert without_answers(label, predicted, np.array([0.25, 0.25]), joint).value == pytest.approx(0.75)


def test_without_noise_it_is_the_accuracy_by_given_labels() -> None:
    label, predicted = np.arange(1000) % 4, np.arange(1000) % 5 % 4
    found = without_answers(label, predicted, np.zeros(4))
    assert found.value == pytest.approx((label == predicted).mean())
    assert found.low == pytest.approx(found.value, abs=1e-3)
    assert re.match("about .* has not learnt the mistakes$", found.words)


@pytest.mark.parametrize("noise", ["uniform", "pairwise"])
def test_an_estimate_undoes_noise_that_depends_on_the_class_alone(noise: str) -> None:
    c = 5
    T = 0.6 * np.eye(c) + 0.08 if noise == "uniform" else 0.6 * np.eye(c) + 0.4 * np.roll(np.eye(c), 1, axis=1)
    true, label, predicted = world(20_000, c, 0.9, T, 0)
    rate = np.array([(true != label)[label == k].mean() for k in range(c)])
    found = without_answers(label, predicted, rate, T / c)
    assert found.value == pytest.approx((predicted == true).mean(), abs=0.01)
    assert (label == predicted).mean() < 0.7
    below = without_answers(label, predicted, rate, T / c, low=0.2)
    assert (below.low < found.low, below.high) == (True, found.high)
    above = without_answers(label, predicted, rate, T / c, upper=rate + 0.05)
    assert (above.high >= found.high, above.low) == (True, found.low)


@pytest.mark.parametrize(("flipped", "value"), [([*range(5, 14), 30], 0.96), ([*range(25, 35)], 1 - 0.4 + 0.1 / 0.75)])
def test_three_ways_and_the_median_of_them_by_hand(flipped: list[int], value: float) -> None:
    """50 + 50 examples; the same places of both are contradicted, so a = .8, T^-t N has the trace (.8 - .25) / .5.

    The halves contradict 30 labels each and differ on 40 of 100; from the prediction they differ on 14 and 34, or on
    50 each: 1 - (.14 + .34 - .4) / 2 = .96, or .7.
    """
    label = np.repeat([0, 1], 50)

    def contradicting(places: list[int]) -> np.ndarray:
        return label ^ np.isin(np.arange(100) % 50, places)

    halves = np.stack([contradicting([*range(15)]), contradicting([*range(10, 25)])])
    found = without_answers(label, contradicting(flipped), np.array([0.25, 0.25]), halves=halves)
    assert found.value == pytest.approx(value)


def test_bounds_without_answers_hold() -> None:
    held = 0
    for seed in range(200):
        true, label, predicted = world(300, 4, 0.85, 0.7 * np.eye(4) + 0.075, seed)
        found = without_answers(label, predicted, np.full(4, 0.225))
        held += found.low - 1e-9 <= (predicted == true).mean() <= found.high + 1e-9
    assert held >= 170  # 180 are expected


@given(st.integers(0, 2**32), st.integers(2, 6), st.floats(0, 0.95))
def test_bounds_are_no_farther_than_there_are_wrong_labels(seed: int, c: int, rate: float) -> None:
    """Whatever the predictions are, and where a label has none."""
    rng = np.random.default_rng(seed)
    label, predicted = rng.integers(c, size=40), rng.integers(c, size=40)
    a = (label == predicted).mean()
    found = without_answers(label, predicted, np.full(c, rate), upper=np.full(c, rate))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert max(a - found.low, found.high - a) <= rate + 0.25


# --- with answers --------------------------------------------------------------------------------------------


def test_all_answered_is_counted() -> None:
    true, label, predicted = world(60, 3, 0.7, 0.8 * np.eye(3) + 0.2 / 3, 1)
    found = with_answers(label, predicted, dict(enumerate(true.tolist())))
    share = (true == predicted).mean()
    assert (found.value, found.low, found.high) == pytest.approx((share, share, share))
    assert found.answered == 60
    rest, known = ({row: int(true[row]) for row in rows} for rows in (range(25, 60), range(25)))
    assert with_answers(label, predicted, rest, known) == found  # what was answered otherwise, one by one


def test_in_words() -> None:
    words = TrueAccuracy(0.886, 0.84, 0.931, 60).words
    assert words == "89 % by true labels (84 to 93 %), by 60 answers on held-out examples"
    assert TrueAccuracy(0.886, 0.84, 0.931, 1).words.endswith("by 1 answer on held-out examples")


def test_two_strata_by_hand() -> None:
    """80 agree, of 20 asked 1 label is wrong; 20 contradict, of 10 asked 6 predictions are right: A = .76 + .12."""
    label = np.zeros(100, np.int64)
    predicted = np.r_[np.zeros(80, np.int64), np.ones(20, np.int64)]
    answers = dict.fromkeys(range(1, 20), 0) | {0: 1} | {80 + k: int(k < 6) for k in range(10)}
    found = with_answers(label, predicted, answers)
    assert found.value == pytest.approx(0.88)
    assert found.low < 0.88 < found.high
    # Alone, the first stratum's end is that of Clopper and Pearson among so few.
    alone = with_answers(label[:80], predicted[:80], {row: true for row, true in answers.items() if row < 80})
    wrong = max(K for K in range(81) if hypergeom.cdf(1, 80, K, 20) >= (1 - LEVEL) / 2 - 0.001)
    assert alone.low == pytest.approx(1 - wrong / 80, abs=1 / 80)


def test_answers_that_decide_nothing_widen_the_bounds() -> None:
    label = np.zeros(100, np.int64)
    predicted = np.r_[np.zeros(80, np.int64), np.ones(20, np.int64)]
    answers = dict.fromkeys(range(20), 0) | {80 + k: 1 for k in range(10)}
    sure = with_answers(label, predicted, answers)
    unsure = with_answers(label, predicted, answers | {0: UNSURE, 80: UNSURE})
    assert (unsure.low < sure.low, unsure.value < sure.value, unsure.high) == (True, True, sure.high)
    nobody = with_answers(label, predicted, {})
    assert (nobody.low, nobody.high, nobody.answered) == (0, 1, 0)
    none = with_answers(label, predicted, answers | {0: NONE})
    assert none.value < sure.value


def test_bounds_with_answers_hold_and_are_narrow() -> None:
    """Sixty answers on 400 held-out examples, a quarter of the labels wrong."""
    held, widths = 0, []
    for seed in range(60):
        true, label, predicted = world(400, 4, 0.88, 2 / 3 * np.eye(4) + 1 / 12, seed)
        rows = held_out_questions(label == predicted, 60, [seed])
        found = with_answers(label, predicted, {int(row): int(true[row]) for row in rows})
        held += found.low - 1e-9 <= (predicted == true).mean() <= found.high + 1e-9
        widths.append(found.high - found.low)
    assert held >= 56
    assert np.mean(widths) < 0.15


def test_questions_are_a_function_of_the_seed_and_fewer_are_the_first_of_more() -> None:
    agrees = np.arange(500) % 5 > 0
    asked = held_out_questions(agrees, 90, [3, 1])
    assert len(set(asked.tolist())) == 90
    assert np.array_equal(asked[:30], held_out_questions(agrees, 30, [3, 1]))
    assert not np.array_equal(asked, held_out_questions(agrees, 90, [3, 2]))
    assert agrees[asked].sum() == 60  # as 20 : 10, the square roots of 400 and 100
    assert abs(agrees[asked[:30]].sum() - 20) <= 2
    later = held_out_questions(agrees, 500, [3, 1], answered=asked.tolist())
    assert sorted([*later, *asked]) == list(range(500))


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 2**32))
def test_any_strata_can_be_asked_about(agreeing: int, contradicting: int, seed: int) -> None:
    agrees = np.arange(agreeing + contradicting) < agreeing
    assert len(held_out_questions(agrees, 60, [seed])) == min(60, len(agrees))
