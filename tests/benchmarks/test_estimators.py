"""The estimators that ours is compared with, each by hand on cases small enough to count on paper."""

import numpy as np
import pytest

from estimators import anchor, beta_mixture, dual_t, gaussian_mixture, joint_noise_rate

FIVE = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.1, 0.9]])
LABELS = np.array([0, 0, 0, 1, 1])


def test_the_noise_rate_of_a_joint_is_what_lies_off_its_diagonal():
    np.testing.assert_allclose(joint_noise_rate(np.array([[2, 1, 0], [0, 2, 0], [0, 0, 0]]) / 5), [1 / 3, 0, 0])


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
