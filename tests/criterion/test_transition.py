import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from smallloss.criterion import transition as tr
from smallloss.errors import InputError

seeds = st.integers(0, 2**32 - 1)


def random_matrix(rng: np.random.Generator, classes: int) -> np.ndarray:
    """Rows from flat to nearly one-hot, some entries exactly 0."""
    T = rng.dirichlet(np.full(classes, rng.choice([0.1, 1.0, 10.0])), size=classes)
    T[rng.random(T.shape) < 0.2] = 0
    T += np.eye(classes) * 1e-3
    return T / T.sum(axis=1, keepdims=True)


def column_dominant_matrix(rng: np.random.Generator, classes: int) -> np.ndarray:
    """A random matrix pulled towards the identity until its least margin is positive, often barely."""
    R = random_matrix(rng, classes)
    worst = min(tr.margin(R).min(), 0.0)
    pull = -worst / (1 - worst)
    pull += (1 - pull) * rng.choice([0.001, 0.05, 0.5])
    return (1 - pull) * R + pull * np.eye(classes)


# --- matrices ---


def test_uniform_includes_the_true_class_and_uniform_excluding_does_not():
    np.testing.assert_allclose(tr.uniform(0.5, 10).diagonal(), 0.55)
    np.testing.assert_allclose(tr.uniform_excluding(0.5, 10).diagonal(), 0.5)
    # The same noise in both conventions: a true flip rate of r (c - 1) / c.
    np.testing.assert_allclose(tr.uniform(0.5, 10), tr.uniform_excluding(0.45, 10))


def test_pairwise_goes_to_the_next_class_and_wraps():
    expected = [[0.7, 0.3, 0], [0, 0.7, 0.3], [0.3, 0, 0.7]]
    np.testing.assert_allclose(tr.pairwise(0.3, 3), expected)


def test_structured_is_the_papers_cifar10_map():
    T = tr.structured(0.4)
    moved = {(int(i), int(j)) for i, j in np.argwhere(T > 0) if i != j}
    assert moved == {(2, 0), (3, 5), (4, 7), (5, 3), (9, 1)}
    np.testing.assert_allclose(T.diagonal(), [1, 1, 0.6, 0.6, 0.6, 0.6, 1, 1, 1, 0.6])


@pytest.mark.parametrize(
    "spec, expected",
    [
        ("uniform:0.5", tr.uniform(0.5, 10)),
        ("uniform_excluding:.5", tr.uniform_excluding(0.5, 10)),
        ("pairwise:0.4", tr.pairwise(0.4, 10)),
        ("structured:0.4", tr.structured(0.4)),
    ],
)
def test_from_spec(spec, expected):
    np.testing.assert_array_equal(tr.from_spec(spec, classes=10), expected)


def test_digits_are_taken_for_those_that_look_alike():
    assert {(i, j) for i, j in enumerate(tr.DIGITS_MAP) if i != j} == {(1, 7), (3, 8), (6, 0), (8, 3), (9, 4)}
    T = tr.structured(0.49, tr.DIGITS_MAP)
    np.testing.assert_array_equal(tr.from_spec("structured:0.49", 10, tr.DIGITS_MAP), T)
    assert tr.is_dominant(T)
    assert not tr.is_dominant(tr.structured(0.5, tr.DIGITS_MAP))


def test_a_rounded_matrix_is_rescaled_and_the_input_left_alone():
    T = np.array([[0.333, 0.333, 0.333], [0, 1, 0], [0, 0, 1]])
    before = T.copy()
    np.testing.assert_allclose(tr.validate(T).sum(axis=1), 1, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(T, before)


# --- dominance ---


def test_equality_is_failure():
    assert not tr.is_column_dominant(tr.pairwise(0.5, 10))
    assert not tr.is_row_dominant(tr.pairwise(0.5, 10))
    np.testing.assert_array_equal(np.flatnonzero(~tr.column_dominance(tr.structured(0.5))), [3, 5])
    np.testing.assert_array_equal(np.flatnonzero(~tr.row_dominance(tr.structured(0.5))), [2, 3, 4, 5, 9])
    assert not tr.dominance(tr.uniform(1.0, 7)).any()
    # 0.1 + 0.2 is a rounding step above 0.3: an equality all the same.
    T = [[0.1 + 0.2, 0.3, 0.4], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]]
    assert not tr.column_dominance(T)[0]
    assert tr.margin(T)[0] == 0
    assert not tr.row_dominance([[0.1 + 0.2, 0.3, 0.4 - 5e-17], [0, 1, 0], [0, 0, 1]])[0]


