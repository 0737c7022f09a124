"""Learning rates step by step."""

import math
from dataclasses import replace

import numpy as np
import pytest

from smallloss.engine.recipe import Recipe
from smallloss.engine.schedule import learning_rates, lookahead_memory

PAPER = Recipe(milestones=(0.3, 0.6, 0.8), factor=0.02)
SCHEDULES = ["constant", "multistep", "cosine", "triangular", "trapezoid", "linear"]


def rates(recipe: Recipe, steps: int, **changes) -> np.ndarray:
    """Of all epochs."""
    recipe = replace(recipe, **changes)
    return np.concatenate([learning_rates(recipe, epoch, steps) for epoch in range(recipe.epochs)])


def one(schedule: str, lr: float, steps: int) -> np.ndarray:
    return rates(PAPER, steps, epochs=1, schedule=schedule, lr=lr)


def test_the_rates_of_the_paper_change_at_exactly_the_right_steps():
    """200 epochs of 352 steps; times .02 after 60, 120 and 160 epochs (Appendix C.1, the authors' code)."""
    found = rates(PAPER, 352)
    assert found.shape == (70_400,)
    assert found.dtype == np.float32
    edges = [0, 60 * 352, 120 * 352, 160 * 352, 70_400]
    for start, stop, rate in zip(edges[:-1], edges[1:], [0.1, 0.002, 0.00004, 0.0000008], strict=True):
        np.testing.assert_allclose(found[start:stop], rate, rtol=1e-6)


@pytest.mark.parametrize("epochs, steps", [(200, 351), (40, 176), (10, 7), (5, 1)])
def test_milestones_fall_on_the_ends_of_epochs(epochs, steps):
    changes = (np.flatnonzero(np.diff(rates(PAPER, steps, epochs=epochs))) + 1).tolist()
    assert changes == [math.ceil(share * epochs * steps - 1e-9) for share in (0.3, 0.6, 0.8)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_epoch_has_its_share_of_the_whole(schedule):
    """Ten epochs of 7 steps are one of 70, to the last bit; where epochs differ, each covers its tenth all the same."""
    whole = one(schedule, 0.1, 70)
    assert rates(PAPER, 7, epochs=10, schedule=schedule).tolist() == whole.tolist()
    longer = learning_rates(replace(PAPER, epochs=10, schedule=schedule), 3, 14, done=21)
    np.testing.assert_allclose(longer.reshape(7, 2).mean(1), whole[21:28], rtol=1e-3)


def test_shapes_by_hand():
    t = (np.arange(1000) + 0.5) / 1000
    assert one("constant", 0.002, 5).tolist() == [np.float32(0.002)] * 5
    np.testing.assert_allclose(one("cosine", 2.0, 1000), 1 + np.cos(math.pi * t), atol=1e-6)
    np.testing.assert_allclose(one("triangular", 1.0, 1000), np.where(t < 0.2, t / 0.2, (1 - t) / 0.8), rtol=1e-5)
    level = np.where(t < 0.05, t / 0.05, np.where(t < 0.7, 1, (1 - t) / 0.3))
    np.testing.assert_allclose(one("trapezoid", 1.0, 1000), level, rtol=1e-5)
    np.testing.assert_allclose(one("linear", 1.0, 1000), np.where(t < 0.3, 1, (1 - t) / 0.7), rtol=1e-5)


def test_a_triangle_with_a_floor_by_hand():
    """From .2 to 1 at 20 % of ten steps, then down to .07: in the middles of its steps."""
    found = rates(PAPER, 10, epochs=1, schedule="triangular", lr=1.0, lr_start=0.2, lr_end=0.07)
    by_hand = [0.4, 0.8] + [1 - 0.93 * (k + 0.5) / 8 for k in range(8)]
    np.testing.assert_allclose(found, by_hand, rtol=1e-6)


def test_what_lookahead_remembers_by_hand():
    """Every third of 2 x 4 steps and the last: .95^3 (k / 8)^3; in a longer epoch the steps taken count."""
    recipe = replace(PAPER, epochs=2, lookahead=3)
    found = np.concatenate([lookahead_memory(recipe, epoch, 4, done) for epoch, done in ((0, 0), (1, 4))])
    due = {3: 0.857375 * (3 / 8) ** 3, 6: 0.857375 * (6 / 8) ** 3, 8: 0.857375}
    np.testing.assert_allclose(found, [due.get(k, -1) for k in range(1, 9)], rtol=1e-6)
    assert np.flatnonzero(lookahead_memory(replace(recipe, epochs=3), 1, 4, 5) >= 0).tolist() == [0, 3]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_warm_up_rises_to_the_schedule_and_then_leaves_it_alone(schedule):
    """Also over epochs that differ in length: it counts the steps that were taken."""
    plain, warm = (rates(PAPER, 25, epochs=4, schedule=schedule, warmup_steps=n) for n in (0, 30))
    np.testing.assert_allclose(warm[:30], plain[:30] * np.arange(1, 31) / 30, rtol=1e-6)
    assert warm[30:].tolist() == plain[30:].tolist()
    late = learning_rates(replace(PAPER, epochs=4, schedule=schedule, warmup_steps=30), 1, 25, done=30)
    assert late.tolist() == plain[25:50].tolist()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_rate_is_ever_zero_or_above_the_given_one(schedule):
    found = one(schedule, 0.1, 17)
    assert (found > 0).all()
    assert (found <= np.float32(0.1)).all()
