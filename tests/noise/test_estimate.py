"""The combined estimate: coverage on a simulated network, the words, the invariances, bad input."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimators import confident_joint, joint_noise_rate
from smallloss.criterion import transition
from smallloss.criterion.corrupt import corrupt, instance_dependent
from smallloss.errors import InputError
from smallloss.noise.estimate import Estimate, belief, estimate


class Network:
    """A simulated network: each example has a true class, one it resembles, and how much the two are confused."""

    def __init__(self, n, c, seed=0, temperature=1.0, confusion=0.15):
        rng = np.random.default_rng(seed)
        self.n, self.c, self.temperature, self.rng = n, c, temperature, rng
        self.true = rng.integers(0, c, n)
        alike = (self.true + rng.choice([1, c - 1, c // 2], n)) % c
        per_class = confusion * rng.uniform(0.3, 1.7, c)
        doubt = rng.beta(0.25, 0.25 / per_class[self.true])  # mostly none, sometimes mistaken
        self.opinion = np.zeros((n, c))
        self.opinion[np.arange(n), self.true] = 1 - doubt
        self.opinion[np.arange(n), alike] += doubt

    def probabilities(self, seen):
        """What it says out of sample after learning the chances `seen` of each label: noise, then a temperature."""
        logits = np.log(seen + 0.01) + 0.25 * self.rng.standard_normal(seen.shape)
        P = np.exp(logits / self.temperature)
        return P / P.sum(axis=1, keepdims=True)

    def under(self, T):
        return self.probabilities(self.opinion @ T), corrupt(self.true, T, 5)


def rates(labels, true, c):
    return np.array([(true[labels == k] != k).mean() for k in range(c)])


CONDITIONAL = ["uniform:0.3", "uniform:0.5", "uniform:0.7", "pairwise:0.2", "pairwise:0.4", "structured:0.2",
               "structured:0.4", "uniform:0"]  # fmt: skip


@pytest.fixture(scope="module", params=CONDITIONAL)
def conditional(request):
    network = Network(30_000, 10, seed=1)
    P, labels = network.under(transition.from_spec(request.param, 10))
    return P, labels, network.true, estimate(P, labels)


def test_the_interval_covers_and_is_narrow(conditional):
    _, labels, true, found = conditional
    truth = rates(labels, true, 10)
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.8
    assert (found.high - found.low).mean() <= 0.15


def test_it_beats_the_confident_joint(conditional):
    P, labels, true, found = conditional
    truth = rates(labels, true, 10)
    joint = joint_noise_rate(confident_joint(P, labels, 10))
    assert np.abs(found.noise_rate - truth).mean() < np.abs(joint - truth).mean()


def test_noise_of_the_class_alone_is_not_called_noise_of_the_example(conditional):
    found = conditional[3]
    assert found.depends_on_example is not True
    assert "depends on the example, so" not in found.evidence


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_confidence_that_is_too_high_or_too_low_does_no_harm(temperature):
    network = Network(30_000, 10, seed=2, temperature=temperature)
    P, labels = network.under(transition.uniform(0.5, 10))
    assert np.abs(estimate(P, labels).noise_rate - rates(labels, network.true, 10)).mean() < 0.03


def test_noise_that_hits_hard_examples_is_seen_and_widens_the_count():
    network = Network(45_000, 10, seed=3)
    hard = np.random.default_rng(0).random(network.n)
    wrong = np.minimum(0.7 * hard, 0.35)
    seen = (1 - wrong)[:, None] * network.opinion + (wrong / 10)[:, None]
    flip = np.random.default_rng(1).random(network.n) < wrong
    labels = np.where(flip, np.random.default_rng(2).integers(0, 10, network.n), network.true)
    found, truth = estimate(network.probabilities(seen), labels), rates(labels, network.true, 10)
    assert found.depends_on_example is True
    assert "less confident predictions were counted too" in found.evidence
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.8


def test_part_dependent_noise_is_seen_and_makes_for_unease(monkeypatch):
    network = Network(45_000, 10, seed=4)
    features = np.random.default_rng(0).standard_normal((network.n, 8))
    labels, _ = instance_dependent(features, network.true, 0.3, 0, 10)
    # the network knows which wrong label an example gets, as one that saw enough of its kind would
    target, _ = instance_dependent(features, network.true, 1.0, 0, 10)
    learned = 0.7 * network.opinion + 0.3 * np.eye(10)[target]
    P = network.probabilities(learned)
    found = estimate(P, labels)
    assert found.depends_on_example is True
    assert np.abs(found.noise_rate - rates(labels, network.true, 10)).mean() < 0.08
    assert found.slope.followed
    monkeypatch.setattr(belief, "UNEASE", 1.0)
    at_ease = estimate(P, labels)
    assert (found.high - found.noise_rate).mean() > 1.3 * (at_ease.high - at_ease.noise_rate).mean()


def test_a_hundred_classes():
    network = Network(30_000, 100, seed=5)
    P, labels = network.under(transition.uniform(0.4, 100))
    found, truth = estimate(P, labels), rates(labels, network.true, 100)
    joint = joint_noise_rate(confident_joint(P, labels, 100))
    assert np.abs(found.noise_rate - truth).mean() < np.abs(joint - truth).mean()
    # With some 300 examples of a label its share is far from the expectation: coverage is 0.84 without that chance.
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.88
    assert found.transition_draws.shape == (200, 100, 100)
    assert found.transition_draws.dtype == np.float32


def test_perfect_probabilities_recover_the_matrix():
    T = transition.structured(0.4)
    true = np.random.default_rng(0).integers(0, 10, 60_000)
    found = estimate(T[true], corrupt(true, T, 0, exact=True))  # every margin of a class is tied: all are counted
    np.testing.assert_allclose(found.transition, T, atol=0.01)
    np.testing.assert_allclose(found.prior, np.bincount(true) / len(true), atol=0.005)
    np.testing.assert_allclose(found.noise_rate, transition.noise_rate(T, found.prior), atol=0.01)


def test_rate_matrix_and_prior_agree_and_reproduce_the_label_counts(conditional):
    _, labels, _, found = conditional
    np.testing.assert_allclose(transition.noise_rate(found.transition, found.prior), found.noise_rate, atol=1e-9)
    np.testing.assert_allclose(
        transition.label_distribution(found.transition, found.prior), np.bincount(labels) / len(labels), atol=1e-9
    )


def test_wider_levels_hold_narrower_ones(conditional):
    found = conditional[3]
    low, high = found.interval(0.5)
    assert (found.low <= low).all()
    assert (high <= found.high).all()
    np.testing.assert_array_equal(found.interval(found.level), (found.low, found.high))


# --- small, odd and bad -------------------------------------------------------------------------------------


def test_a_class_of_three_says_so_and_borrows_from_the_pooled_rate():
    network = Network(3000, 4, seed=9)
    P, labels = network.under(transition.uniform(0.4, 4))
    P = np.column_stack([P, np.full(3000, 1e-3)])
    P /= P.sum(axis=1, keepdims=True)
    labels[:3] = 4
    found = estimate(P, labels, classes=["a", "b", "c", "d", "rare"])
    assert any("'rare'" in note and "towards the rate of all labels" in note for note in found.notes)
    assert np.isfinite(found.draws).all()
    assert found.high[4] - found.low[4] > 0.3
    assert found.noise_rate[4] == pytest.approx(found.noise_rate[:4].mean(), abs=0.12)


def test_a_label_that_nobody_carries():
    found = estimate(np.full((10, 3), 1 / 3), np.zeros(10, dtype=int))
    assert any("No example is labelled 1, 2" in note for note in found.notes)
    assert (found.noise_rate < 1).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(2, 6), st.integers(0, 2**32 - 1), st.floats(0.01, 5))
def test_whatever_comes_in_proper_rates_and_matrices_come_out(n, c, seed, sharpness):
    rng = np.random.default_rng(seed)
    found = estimate(
        rng.dirichlet(np.full(c, sharpness) + 1e-3, n), rng.integers(0, c, n), contradicted=rng.random(n) < 0.5
    )
    for values in (found.noise_rate, found.low, found.high, found.draws):
        assert ((values >= 0) & (values < 1)).all()
    assert ((found.low <= found.noise_rate) & (found.noise_rate <= found.high)).all()
    np.testing.assert_allclose(found.transition.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(found.transition_draws.sum(axis=2), 1, atol=1e-4)
    np.testing.assert_allclose(found.prior.sum(), 1, atol=1e-9)
    assert (found.transition >= 0).all()
    json.dumps(found.to_dict(), allow_nan=False)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_examples_and_of_classes_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    P, labels = np.repeat(rng.dirichlet(np.full(4, 0.5), 100), 3, axis=0), rng.integers(0, 4, 300)  # tied margins
    found, order, classes = estimate(P, labels), rng.permutation(300), rng.permutation(4)
    shuffled = estimate(P[order], labels[order])
    np.testing.assert_allclose(shuffled.noise_rate, found.noise_rate, atol=1e-9)
    np.testing.assert_allclose(shuffled.draws, found.draws, atol=1e-6)
    renamed = estimate(P[:, classes], np.argsort(classes)[labels])
    np.testing.assert_allclose(renamed.noise_rate, found.noise_rate[classes], atol=1e-9)
    np.testing.assert_allclose(renamed.transition, found.transition[np.ix_(classes, classes)], atol=1e-9)


def test_rows_never_seen_are_left_out():
    network = Network(2000, 3, seed=10)
    P, labels = network.under(transition.uniform(0.3, 3))
    with_gaps = np.vstack([P, np.full((50, 3), np.nan)])
    against = P.argmax(axis=1) != labels
    found = estimate(
        with_gaps,
        np.append(labels, np.zeros(50, dtype=int)),
        contradicted=np.append(against, np.full(50, np.nan)),
    )
    np.testing.assert_array_equal(found.noise_rate, estimate(P, labels, contradicted=against).noise_rate)
    assert any("50 examples without out-of-sample" in note for note in found.notes)


def test_names_and_codes_say_the_same():
    network = Network(1000, 3, seed=11)
    P, labels = network.under(transition.uniform(0.3, 3))
    names = np.array(["cat", "ant", "bee"])
    by_name, by_code = estimate(P, names[labels], classes=names), estimate(P, labels, classes=names)
    np.testing.assert_array_equal(by_name.noise_rate, by_code.noise_rate)
    assert list(by_name.classes) == ["cat", "ant", "bee"]
    in_order = estimate(P[:, [1, 2, 0]], names[labels])
    assert list(in_order.classes) == ["ant", "bee", "cat"]
    np.testing.assert_allclose(in_order.noise_rate, by_name.noise_rate[[1, 2, 0]], atol=0.02)


def test_a_seed_repeats_itself_and_another_does_not():
    network = Network(1000, 3, seed=12)
    P, labels = network.under(transition.uniform(0.3, 3))
    np.testing.assert_array_equal(estimate(P, labels, seed=3).draws, estimate(P, labels, seed=3).draws)
    assert (estimate(P, labels, seed=3).draws != estimate(P, labels, seed=4).draws).any()


EVEN, ZEROS = np.full((4, 2), 0.5), np.zeros(4, dtype=int)


@pytest.mark.parametrize(
    "arguments, options, said",
    [
        ((np.zeros(4), ZEROS), {}, "table of numbers"),
        ((np.full((4, 1), 1.0), ZEROS), {}, "two or more classes"),
        ((EVEN, ZEROS[:3]), {}, "4 rows of probabilities but 3 labels"),
        ((EVEN, ZEROS + 2), {}, "2 at position 0; the codes go from 0 to 1"),
        ((EVEN, np.array(list("abac"))), {}, "2 columns and the labels 3 different names"),
        ((EVEN, np.array(list("abab"))), {"classes": ["a", "c"]}, "'b', which is not among the classes"),
        ((EVEN, ZEROS), {"classes": ["a"]}, "1 classes, but the probabilities have 2 columns"),
        ((np.array([[0.5, 0.5]] * 3 + [[0.5, 0.9]]), ZEROS), {}, "index 3 sum to 1.4"),
        ((np.array([[0.5, 0.5], [-0.5, 1.5]] * 2), ZEROS), {}, "index 1 are not all finite"),
        ((np.array([[0.5, 0.5], [np.nan, 1.0]] * 2), ZEROS), {}, "index 1 are not all finite"),
        ((np.full((4, 2), np.nan), ZEROS), {}, "every row is NaN"),
        ((EVEN, ZEROS), {"contradicted": np.zeros(3, dtype=bool)}, "contradicted needs one number for each of the 4"),
        ((EVEN, ZEROS), {"contradicted": list("nyny")}, "contradicted needs one number for each of the 4"),
        ((EVEN, ZEROS), {"contradicted": [0, np.nan, 0, 0]}, "contradicted of the example at index 1"),
        ((EVEN, ZEROS), {"contradicted": [0, 1, -0.5, 0]}, "index 2 is -0.5; it must be true or false"),
        ((EVEN, ZEROS), {"margin": [0, 0, np.inf, 0]}, "margin of the example at index 2"),
        ((EVEN, ZEROS), {"level": 1.0}, "level"),
    ],
)
def test_bad_input_is_refused_in_words(arguments, options, said):
    with pytest.raises(InputError, match=said):
        estimate(*arguments, **options)


def test_the_estimate_is_exported():
    assert isinstance(estimate(EVEN, ZEROS), Estimate)
