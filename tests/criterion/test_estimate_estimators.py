"""Each estimator by hand on cases small enough to count on paper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smallloss.criterion import transition
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.estimate import confident_joint as joint
from smallloss.criterion.estimate.agreement import agreement
from smallloss.criterion.estimate.anchor import anchor, dual_t
from smallloss.criterion.estimate.belief import matrix_with_rates
from smallloss.criterion.estimate.counting import bridge, count, counting, prior
from smallloss.criterion.estimate.inputs import top_two
from smallloss.criterion.estimate.mixture import beta_mixture, gaussian_mixture

FIVE = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.1, 0.9]])
LABELS = np.array([0, 0, 0, 1, 1])


def test_the_confident_joint_by_hand():
    # t_0 = (.9 + .7 + .2) / 3 = .6, t_1 = (.6 + .9) / 2 = .75: example 3 is confident of nothing
    Q = joint.confident_joint(FIVE, LABELS, 2)
    np.testing.assert_allclose(Q, np.array([[2, 1], [0, 2]]) / 5)
    np.testing.assert_allclose(joint.noise_rate(Q), [1 / 3, 0])
    T, p = joint.transition(Q)
    np.testing.assert_allclose(T, [[1, 0], [1 / 3, 2 / 3]])
    np.testing.assert_allclose(p, [0.4, 0.6])


def test_the_confident_joint_takes_the_likeliest_of_several_and_keeps_an_empty_label():
    P = np.array([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7], [0.45, 0.5, 0.05]])
    Q = joint.confident_joint(P, np.array([0, 0, 1]), 3)  # t = (.3, .5, none): rows 0, none, 1
    np.testing.assert_allclose(Q, np.diag([2, 1, 0]) / 3)
    np.testing.assert_allclose(joint.noise_rate(Q), 0)


def test_top_two():
    predicted, margin = top_two(np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]]))
    np.testing.assert_array_equal(predicted, [1, 0])
    np.testing.assert_allclose(margin, [0.2, 0])


@pytest.mark.parametrize("epsilon, c", [(0.0, 3), (0.2, 10), (0.4, 2), (0.9, 10)])
def test_agreement_solves_its_equation(epsilon, c):
    a = (1 - epsilon) ** 2 + epsilon**2 / (c - 1)
    n = 100_000
    labels = np.where(np.arange(n) < round(a * n), 0, 1)
    P = np.eye(c)[np.zeros(n, dtype=int)]
    assert agreement(P, labels, c) == pytest.approx(epsilon, abs=0.01)


def test_agreement_below_chance_is_chance():
    assert agreement(np.eye(4)[[0, 0]], np.array([1, 2]), 4) == 0.75


def test_anchor_points_are_the_rows_at_the_percentile():
    np.testing.assert_allclose(anchor(FIVE, 100), [[0.9, 0.1], [0.1, 0.9]])
    np.testing.assert_allclose(anchor(FIVE, 75), [[0.7, 0.3], [0.2, 0.8]])


def test_dual_t_by_hand():
    # predicted 0: labels 0, 0; predicted 1: labels 0, 1, 1
    spade = np.array([[1, 0], [1 / 3, 2 / 3]])
    np.testing.assert_allclose(dual_t(FIVE, LABELS, 2, 100), np.array([[0.9, 0.1], [0.1, 0.9]]) @ spade)


def test_dual_t_of_a_class_never_predicted():
    T = dual_t(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0, 1]), 2)
    np.testing.assert_allclose(T.sum(axis=1), 1)


def two_bumps(rates, n=4000):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(rates)), n)
    wrong = rng.random(len(labels)) < np.repeat(rates, n)
    return np.where(wrong, 4.0, 1.0) + 0.5 * rng.standard_normal(len(labels)) + 3 * labels, labels


@pytest.mark.parametrize("mixture, rates", [(gaussian_mixture, [0.2, 0.5]), (beta_mixture, [0.4, 0.5])])
def test_mixtures_find_two_bumps_per_label(mixture, rates):
    score, labels = two_bumps(rates)
    np.testing.assert_allclose(mixture(score, labels, 2), rates, atol=0.03)


@pytest.mark.parametrize("mixture", [gaussian_mixture, beta_mixture])
def test_a_small_label_leans_on_the_pool_and_equal_scores_hold_no_bump(mixture):
    score, labels = two_bumps([0.5])
    labels = np.append(labels, [1, 1, 1])
    assert mixture(np.append(score, [1, 1, 1]), labels, 2)[1] == pytest.approx(0.5, abs=0.05)
    np.testing.assert_array_equal(mixture(np.ones(50), np.zeros(50, dtype=int), 2), 0)


def test_counts_are_of_the_surest_and_ties_stand_together():
    margin = np.arange(400.0)[::-1]
    labels = np.zeros(400, dtype=int)
    labels[40:] = 1  # the surest tenth agrees, nothing else does
    table = count(np.eye(2)[np.zeros(400, dtype=int)], labels, 2, margin)
    np.testing.assert_array_equal(table.labels[0], [[40, 0], [0, 0]])
    np.testing.assert_array_equal(table.labels[2], [[40, 40], [0, 0]])
    tied = count(np.eye(2)[np.zeros(400, dtype=int)], labels, 2)
    np.testing.assert_array_equal(tied.labels[0], [[40, 360], [0, 0]])


def test_at_least_thirty_are_taken_where_there_are_so_many():
    P = np.eye(3)[np.repeat([0, 1], [50, 5])]
    table = count(P, np.zeros(55, dtype=int), 3, np.arange(55.0))
    np.testing.assert_array_equal(table.labels[0].sum(axis=1), [30, 5, 0])


def test_counting_recovers_the_matrix_of_perfect_predictions():
    T = transition.pairwise(0.4, 5)
    true = np.repeat(np.arange(5), 4000)
    np.testing.assert_allclose(counting(T[true], corrupt(true, T, 0, exact=True), 5), T, atol=0.005)


def test_the_prior_is_exact_with_many_examples_and_the_label_counts_with_few():
    T, p = transition.structured(0.4), np.linspace(1, 3, 10) / 20
    np.testing.assert_allclose(prior(T, p @ T, 10**9), p, atol=1e-5)
    np.testing.assert_allclose(prior(T, p @ T, 1), p @ T, atol=0.01)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_bridge_is_the_papers_noise_rate_and_can_be_turned_round(c, seed):
    rng = np.random.default_rng(seed)
    T, p = rng.dirichlet(np.ones(c), c), rng.dirichlet(np.ones(c))
    np.testing.assert_allclose(bridge(T, p), transition.noise_rate(T, p), atol=1e-9)
    np.testing.assert_allclose(bridge(T[None], p[None])[0], bridge(T, p))
    rate, q = rng.random(c), rng.dirichlet(np.ones(c))
    moved, prior_ = matrix_with_rates(T, p, rate, q)
    np.testing.assert_allclose(bridge(moved, prior_), rate, atol=1e-9)
    np.testing.assert_allclose(prior_ @ moved, q, atol=1e-9)
