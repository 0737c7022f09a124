"""What the answers of an audit prove: intervals of the kept precision and of the noise rate."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, hypergeom

from smallloss.noise import intervals as proof
from smallloss.noise.answers import NONE, UNSURE, Answers
from smallloss.noise.intervals import clopper_pearson, stratified


def test_clopper_pearson() -> None:
    low, high = clopper_pearson(np.array([0.0, 3.0, 10.0]), np.array([10.0, 10.0, 10.0]), 0.95)
    np.testing.assert_allclose(low, [0, 0.0667, 0.6915], atol=1e-4)
    np.testing.assert_allclose(high, [0.3085, 0.6525, 1], atol=1e-4)


def test_clopper_pearson_covers_at_least_its_level() -> None:
    rates, k = np.linspace(0.01, 0.99, 50), np.arange(21.0)
    low, high = clopper_pearson(k, np.full(21, 20.0), 0.95)
    for rate in rates:
        assert binom.pmf(k, 20, rate)[(low <= rate) & (rate <= high)].sum() >= 0.95


@pytest.mark.parametrize("wrong", [0, 1, 7, 40])
def test_the_precision_of_the_kept_is_clopper_pearson(wrong: int) -> None:
    kept = np.arange(60) < 40
    answers = Answers(np.arange(60), kept, np.zeros(60, int), (np.arange(60) < wrong).astype(int))
    known = binomtest(40 - wrong, 40).proportion_ci(0.95, method="exact")
    assert proof.kept_precision(answers) == pytest.approx((1 - wrong / 40, known.low, known.high), abs=1e-9)


def test_unsure_answers_are_no_evidence() -> None:
    true = np.array([0, 0, 1, UNSURE, UNSURE])
    answers = Answers(np.arange(5), np.ones(5, bool), np.zeros(5, int), true)
    known = binomtest(2, 3).proportion_ci(0.95, method="exact")
    assert proof.kept_precision(answers) == pytest.approx((2 / 3, known.low, known.high))


def test_one_stratum_alone_is_clopper_pearson_and_no_answers_say_nothing() -> None:
    known = binomtest(3, 40).proportion_ci(0.95, method="exact")
    assert stratified([3, 0], [40, 0], [500, 0]) == pytest.approx((3 / 40, known.low, known.high))
    assert stratified([0, 3], [0, 40], [0, 500]) == pytest.approx((3 / 40, known.low, known.high))
    assert stratified([0, 0], [0, 0], [5, 5]) == pytest.approx((0.5, 0, 1))
    blind = stratified([2, 0], [40, 0], [600, 400])  # nobody looked at the dropped: all of them may be wrong
    assert blind.low < 0.05
    assert blind.high > 0.4


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_stratified_interval_holds_its_value_and_mirrors(data: st.DataObject) -> None:
    m = [data.draw(st.integers(1, 25)) for _ in range(2)]
    k = [data.draw(st.integers(0, most)) for most in m]
    size = [data.draw(st.integers(least, least + 50) | st.just(1000)) for least in m]
    value, low, high = stratified(k, m, size)
    assert 0 <= low <= value + 1e-12
    assert value <= high + 1e-12 <= 1 + 1e-12
    assert low >= sum(k) / sum(size)  # those are wrong, whatever the others are
    assert high <= (sum(size) - sum(m) + sum(k)) / sum(size)
    assert (high - low < 1e-9) == (m == size)
    mirror = stratified(np.subtract(m, k), m, size)
    assert mirror == pytest.approx((1 - value, 1 - high, 1 - low), abs=1e-5)
    wider = stratified(k, m, size, 0.99)
    assert wider.low <= low + 1e-5
    assert wider.high >= high - 1e-5


@pytest.mark.parametrize("kept_share", [0.65, 0.4])
def test_the_stratified_interval_covers_at_least_its_level(kept_share: float) -> None:
    """The coverage itself, not a simulation of it: every outcome of a small audit with its probability."""
    m, size = (12, 6), (1000 * kept_share, 1000 * (1 - kept_share))
    ends = np.array([[stratified([i, j], m, size)[1:] for j in range(m[1] + 1)] for i in range(m[0] + 1)])
    for p in (0.0, 0.01, 0.05, 0.1, 0.3, 0.5):
        for q in (0.05, 0.3, 0.5, 0.8, 0.95, 1.0):
            chance = np.outer(binom.pmf(np.arange(13), 12, p), binom.pmf(np.arange(7), 6, q))
            truth = kept_share * p + (1 - kept_share) * q
            covers = (ends[..., 0] <= truth + 1e-5) & (truth <= ends[..., 1] + 1e-5)
            assert (chance * covers).sum() >= 0.95


def test_a_stratum_answered_in_full_is_counted() -> None:
    """All 281 dropped and 40 of the 638 kept were answered: 156 and 1 wrong, so 157 of 919 are wrong at least."""
    known = binomtest(1, 40).proportion_ci(0.95, method="exact")
    found = stratified([1, 156], [40, 281], [638, 281])
    assert found == pytest.approx(((638 / 40 + 156) / 919, 157 / 919, (638 * known.high + 156) / 919))
    assert stratified([156, 1], [281, 40], [281, 638]) == pytest.approx(found)
    assert stratified([3, 7], [10, 30], [10, 30]) == (0.25, 0.25, 0.25)
    nearly = stratified([0, 9], [3, 9], [4, 10])  # two are open: 9, 10 or 11 of 14 are wrong
    assert nearly.low >= 9 / 14
    assert nearly.high <= 11 / 14


@pytest.mark.parametrize("size", [(20, 10), (14, 6)])
def test_the_interval_covers_in_a_small_dataset(size: tuple[int, int]) -> None:
    """Every outcome of 12 and 6 answers about some of few examples, with its probability (hypergeometric)."""
    ends = np.array([[stratified([i, j], (12, 6), size)[1:] for j in range(7)] for i in range(13)])
    for kept in (0, 1, 5, 12):
        for dropped in (1, 3, 6):
            chances = [
                hypergeom.pmf(np.arange(m + 1), n, k, m) for n, k, m in zip(size, (kept, dropped), (12, 6), strict=True)
            ]
            truth = (kept + dropped) / sum(size)
            covers = (ends[..., 0] <= truth + 1e-5) & (truth <= ends[..., 1] + 1e-5)
            assert (np.outer(*chances) * covers).sum() >= 0.95


@pytest.mark.parametrize("p, q", [(0.03, 0.8), (0.1, 0.5)])
def test_the_default_audit_covers_in_simulation(p: float, q: float) -> None:
    rng = np.random.default_rng(0)
    outcomes = np.column_stack([rng.binomial(40, p, 1000), rng.binomial(20, q, 1000)])
    distinct, times = np.unique(outcomes, axis=0, return_counts=True)
    ends = [stratified(one, (40, 20), (6500, 3500)) for one in distinct]
    truth = 0.65 * p + 0.35 * q
    assert times @ [end.low <= truth <= end.high for end in ends] / 1000 >= 0.95


def test_more_answers_halve_the_interval(selection_of: Any, answers_of: Any) -> None:
    selection = selection_of()
    answers = answers_of(selection, 0.95, 0.3)
    more = proof.more_to_halve(answers, selection)
    assert 100 <= more <= 260  # four times as many, give or take the skew
    now = proof.noise_rate(answers, selection)
    factor = 1 + more / 60
    wrong, asked = answers.counts()
    then = stratified(np.round(wrong * factor), np.round(asked * factor), proof.sizes(selection))
    assert then.high - then.low <= (now.high - now.low) / 2 + 0.005


def test_no_more_answers_are_asked_for_than_examples_are_left(selection_of: Any, answers_of: Any) -> None:
    selection = selection_of()
    kept, dropped = proof.sizes(selection)
    some = answers_of(selection, 0.975, 0.6, kept=40, dropped=dropped)  # all of the dropped
    assert 40 < proof.more_to_halve(some, selection) < kept - 40
    most = answers_of(selection, 0.9, 0.6, kept=kept - 7, dropped=dropped - 3)
    assert 0 < proof.more_to_halve(most, selection) <= 10
    everything = answers_of(selection, 0.9, 0.6, kept=kept, dropped=dropped)
    assert proof.more_to_halve(everything, selection) == 0
    unsure = replace(everything, true=np.where(np.arange(600) < 9, UNSURE, everything.true))
    assert proof.more_to_halve(unsure, selection) == 0


def test_the_pair_with_the_most_uncertainty(selection_of: Any) -> None:
    selection = selection_of()
    label = np.array([0, 0, 1, 2, 2, 2])
    true = np.array([1, 1, 0, 2, 0, NONE])
    answers = Answers(np.arange(6), np.ones(6, bool), label, true)
    assert proof.uncertain_pair(answers, selection) == (0, 1)
    agreed = Answers(np.arange(6), np.ones(6, bool), label, label)
    assert proof.uncertain_pair(agreed, selection) is None
    joint = np.array([[0.3, 0, 0], [0, 0.3, 0.05], [0.06, 0, 0.3]])
    assert proof.uncertain_pair(agreed, selection, joint) == (0, 2)
    kept, dropped = np.flatnonzero(selection.mask)[:100], np.flatnonzero(~selection.mask)  # all of the dropped:
    index, label = np.r_[kept, dropped], np.r_[np.full(100, 2), np.zeros(len(dropped), int)]
    true = np.r_[1, np.full(99, 2), np.arange(len(dropped)) % 2]  # nothing is uncertain about their mix-ups
    assert proof.uncertain_pair(Answers(index, selection.mask[index], label, true), selection) == (1, 2)
