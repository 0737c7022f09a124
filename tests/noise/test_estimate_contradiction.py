"""Labels contradicted in sample: on simulated trainings that are able, too weak, or learn by heart."""

import json

import numpy as np
import pytest

from smallloss.noise.estimate import Estimate, ability, belief, estimate
from smallloss.noise.estimate.contradiction import RESOLVED, contradictions, weight
from smallloss.noise.estimate.counting import count

N, C = 40_000, 5


class Training:
    """Each example is hard to some degree: out of sample the network errs on hard ones; noise may grow with them."""

    def __init__(self, easy, hard, seed=0, mistakes=0.5, on_easy=0.0):
        rng = np.random.default_rng(seed)
        self.rng, self.true = rng, rng.integers(0, C, N)
        self.hardness = rng.random(N)
        self.wrong = rng.random(N) < easy + (hard - easy) * self.hardness
        self.labels = np.where(self.wrong, (self.true + rng.integers(1, C, N)) % C, self.true)
        self.errs = rng.random(N) < on_easy + mistakes * self.hardness**3
        seen = np.where(self.errs, (self.true + rng.integers(1, C, N)) % C, self.true)
        sure = 0.25 + 0.7 * (1 - self.hardness)
        self.P = np.full((N, C), (1 - sure)[:, None] / (C - 1))
        self.P[np.arange(N), seen] = sure

    def contradicted(self, false_alarms=0.0, by_heart=0.0):
        """In sample: how many of the mistakes out of sample stay, and how many hard wrong labels are learnt."""
        against = self.wrong & (self.rng.random(N) >= by_heart * self.hardness)
        return against | ~self.wrong & self.errs & (self.rng.random(N) < false_alarms)

    @property
    def rates(self):
        return np.array([self.wrong[self.labels == k].mean() for k in range(C)])

    def error(self, against):
        found = estimate(self.P, self.labels, contradicted=against)
        assert ((found.low <= self.rates) & (self.rates <= found.high)).mean() >= 0.8
        return np.abs(found.noise_rate - self.rates).mean(), found


def test_an_able_training_tells_the_noise_of_hard_examples():
    training = Training(0.1, 0.25)
    without = np.abs(estimate(training.P, training.labels).noise_rate - training.rates).mean()
    error, found = training.error(training.contradicted())
    assert error < 0.01 < without
    assert found.depends_on_example is True
    assert found.slope.risen
    assert "Training on everything contradicts" in found.evidence
    assert "more frequent among the harder examples" in found.evidence


def test_noise_of_the_class_alone_stays_so():
    training = Training(0.3, 0.3)
    error, found = training.error(training.contradicted())
    assert error < 0.01
    assert found.depends_on_example is False


def test_a_training_that_is_too_weak_changes_nothing():
    training = Training(0.2, 0.2)
    found = estimate(training.P, training.labels, contradicted=training.contradicted(false_alarms=1.0))
    before = estimate(training.P, training.labels)
    assert np.array_equal(found.noise_rate, before.noise_rate)
    assert np.array_equal(found.draws, before.draws)
    assert "contradicts" not in found.evidence


def test_right_labels_that_stay_contradicted_are_within_the_interval():
    """The rates are then too high, as of a training in large steps: contradicted is a third of the mistakes."""
    training = Training(0.2, 0.2, mistakes=0.9)
    against = training.contradicted(false_alarms=0.3)
    assert against.mean() > training.wrong.mean() + 0.04
    error, found = training.error(against)
    assert error > 0.03
    assert (found.high - found.low).max() < 0.2
    overall = found.draws @ np.bincount(training.labels) / N
    assert np.quantile(overall, 0.05) <= training.wrong.mean()


def test_what_was_learnt_by_heart_is_added_back():
    training = Training(0.3, 0.3)
    against = training.contradicted(by_heart=0.8)
    assert against.mean() < 0.2
    error, found = training.error(against)
    assert error < 0.03
    assert found.depends_on_example is False


def test_mistakes_out_of_sample_are_not_taken_for_labels_learnt_by_heart(monkeypatch):
    """Networks of half the examples err on easy ones too: the count among the confident is then too high."""
    training = Training(0.2, 0.2, mistakes=0.8, on_easy=0.15)
    against = training.contradicted()
    error, found = training.error(against)
    assert error < 0.02
    assert (found.high > training.rates + 0.05).all()  # they may have been, all the same
    monkeypatch.setattr(ability, "DOUBTED", (0.0, -1.0))
    before = estimate(training.P, training.labels, contradicted=against).noise_rate
    assert (before > training.rates + 0.05).all()


