"""Confident learning's joint and cleanlab's default rule: by hand, and held to the package where it is installed."""

import numpy as np
import pytest
from scipy.special import softmax

from smallloss.noise.confident import confident_joint, label_issues

FIVE = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.1, 0.9]])
LABELS = np.array([0, 0, 0, 1, 1])


def test_the_confident_joint_by_hand():
    # t_0 = (.9 + .7 + .2) / 3 = .6, t_1 = (.6 + .9) / 2 = .75: example 3 is confident of nothing
    np.testing.assert_allclose(confident_joint(FIVE, LABELS, 2), np.array([[2, 1], [0, 2]]) / 5)


def test_the_confident_joint_takes_the_likeliest_of_several_and_keeps_an_empty_label():
    P = np.array([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7], [0.45, 0.5, 0.05]])
    # t = (.3, .5, none): rows 0, none, 1
    np.testing.assert_allclose(confident_joint(P, np.array([0, 0, 1]), 3), np.diag([2, 1, 0]) / 3)


def test_label_issues_are_as_many_as_the_joint_says_and_never_as_predicted():
    """Two of four labelled 0 are confidently 1; the threshold of 1 is .75, met by 0.2, 0.8 and 0.1, 0.9 alone."""
    P = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9], [0.2, 0.8], [0.3, 0.7]])
    labels = np.array([0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(np.flatnonzero(label_issues(P, labels)), [2, 3])


def test_a_label_that_only_one_example_carries_is_never_an_issue():
    P = np.array([[0.9, 0.1], [0.8, 0.2], [0.95, 0.05]])
    assert not label_issues(P, np.array([0, 0, 1])).any()


@pytest.mark.parametrize("seed", range(5))
def test_the_rule_is_that_of_the_package(seed):
    found = pytest.importorskip("cleanlab.filter").find_label_issues
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 800)
    labels = np.where(rng.random(800) < 0.3, rng.integers(0, 4, 800), truth)
    P = softmax(3 * np.eye(4)[truth] + rng.normal(size=(800, 4)), axis=1)
    np.testing.assert_array_equal(label_issues(P, labels), found(labels, P, n_jobs=1))