def test_rows_and_columns_are_told_apart():
    T = [[0.4, 0.6, 0], [0, 1, 0], [0, 0, 1]]  # true 0 is mostly labelled 1, yet most of label 1 is right
    np.testing.assert_array_equal(tr.row_dominance(T), [False, True, True])
    np.testing.assert_array_equal(tr.column_dominance(T), [True, True, True])
    np.testing.assert_array_equal(tr.dominance(T), [False, True, True])
    assert tr.is_column_dominant(T)
    assert not tr.is_row_dominant(T)


@given(seeds, st.integers(2, 6))
def test_lemma_2_g_star_predicts_the_true_class_exactly_under_row_dominance(seed, classes):
    T = random_matrix(np.random.default_rng(seed), classes)
    correct = [np.flatnonzero(T[i] >= T[i].max() - 1e-12).tolist() == [i] for i in range(classes)]
    np.testing.assert_array_equal(tr.row_dominance(T), correct)


@given(seeds, st.integers(2, 6))
def test_lemma_1_no_classifier_beats_f_star_under_row_dominance(seed, classes):
    rng = np.random.default_rng(seed)
    T = column_dominant_matrix(rng, classes).T
    T = T / T.sum(axis=1, keepdims=True)
    assume(tr.is_row_dominant(T))
    prior = rng.dirichlet(np.ones(classes))
    f = rng.integers(0, classes, size=classes)
    loss_of_f = 1 - prior @ T[np.arange(classes), f]
    assert tr.expected_zero_one_loss(T, prior) <= loss_of_f + 1e-12


# --- Theorems 1 and 2 ---


@pytest.mark.parametrize("r", [0.0, 0.1, 0.2, 0.3, 0.4, 0.49])
def test_the_papers_noises_are_dominant_and_what_they_tolerate(r):
    assert tr.is_dominant(tr.pairwise(r, 10))
    assert tr.is_dominant(tr.structured(r))
    assert tr.is_dominant(tr.uniform(2 * r, 10))
    assert tr.tolerated_epsilon(tr.uniform(r, 10)).min() == pytest.approx((1 - r) / 2)
    assert tr.tolerated_epsilon(tr.pairwise(r, 10)).min() == pytest.approx((1 - 2 * r) / 2)
    assert tr.tolerated_epsilon(tr.structured(r)).min() == pytest.approx((1 - 2 * r) / 2)


@given(seeds, st.integers(2, 6))
def test_theorem_1_g_star_ranks_perfectly_exactly_under_column_dominance(seed, classes):
    T = random_matrix(np.random.default_rng(seed), classes)
    loss = tr.ideal_loss(T)
    gap = -np.diff(np.sort(np.exp(-loss), axis=0)[-2:], axis=0)
    assume((np.abs(gap) > 1e-9).all())  # ties have their own test
    perfect = [all(loss[y, y] < loss[j, y] for j in range(classes) if j != y) for y in range(classes)]
    np.testing.assert_array_equal(tr.column_dominance(T), perfect)


@given(seeds, st.integers(2, 6), st.floats(0, 0.999))
def test_theorem_2_any_network_within_epsilon_ranks_perfectly(seed, classes, share):
    rng = np.random.default_rng(seed)
    T = column_dominant_matrix(rng, classes)
    epsilon = share * tr.tolerated_epsilon(T).min()
    bound = tr.loss_gap_bound(T, epsilon)
    true = rng.integers(0, classes, size=60)
    g = np.array([network_output(rng, T[i], epsilon) for i in true])
    assert np.abs(g - T[true]).max() <= epsilon + 1e-15
    with np.errstate(divide="ignore"):
        loss = -np.log(g)
    for y in range(classes):
        right, wrong = loss[true == y, y], [(j, loss[true == j, y]) for j in range(classes) if j != y]
        for j, losses in wrong:
            if right.size and losses.size:
                assert losses.min() > right.max()
                assert losses.min() - right.max() >= bound[j, y] - 1e-9


def network_output(rng: np.random.Generator, ideal: np.ndarray, epsilon: float) -> np.ndarray:
    """A probability vector at most epsilon from the ideal one, on the way to a random or a one-hot vector."""
    classes = len(ideal)
    goal = rng.dirichlet(np.ones(classes)) if rng.random() < 0.3 else np.eye(classes)[rng.integers(classes)]
    distance = np.abs(goal - ideal).max()
    step = min(1.0, epsilon / distance) if distance > 0 else 0.0
    return ideal + step * (goal - ideal)