def test_a_training_that_prefers_a_class_is_believed_as_a_whole_and_not_class_by_class(monkeypatch):
    """Wrong labels of class 0 go unseen, as many right ones of class 1 are contradicted in their place."""
    training = Training(0.2, 0.2)
    against = training.contradicted() & (training.labels != 0)
    against |= (training.labels == 1) & (training.hardness > 0.75)
    error, found = training.error(against)
    assert error < 0.03
    assert found.noise_rate @ np.bincount(training.labels) / N == pytest.approx(against.mean(), abs=0.02)
    monkeypatch.setattr(belief, "ALIKE", 1.0)
    before = estimate(training.P, training.labels, contradicted=against).noise_rate
    assert np.abs(before - training.rates).mean() > 2 * error


def test_the_farther_the_two_spreads_are_apart_the_more_the_counting_is_believed():
    counts, sure = np.array([100.0, 300.0]), np.zeros((9, 2))
    lean = [belief._lean(np.array([[apart, -apart]]), sure, counts) for apart in (0.0, 0.05, 0.1, 0.5)]
    assert lean == pytest.approx([1 / 3, 1 / 3, 1 - 2 / 3 / 4, 1 - 2 / 3 / 100])
    unsure = np.array([[0.3 - 0.1, 0.3 - 0.1], [0.3 + 0.1, 0.3 + 0.1]])
    assert belief._lean(np.array([[0.1, -0.1]]), unsure, counts) == pytest.approx(1 / 3)
    assert belief._lean(np.array([[0.0, 0.2]]), sure, counts) == pytest.approx(1 - 2 / 3 * 0.0025 / 0.03)


def test_the_shares_by_hand():
    """Two classes of 100: of each prediction 30 confident ones, 3 of them labelled otherwise."""
    predicted = np.repeat([0, 1], 100)
    lead = np.tile(np.linspace(0.9, 0.1, 100), 2)
    labels = predicted.copy()
    other = np.tile(np.isin(np.arange(100), (3, 13, 23, 50, 60, 70, 80, 92, 94, 96)), 2)
    labels[other] = 1 - labels[other]
    P = np.column_stack([0.5 + lead / 2, 0.5 - lead / 2])
    P[predicted == 1] = P[predicted == 1, ::-1]
    table = count(P, labels, 2)
    found = contradictions(np.tile(np.isin(np.arange(100), (3, 13, 23, 50, 60, 70)), 2), labels, table)
    assert table.wrong_share(3) == (pytest.approx(0.1), 60)
    assert found.rate == pytest.approx([0.06, 0.06])
    assert found.unsettled == pytest.approx([0.04, 0.04])
    assert found.resolved == 1.0  # 6 % are contradicted in sample, the confident explain 10 %
    assert found.rise == pytest.approx((3 / 60 - 3 / 30) / (1 - 3 / 30))
    assert 0 <= found.by_heart < 0.1
    few = contradictions(np.tile(np.isin(np.arange(100), (3,)), 2), labels, table)  # 1 of 30, then none of 60 and 10
    behind = 0.1 - np.sqrt(0.1 * 0.9 / 60 + np.array([1 / 30 * 29 / 30 / 60, (1 / 120) / 120, (1 / 20) / 20]))
    assert few.by_heart == pytest.approx(np.maximum(behind - [1 / 30, 0, 0], 0) @ [0.3, 0.6, 0.1] / 0.1)
    behind = 1 / 30 - np.sqrt(1 / 30 * 29 / 30 / 60 + np.array([1 / 120, 1 / 20]) / [120, 20])
    assert few.at_least == pytest.approx(np.maximum(behind, 0) @ [0.6, 0.1] * 30)


def test_belief_grows_between_the_bounds():
    low, high = RESOLVED
    assert weight([low - 0.1, low, (low + high) / 2, high, 1.0]) == pytest.approx([0, 0, 0.5, 1, 1])


def test_a_clean_set_and_a_tiny_one_stay_proper():
    labels = np.arange(60) % 3
    P = np.eye(3)[labels] * 0.9 + 0.1 / 3
    found = estimate(P, labels, contradicted=np.zeros(60, dtype=bool))
    assert (found.noise_rate < 0.05).all()
    few = estimate(P[:4], labels[:4], contradicted=[1, 0, 1, 0])
    assert ((few.noise_rate >= 0) & (few.noise_rate < 1)).all()
    assert ((few.low <= few.noise_rate) & (few.noise_rate <= few.high)).all()


def test_what_is_saved_comes_back_as_it_was():
    training = Training(0.1, 0.25)
    found = estimate(training.P, training.labels, contradicted=training.contradicted())
    again = Estimate.from_saved(json.loads(json.dumps(found.to_dict())), found.arrays)
    assert again.to_dict() == found.to_dict()
    assert again.slope == found.slope
    assert np.array_equal(again.draws, found.draws)
    assert np.array_equal(again.transition_draws, found.transition_draws)
    assert np.array_equal(again.transition, found.transition)
