"""Counting among the confident, by hand on cases small enough to count on paper."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from smallloss.criterion import transition
from smallloss.criterion.corrupt import corrupt
from smallloss.noise.estimate.belief import matrix_with_rates
from smallloss.noise.estimate.counting import bridge, confident_rows, count, prior
from smallloss.noise.estimate.inputs import top_two


def test_top_two():
    predicted, margin = top_two(np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]]))
    np.testing.assert_array_equal(predicted, [1, 0])
    np.testing.assert_allclose(margin, [0.2, 0])


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
    labels = corrupt(true, T, 0, exact=True)
    np.testing.assert_allclose(confident_rows(count(T[true], labels, 5), np.full(5, 1 / 5)), T, atol=0.005)


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
