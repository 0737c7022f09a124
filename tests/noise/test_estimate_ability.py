"""Networks too weak for the estimate: simulated ones that know how often they err, and the shares by hand."""

import json

import numpy as np
import pytest

from smallloss.criterion import transition
from smallloss.criterion.corrupt import corrupt
from smallloss.noise.estimate import Estimate, estimate
from smallloss.noise.estimate import belief as believing
from smallloss.noise.estimate.ability import SAID, Ability, ability
from smallloss.noise.estimate.counting import count
from smallloss.noise.estimate.dependence import slope

C = 10


class Weak:
    """Predictions that are right as often as they claim; the sharper, the more accurate."""

    def __init__(self, noise: str, sharpness: float, n: int = 12_000):
        rng, T = np.random.default_rng(0), transition.from_spec(noise, C)
        logits = sharpness * rng.standard_normal((n, C))
        opinion = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        self.true = (opinion.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        self.P, self.labels = opinion @ T, corrupt(self.true, T, 5)

    @property
    def accuracy(self) -> float:
        return float((self.P.argmax(axis=1) == self.true).mean())

    @property
    def rates(self) -> np.ndarray:
        return np.array([(self.true[self.labels == k] != k).mean() for k in range(C)])


def able(**changes) -> Ability:
    facts = {"surest": 0.9, "overall": 0.81, "error": 0.0, "chance": 0.1, "resolved": 0.0, "unfit": 0.0}
    return Ability(**facts | {"fits": 0.0, "learnt": False, "climbs": True, "follows": True} | changes)


@pytest.fixture(scope="module", params=["uniform:0", "uniform:0.2", "structured:0.3"])
def weak(request) -> Weak:
    return Weak(request.param, 2.0)


def test_a_weak_network_is_called_so_and_the_interval_holds_the_truth(weak):
    assert 0.5 < weak.accuracy < 0.55
    found = estimate(weak.P, weak.labels)
    assert found.weak
    assert found.notes[0].startswith("The network may be too weak to tell its own mistakes from wrong labels")
    assert ((found.low <= weak.rates) & (weak.rates <= found.high)).all()
    overall = found.draws @ np.bincount(weak.labels, minlength=C) / len(weak.labels)
    assert np.quantile(overall, 0.05) <= (weak.labels != weak.true).mean() <= np.quantile(overall, 0.95)
    assert found.depends_on_example is None
    assert "the mistakes of a weak network look like that" in found.evidence
    assert "less confident predictions were counted too" not in found.evidence


def test_its_climb_does_not_raise_the_rates_but_the_high_ends_stay(weak, monkeypatch):
    found = estimate(weak.P, weak.labels)
    monkeypatch.setattr(believing, "with_doubt", lambda belief, *_: belief)
    climbed = estimate(weak.P, weak.labels)
    assert np.abs(found.noise_rate - weak.rates).mean() < 0.6 * np.abs(climbed.noise_rate - weak.rates).mean()
    assert found.high == pytest.approx(climbed.high)
    assert found.interval(0.8)[1] == pytest.approx(climbed.interval(0.8)[1])


@pytest.mark.parametrize("noise", ["uniform:0", "uniform:0.5", "pairwise:0.2", "structured:0.4"])
def test_an_able_network_is_not_doubted(noise):
    world = Weak(noise, 12.0)
    assert world.accuracy > 0.9
    found = estimate(world.P, world.labels)
    assert not found.weak
    assert "too weak" not in " ".join(found.notes)


@pytest.mark.parametrize("c", [2, C])
@pytest.mark.parametrize("n", [300, 1000, 20_000])
def test_predictions_no_better_than_chance_are_doubted_however_many(n, c):
    rng = np.random.default_rng(1)
    found = estimate(rng.dirichlet(np.ones(c), n), rng.integers(0, c, n), contradicted=np.zeros(n, dtype=bool))
    assert found.weak
    assert (found.low < 0.01).all()


def test_a_network_that_always_says_the_same_knows_nothing():
    rng = np.random.default_rng(2)
    sure = rng.uniform(0.6, 0.9, 3000)
    found = estimate(np.column_stack([sure, 1 - sure]), (rng.random(3000) < 0.2).astype(int))
    assert found.weak
    assert (found.low < 0.01).all()


def test_a_training_that_resolves_takes_the_doubt_from_all_but_the_weak():
    assert able(overall=0.72).doubt == pytest.approx((0.87 - 0.8) / 0.08)
    assert able(overall=0.72, resolved=1.0).doubt == 0.0
    assert able(overall=0.63, resolved=1.0).doubt == 1.0
    assert able(overall=0.63, resolved=1.0, climbs=False).doubt == 0.0


def test_what_a_weak_network_resolved_counts_unless_something_speaks_against_it():
    resolved = {"overall": 0.63, "resolved": 1.0, "follows": False}
    assert able(**resolved).doubt == 0.0
    assert able(**resolved, learnt=True).doubt == 1.0
    assert able(**resolved | {"overall": 0.6}, error=0.03).doubt == 1.0


def test_the_low_end_goes_down_between_the_doubt_that_is_said_and_twice_that():
    doubts = [able(overall=0.9 * (0.87 - 0.08 * doubt)) for doubt in (0.0, SAID - 0.01, 1.5 * SAID, 2 * SAID, 1.0)]
    assert [one.pull for one in doubts] == pytest.approx([0, 0, 0.5, 1, 1])
    assert [one.doubted for one in doubts] == [False, False, True, True, True]


def test_only_mistakes_the_network_expects_are_its_own():
    assert able(overall=0.6).misled == 1.0
    assert able(overall=0.6, follows=False).misled == 0.0
    assert able(overall=0.6, follows=False).doubt == 1.0


def test_of_what_a_training_counts_that_does_not_fit_right_labels_half_is_believed():
    assert able(overall=0.5, unfit=0.2).believed == 0.5
    assert able(overall=0.5, unfit=0.025).believed == 0.75
    assert able(overall=0.5, unfit=0.0).believed == 1.0  # it fits all that is surely right
    assert able(overall=0.89, unfit=0.2).believed == 1.0  # an able network is not doubted
    assert able(overall=0.5, unfit=0.2, fits=0.5).believed == 0.75
    assert able(overall=0.5, unfit=0.2, fits=1.0).believed == 1.0  # what fits wrong labels misses no right ones


def test_a_training_that_contradicts_what_is_right_is_believed_by_half(weak):
    """Labels that a network which never saw them agrees with are right; a training that contradicts one in ten of them
    cannot fit the harder ones, and calls those wrong."""
    hard = weak.P.argmax(1) != weak.labels
    rng = np.random.default_rng(0)
    unfit = np.where(hard, rng.random(len(hard)) < 0.7, rng.random(len(hard)) < 0.1)
    found, counted = (estimate(weak.P, weak.labels, contradicted=one) for one in (unfit, unfit & hard))
    assert found.weak
    assert found.believed == 0.5
    assert counted.believed == 1.0
    np.testing.assert_allclose(found.upper(0.8), found.interval(0.8)[1] / 2)
    assert "anything from none to all of what it counts may be wrong, and the rates are 50 % of that" in found.notes[0]
    again = Estimate.from_saved(found.to_dict(), found.arrays)
    np.testing.assert_array_equal(again.upper(0.8), found.upper(0.8))
    truth = weak.rates
    assert np.abs(found.noise_rate - truth).mean() < np.abs(counted.noise_rate - truth).mean()
    assert ((found.low <= truth) & (truth <= found.high)).all()


def test_a_training_that_learnt_hard_labels_more_than_easy_ones_is_believed(weak):
    """It contradicts one in ten labels that the other network agrees with, but fits what is harder: that is noise which
    both learnt, not a training that cannot fit."""
    rng, table = np.random.default_rng(0), count(weak.P, weak.labels, C, None)
    evenly, less = (rng.random(len(table.ahead)) < share for share in (0.2, np.where(table.ahead < 0.3, 0.3, 0.1)))
    assert estimate(weak.P, weak.labels, contradicted=evenly).believed < 0.6
    assert estimate(weak.P, weak.labels, contradicted=less).believed == 1.0


def test_what_the_surest_agree_with_by_chance_says_nothing():
    assert able(surest=0.2, overall=0.2, error=0.02).kept == pytest.approx(0.9)
    assert able(surest=0.2, overall=0.2, error=0.04).kept == 0.0
    assert able(surest=0.84, overall=0.84, chance=0.8).kept == 0.0


def test_the_shares_by_hand():
    """Two classes of 100 predictions; of the surest 15 three are labelled otherwise, of all 40."""
    predicted = np.repeat([0, 1], 100)
    lead = np.tile(np.linspace(0.9, 0.1, 100), 2)
    other = np.tile((np.arange(100) < 3) | (np.arange(100) >= 63), 2)
    labels = np.where(other, 1 - predicted, predicted)
    P = np.column_stack([0.5 + lead / 2, 0.5 - lead / 2])
    P[predicted == 1] = P[predicted == 1, ::-1]
    table = count(P, labels, 2)
    assert table.ahead == pytest.approx(np.tile(np.arange(100) / 100, 2))
    found = ability(table, labels, slope(P, labels, 2, table), None)
    assert (found.surest, found.overall) == pytest.approx((0.8, 0.6))
    assert found.error == pytest.approx(np.sqrt(0.8 * 0.2 / 30))
    assert found.kept == pytest.approx(0.75 * (1 - found.error / 0.8))


def test_what_is_saved_comes_back_and_older_runs_are_read(weak):
    found = estimate(weak.P, weak.labels)
    facts = json.loads(json.dumps(found.to_dict()))
    assert facts["weak"] is True
    assert Estimate.from_saved(facts, found.arrays).weak
    del facts["weak"]
    assert not Estimate.from_saved(facts, found.arrays).weak
