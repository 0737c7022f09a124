"""Noise rates after answers: what was found is counted, what is left is judged by the draws of its own stream."""

import numpy as np
import pytest

from smallloss.noise.answers import NONE, UNSURE, Interval
from smallloss.noise.model import NoiseModel
from smallloss.noise.rates import CONTRADICTED, KEPT, OTHERS, rates_from


def test_by_hand() -> None:
    """100 of one label, 80 kept: of 20 of these 1 is wrong, of 10 of the 20 others 6. A Beta by hand."""
    stream = np.where(np.arange(100) < 80, KEPT, OTHERS)
    answers = {k: NONE if k < 1 else 0 for k in range(20)} | {80 + k: NONE if k < 6 else 0 for k in range(10)}
    found = rates_from(np.zeros(100, int), answers, list(answers), stream, np.array([0.15]))
    assert found.overall.value == pytest.approx((7 + 60 * 1.5 / 21 + 10 * 6.5 / 11) / 100)
    assert found.overall.low < 0.15 < found.overall.high
    assert found.sampled == 30
    assert not found.notes
    assert 0.07 <= found.noise_rate[0] <= 0.25


def test_without_draws_rates_move_no_farther_than_what_was_found_proves() -> None:
    labels, stream = np.repeat([0, 1], 50), np.full(100, OTHERS)
    answers = dict.fromkeys(range(20), 1) | {50 + k: 1 for k in range(45)}
    found = rates_from(labels, answers, [], stream, np.array([0.1, 0.3]))
    assert found.sampled == 0
    assert found.noise_rate == pytest.approx([0.4, 0.1])  # at least 20 of 50 are wrong, at most 5
    ends = {"low": np.array([0, 0.2]), "high": np.array([0.5, 0.4]), "upper": np.array([0.2, 0.3])}
    known = NoiseModel(noise_rate=np.array([0.1, 0.3]), **ends, overall=Interval(0.2, 0.1, 0.45))
    found = rates_from(labels, dict.fromkeys(range(5), 1), [], stream, known.noise_rate, known)
    assert found.noise_rate == pytest.approx([0.1, 0.3])
    assert np.array([found.low, found.high, found.upper]) == pytest.approx(
        np.array([[0.1, 0.2], [0.5, 0.4], [0.2, 0.3]])
    )
    assert found.overall == pytest.approx((0.2, 0.1, 0.45))


def test_answers_that_contradict_an_estimate_are_believed_in_its_place() -> None:
    rng = np.random.default_rng(0)
    labels, wrong = np.arange(1000) % 2, rng.random(1000) < 0.5
    stream = np.where(np.arange(1000) < 700, KEPT, OTHERS)
    asked = np.concatenate([rng.permutation(700)[:80], 700 + rng.permutation(300)[:40]]).tolist()
    answers = {row: NONE if wrong[row] else int(labels[row]) for row in asked}
    found = rates_from(labels, answers, asked, stream, np.array([0.05, 0.05]))
    assert found.notes == (CONTRADICTED,)
    assert found.noise_rate == pytest.approx([0.5, 0.5], abs=0.12)


def test_what_nobody_could_decide_on_and_what_no_draw_speaks_for_may_be_wrong_or_not() -> None:
    stream = np.where(np.arange(100) < 50, KEPT, -1)
    answers = dict.fromkeys(range(40), 0) | {40: UNSURE}
    found = rates_from(np.zeros(100, int), answers, list(answers), stream, np.array([0.1]))
    assert found.overall.low < 0.05
    assert found.overall.high > 0.5


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.4])
def test_the_interval_of_all_labels_covers(rate: float) -> None:
    rng, n, holds = np.random.default_rng(3), 500, []
    for _ in range(200):
        wrong = rng.random(n) < np.where(np.arange(n) < 350, 0.3 * rate, np.minimum(2.5 * rate, 0.95))
        stream = np.where(np.arange(n) < 350, KEPT, OTHERS)
        asked = np.concatenate([rng.permutation(350)[:40], 350 + rng.permutation(150)[:20]]).tolist()
        answers = {row: NONE if wrong[row] else 0 for row in asked}
        found = rates_from(np.zeros(n, int), answers, asked, stream, np.array([0.2]))
        holds.append(found.overall.low <= wrong.mean() <= found.overall.high)
    assert np.mean(holds) >= 0.86