@given(seeds, st.integers(2, 6))
def test_theorem_2_is_tight_a_network_just_beyond_epsilon_ranks_wrong(seed, classes):
    rng = np.random.default_rng(seed)
    T = column_dominant_matrix(rng, classes)
    y = int(rng.integers(classes))
    j = max((k for k in range(classes) if k != y), key=lambda k: T[k, y])
    epsilon = tr.tolerated_epsilon(T)[y] * (1 + 1e-6)
    right, wrong = T[y].copy(), T[j].copy()
    right[y] -= epsilon
    right[j] += epsilon
    wrong *= 1 - epsilon / (1 - wrong[y])
    wrong[y] = T[j, y] + epsilon
    for g, ideal in ((right, T[y]), (wrong, T[j])):
        assert g.min() >= 0
        assert g.sum() == pytest.approx(1)
        assert np.abs(g - ideal).max() <= epsilon * (1 + 1e-9)
    assert -np.log(wrong[y]) < -np.log(right[y])


def test_loss_gap_bound_values_and_edges():
    T = [[0.6, 0.4, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
    bound = tr.loss_gap_bound(T, 0.1)
    assert bound[0, 1] == pytest.approx(np.log(0.9 / 0.5))
    assert bound[2, 0] == pytest.approx(np.log(0.5 / 0.6))  # beyond its tolerated epsilon of 0.05: no gap
    assert np.isnan(bound.diagonal()).all()
    assert tr.loss_gap_bound(T, 0.0)[1, 0] == np.inf
    assert tr.loss_gap_bound(T, 0.5)[0, 2] == -np.inf
    assert tr.loss_gap_bound([[0, 1, 0], [0, 1, 0], [0, 0, 1]], 0.0)[2, 0] == -np.inf
    T = tr.structured(0.3)
    assert tr.loss_gap_bound(T, tr.tolerated_epsilon(T)[3])[5, 3] == pytest.approx(0, abs=1e-12)
    assert tr.margin(tr.structured(0.6))[3] == pytest.approx(-0.2)
    assert tr.tolerated_epsilon(tr.structured(0.6))[3] == 0  # never negative


# --- class frequencies ---


def test_losses_and_rates_of_structured_noise_by_hand():
    T = tr.structured(0.4)
    loss = tr.ideal_loss(T)
    assert (loss[3, 5], loss[3, 4]) == (pytest.approx(-np.log(0.4)), np.inf)
    assert not np.signbit(loss[0, 0])
    assert tr.overall_noise_rate(T) == tr.expected_zero_one_loss(T) == pytest.approx(0.2)
    assert tr.overall_noise_rate(T, [0, 0, 0, 2, 0, 2, 0, 0, 0, 0]) == pytest.approx(0.4)
    assert tr.overall_noise_rate(tr.uniform(0.5, 10)) == pytest.approx(0.45)


@pytest.mark.parametrize("r", [0.1, 0.2, 0.3, 0.4])
def test_noise_rate_is_per_observed_label(r):
    a = r / (1 + r)
    np.testing.assert_allclose(tr.noise_rate(tr.structured(r)), [a, a, 0, r, 0, r, 0, a, 0, 0], atol=1e-15)
    np.testing.assert_allclose(tr.noise_rate(tr.uniform(r, 10)), 0.9 * r)
    np.testing.assert_allclose(tr.noise_rate(tr.pairwise(r, 10)), r)
    T = [[0.5, 0.5, 0], [0, 1, 0], [0, 1, 0]]  # nothing carries the last label
    np.testing.assert_allclose(tr.noise_rate(T, [0.2, 0.3, 0.5]), [0, 1 - 0.3 / 0.9, 0])
    np.testing.assert_allclose(tr.label_distribution(T, [0.2, 0.3, 0.5]), [0.1, 0.9, 0])


@given(seeds, st.integers(2, 12))
def test_prior_from_labels_inverts_label_distribution(seed, classes):
    rng = np.random.default_rng(seed)
    T = 0.7 * np.eye(classes) + 0.3 * random_matrix(rng, classes)
    prior = rng.dirichlet(np.ones(classes))
    recovered = tr.prior_from_labels(T, 50_000 * tr.label_distribution(T, prior))
    np.testing.assert_allclose(recovered, prior, atol=1e-9)


@given(seeds)
def test_prior_from_labels_is_the_nearest_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    T = tr.pairwise(0.4, 4)
    q = rng.dirichlet(np.full(4, 0.3))  # mostly outside what any prior can give
    prior = tr.prior_from_labels(T, q)
    assert prior.min() >= 0
    assert prior.sum() == pytest.approx(1)
    distance = np.linalg.norm(prior @ T - q)
    for other in rng.dirichlet(np.full(4, 0.5), size=200):
        mixed = 0.99 * prior + 0.01 * other
        assert distance <= np.linalg.norm(mixed @ T - q) + 1e-9


def test_prior_from_labels_warns_when_t_cannot_be_inverted():
    with pytest.warns(tr.IllConditionedWarning, match="many priors explain"):
        prior = tr.prior_from_labels(tr.pairwise(0.5, 10), np.ones(10))
    assert prior.sum() == pytest.approx(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tr.prior_from_labels(tr.pairwise(0.5, 9), np.ones(9))  # odd: invertible


# --- what is refused ---

SPECS = ["", "uniform", "uniform:", "uniform:half", "uniform:1.5", "uniform:nan", "odd:0.1"]
THREE = tr.uniform(0.1, 3)


@pytest.mark.parametrize(
    "build, arguments, sentence",
    [
        *((tr.from_spec, (spec, 10), "uniform:R, uniform_excluding:R, pairwise:R or structured:R") for spec in SPECS),
        (tr.from_spec, ("structured:0.1", 4, [1, 2, 0]), "on 4 classes needs a class_map of 4 .* this one has 3"),
        (tr.from_spec, ("structured:0.1", 100), "nothing says so for these 100 classes: give a class_map"),
        (tr.uniform, (1.2, 10), "r is a probability from 0 to 1; it was 1.2"),
        (tr.uniform, (0.3, 10.7), r"The number of classes is 10.7; it must be a whole number"),
        (tr.pairwise, (-0.1, 10), "it was -0.1"),
        (tr.uniform_excluding, (0.1, 1), "two or more classes"),
        (tr.structured, (0.1, [0, 5, 1]), "sends class 1 to 5"),
        (tr.structured, (0.4, {0: 1, 5: 0}), "what becomes of each class, 0 to 1, also where it stays"),
        (tr.structured, (0.4, [0.5, 1]), r"sends class 0 to 0.5, but the classes are 0 to 1"),
        (tr.validate, ([[1, 0], [0.5, 0.4]],), r"Row 1 .* sums to 0.9, not 1 \(tolerance 0.01\)"),
        (tr.validate, ([[70, 30], [20, 80]],), "Row 0 .* sums to 100.*percentages"),
        (tr.validate, ([[0.9, 0.4], [0.1, 0.6]],), r"Row 0 .* pass T\.T"),
        (tr.validate, ([[1, 0, 0], [0, 1, 0], [-0.1, 0.1, 1]],), "Row 2 .* has -0.1 in column 0"),
        (tr.validate, ([[1, 0], [np.nan, 1]],), "Row 1 .* has nan in column 0"),
        (tr.validate, ([[1, 0], [0, np.inf]],), "Row 1 .* has inf in column 1"),
        (tr.validate, ([[1, 0, 0], [0, 1, 0]],), r"must be square.*\(2, 3\)"),
        (tr.validate, ([1.0, 0.0],), "must be square"),
        (tr.validate, ([[1.0]],), "two or more classes"),
        (tr.validate, ([["a", "b"], ["c", "d"]],), "table of numbers"),
        (tr.validate, ([[1, 0], [1]],), "table of numbers"),
        *((tr.loss_gap_bound, (THREE, epsilon), "epsilon is a distance") for epsilon in (-0.1, np.nan, np.inf)),
        (tr.noise_rate, (THREE, [0.5, 0.5]), r"prior needs one number for each of the 3 classes; its shape is \(2,\)"),
        (tr.noise_rate, (THREE, [0.5, -0.5, 1]), "prior of class 1 is -0.5"),
        (tr.noise_rate, (THREE, [0.5, 0.5, np.nan]), "prior of class 2 is nan"),
        (tr.noise_rate, (THREE, [0, 0, 0]), "prior is zero for every class"),
        (tr.prior_from_labels, (THREE, [-1, 2, 3]), "label_counts of class 0 is -1"),
    ],
)
def test_what_makes_no_sense_is_named(build, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        build(*arguments)


def test_structured_noise_by_a_mapping():
    np.testing.assert_array_equal(tr.structured(0.4, {2: 0, 0: 1, 1: 1}), tr.structured(0.4, [1, 1, 0]))
