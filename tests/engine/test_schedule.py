"""Learning rates step by step."""

import math

import numpy as np
import pytest

from smallloss.engine.schedule import learning_rates
from smallloss.errors import InputError

PAPER = {"milestones": (0.3, 0.6, 0.8), "factor": 0.02}


def test_the_rates_of_the_paper_change_at_exactly_the_right_steps():
    """200 epochs of 352 steps; times .02 after 60, 120 and 160 epochs (Appendix C.1, the authors' code)."""
    rates = learning_rates("multistep", 0.1, 200 * 352, **PAPER)
    assert rates.shape == (70_400,)
    assert rates.dtype == np.float32
    edges = [0, 60 * 352, 120 * 352, 160 * 352, 70_400]
    for start, stop, rate in zip(edges[:-1], edges[1:], [0.1, 0.002, 0.00004, 0.0000008], strict=True):
        np.testing.assert_allclose(rates[start:stop], rate, rtol=1e-6)


@pytest.mark.parametrize("epochs, steps", [(200, 351), (40, 176), (10, 7), (5, 1)])
def test_milestones_fall_on_the_ends_of_epochs(epochs, steps):
    rates = learning_rates("multistep", 1.0, epochs * steps, **PAPER)
    changes = (np.flatnonzero(np.diff(rates)) + 1).tolist()
    assert changes == [math.ceil(share * epochs * steps - 1e-9) for share in (0.3, 0.6, 0.8)]


def test_constant():
    assert learning_rates("constant", 0.002, 5).tolist() == [np.float32(0.002)] * 5


def test_cosine():
    rates = learning_rates("cosine", 2.0, 1000)
    assert rates[0] == pytest.approx(2.0, abs=1e-5)
    assert rates[-1] == pytest.approx(0.0, abs=1e-5)
    assert rates[249] + rates[750] == pytest.approx(2.0, abs=1e-6)
    np.testing.assert_allclose(rates[:3], [1 + math.cos(math.pi * (t + 0.5) / 1000) for t in range(3)], rtol=1e-6)
    assert (np.diff(rates) < 0).all()


def test_triangular():
    rates = learning_rates("triangular", 1.0, 1000)
    assert rates[0] == pytest.approx(0.0025)
    assert int(rates.argmax()) in (199, 200)
    assert rates.max() == pytest.approx(1.0, abs=0.003)
    assert rates[-1] == pytest.approx(0.5 / 800)
    assert (np.diff(rates[:200]) > 0).all()
    assert (np.diff(rates[200:]) < 0).all()


def test_trapezoid():
    """Up over the first 5 %, level to 70 %, then straight down to 0."""
    rates = learning_rates("trapezoid", 1.0, 1000)
    assert rates[0] == pytest.approx(0.01)
    assert rates[49] == pytest.approx(0.99)
    assert (rates[50:700] == 1).all()
    np.testing.assert_allclose(rates[700:], (1000 - np.arange(700, 1000) - 0.5) / 300, rtol=1e-5)


@pytest.mark.parametrize("schedule", ["constant", "multistep", "cosine", "triangular", "trapezoid"])
def test_warm_up_rises_to_the_schedule_and_then_leaves_it_alone(schedule):
    plain = learning_rates(schedule, 0.5, 100, **PAPER)
    warm = learning_rates(schedule, 0.5, 100, warmup=10, **PAPER)
    np.testing.assert_allclose(warm[:10], plain[:10] * np.arange(1, 11) / 10, rtol=1e-6)
    assert warm[10:].tolist() == plain[10:].tolist()


@pytest.mark.parametrize("schedule", ["constant", "multistep", "cosine", "triangular", "trapezoid"])
def test_no_rate_is_ever_zero_or_above_the_given_one(schedule):
    rates = learning_rates(schedule, 0.1, 17, **PAPER)
    assert (rates > 0).all()
    assert (rates <= np.float32(0.1)).all()


def test_an_unknown_schedule_is_named():
    with pytest.raises(InputError, match="unknown schedule 'steep'"):
        learning_rates("steep", 0.1, 10)
