"""Questions in blocks and the interval that holds at every look."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smallloss.noise.blocks import GROUPS, answers_needed, anytime, draw_blocks


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.integers(0, 5))
def test_every_row_is_asked_once_one_of_each_stratum_to_a_block(n: int, seed: int) -> None:
    score = np.random.default_rng(seed).random(n)
    blocks = draw_blocks(np.arange(n) * 10, score, seed=(seed, 1))
    asked = [row for rows in blocks.rows for row in rows.tolist()]
    assert sorted(asked) == [10 * k for k in range(n)]
    strata = np.array_split(np.argsort(score), min(GROUPS, n))
    where = {10 * int(k): g for g, members in enumerate(strata) for k in members}
    for rows in blocks.rows:
        assert len({where[row] for row in rows.tolist()}) == len(rows)


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.5])
@pytest.mark.parametrize("tells", [True, False])
def test_the_interval_holds_the_truth_at_all_looks_together(rate: float, tells: bool) -> None:
    """Of 100 audits that look after every block, hardly more than 5 % ever exclude it: no look widens what was said
    before, so that the last one speaks for all."""
    rng, n = np.random.default_rng(int(100 * rate)), 400
    missed = 0
    for audit in range(100):
        right = rng.random(n) >= rate
        score = np.clip(0.9 * right + 0.2 * rng.random(n), 0, 1) if tells else rng.random(n)
        blocks = draw_blocks(np.arange(n), score, seed=(audit,))
        asked = [{int(row): bool(right[row]) for rows in blocks.rows[:k] for row in rows} for k in range(1, 31)]
        looks = [anytime(blocks, said, level=0.95) for said in (asked if audit < 5 else asked[-1:])]
        low, high = np.array([(found.low, found.high) for found in looks]).T
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) <= 0).all()
        missed += bool(low[-1] > right.mean() + 1e-9 or high[-1] < right.mean() - 1e-9)
    assert missed <= 11  # of 100 at 5 %: more than so many with a probability of 1 in 200


def test_all_answered_is_exact_and_what_was_known_is_added_exactly() -> None:
    right = np.arange(20) % 4 > 0
    blocks = draw_blocks(np.arange(20), np.linspace(0, 1, 20), seed=(0,))
    said = {row: bool(right[row]) for row in range(20)}
    assert anytime(blocks, said, level=0.95) == pytest.approx([0.75] * 3)
    assert anytime(blocks, said, level=0.95, right_known=5, known=10) == pytest.approx([20 / 30] * 3)
    unsure = anytime(blocks, said | {3: None}, level=0.95)  # wrong at the low end and right at the high one
    assert (unsure.low, unsure.high) == pytest.approx((0.7, 0.75))


def test_what_it_costs_is_what_it_then_costs() -> None:
    """Said beforehand, and so it comes: after as many right answers it is proved, after a block fewer it is not."""
    blocks = draw_blocks(np.arange(5000), 1 - 0.1 * np.random.default_rng(0).random(5000), seed=(0,))
    needed = answers_needed(blocks, {}, 0.95, level=0.95).if_right
    assert needed is not None
    assert 70 <= needed <= 80  # 72 is what no interval can do without: log(.025) / log(.95)
    asked = [row for rows in blocks.rows for row in rows.tolist()]
    assert anytime(blocks, dict.fromkeys(asked[:needed], True), level=0.95).low >= 0.95
    assert anytime(blocks, dict.fromkeys(asked[: needed - GROUPS], True), level=0.95).low < 0.95


def test_a_score_that_tells_makes_it_narrower() -> None:
    rng, n = np.random.default_rng(1), 2000
    right = rng.random(n) >= 0.3
    widths = []
    for score in (np.where(right, 0.95, 0.05), np.full(n, 0.7)):
        blocks = draw_blocks(np.arange(n), score, seed=(0,))
        said = {int(row): bool(right[row]) for rows in blocks.rows[:30] for row in rows}
        found = anytime(blocks, said, level=0.95)
        widths.append(found.high - found.low)
    assert widths[0] < 0.6 * widths[1]
