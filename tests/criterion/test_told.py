"""What `select` is told: nonsense is refused in a sentence, and whatever means the same is taken the same."""

import pickle

import numpy as np
import pytest
import torch

import smallloss as sl
from smallloss.criterion import transition as tr
from smallloss.criterion.ledger import LossLedger
from smallloss.errors import InputError
from smallloss.noise.choose import select


class Series:
    """Has keys and values as pandas' has, and is no Mapping."""

    def __init__(self, values):
        self._values = values

    def keys(self):
        return self._values.keys()

    def items(self):
        return self._values.items()

    def __array__(self, dtype=None, copy=None):
        return np.array(list(self._values.values()), dtype=dtype)


LABELS = ["cat"] * 10 + ["dog"] * 10
SCORES = np.arange(20.0)


def test_rates_prior_and_upper_ends_by_name():
    rates, prior, upper = {"dog": 0.5, "cat": 0.1}, {"dog": 0.3, "cat": 0.7}, {"dog": 0.6, "cat": 0.3}
    plain = select(SCORES, LABELS, [0.1, 0.5], prior=[0.7, 0.3], upper=[0.3, 0.6])
    for kind in (dict, Series):
        named = select(SCORES, LABELS, kind(rates), prior=kind(prior), upper=kind(upper))
        np.testing.assert_array_equal(named.quota.num, plain.quota.num)
        np.testing.assert_array_equal(named.quota.noise_rate, [0.1, 0.5])
        np.testing.assert_array_equal(named.quota.prior, [0.7, 0.3])


def test_tensors_are_taken_wherever_arrays_are():
    P = torch.full((20, 2), 0.5, dtype=torch.bfloat16, requires_grad=True)
    scores = torch.arange(20.0, requires_grad=True).bfloat16()
    found = select(scores, LABELS, torch.tensor([0.1, 0.5], requires_grad=True), probabilities=P)
    assert found.quota.noise_rate == pytest.approx([0.1, 0.5])
    assert sl.check(torch.eye(3, requires_grad=True)).word == "unchecked"


@pytest.mark.parametrize(
    "labels, sentence",
    [
        (np.arange(20) / 7, r"The label at index 1 is 0.142857: .* The scores come before the labels"),
        (list(np.arange(20) / 7), r"The label at index 1 is .*: a label must be text or a whole number"),
        (np.array([np.inf, 1.0] * 10), r"The label at index 0 is inf"),
        (np.array(["a", ""] * 10), r"The label at index 1 is empty: fill it in"),
        (["a", " "] * 10, r"The label at index 1 is ' '"),
    ],
)
def test_what_is_no_label(labels, sentence):
    with pytest.raises(InputError, match=sentence):
        select(SCORES, labels, 0.2)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"noise_rate": "rates.csv"}, r"noise_rate is .*rates.csv.*: give a number, one for each class, or {label"),
        ({"noise_rate": 0.1, "upper": 1.5}, r"The upper end of the noise rate of class 'cat' is 1.5"),
        ({"noise_rate": 0.1, "beta": None}, r"beta is None: it must lie between 0"),
        ({"noise_rate": 0.1, "gamma": None}, r"gamma is None: a number must be finite"),
        ({"noise_rate": 0.1, "probabilities": np.full((20, 2), 0.05)}, r"index 0 .*\(they sum to 0.1\)"),
    ],
)
def test_what_is_no_knowledge_of_the_noise(options, sentence):
    with pytest.raises(InputError, match=sentence):
        select(SCORES, LABELS, **options)


def test_an_example_that_was_never_scored_has_no_label_score():
    P = np.full((20, 2), 0.5)
    P[3] = np.nan
    found = select(SCORES, LABELS, 0.2, probabilities=P)
    assert np.flatnonzero(np.isnan(found.label_score)).tolist() == [3]


def test_classes_have_an_order():
    with pytest.raises(InputError, match="classes is a set, which has no order"):
        select(SCORES, LABELS, 0.2, classes={"cat", "dog"})
    with pytest.raises(InputError, match="classes names a class twice"):
        select(SCORES, LABELS, 0.2, classes=["cat", "dog", "cat"])


def test_a_ledger_without_a_closed_epoch_is_no_score():
    ledger = LossLedger(20)
    with pytest.raises(InputError, match=r"nothing to rank by: no epoch was closed\.$"):
        select(ledger, LABELS, 0.2)
    ledger.update(np.arange(20), SCORES)
    with pytest.raises(InputError, match=r"no epoch was closed. Call end_epoch\(\) first"):
        select(ledger, LABELS, 0.2)
    ledger.end_epoch()
    assert not select(ledger, LABELS, 0.2, prior="uniform").notes
    ledger.update(np.arange(20), SCORES)
    assert "still open is not counted" in select(ledger, LABELS, 0.2).notes[0]
    late = LossLedger(20, window=(30, 60))
    late.update(np.arange(20), SCORES)
    late.end_epoch()
    with pytest.raises(InputError, match=r"no epoch of its window \(30, 60\) was closed"):
        select(late, LABELS, 0.2)


def test_a_matrix_is_never_read_in_the_wrong_order():
    """Written as text, "10" comes before "2": with T unnamed nobody can tell which order its rows are in."""
    T = np.eye(11)
    T[10, 10], T[10, 2] = 0.6, 0.4
    numbers = np.repeat(np.arange(11), 10)
    by_number = select(np.arange(110.0), numbers, transition=T)
    assert by_number.quota.noise_rate[2] > 0.2
    with pytest.raises(InputError, match=r"numbers written as text, .* say with classes= in which order"):
        select(np.arange(110.0), numbers.astype(str), transition=T)
    named = select(np.arange(110.0), numbers.astype(str), transition=T, classes=[str(k) for k in range(11)])
    np.testing.assert_array_equal(named.quota.noise_rate, by_number.quota.noise_rate)
    select(np.arange(20.0), np.repeat(["0", "1"], 10), transition=np.eye(2))  # one order only


def test_what_was_found_wrong_keeps_its_score():
    wrong = np.zeros(20, bool)
    wrong[2] = True
    found = select(SCORES, LABELS, 0.2, known_wrong=wrong)
    np.testing.assert_array_equal(found.table()["score"], SCORES)
    assert found.rank_in_class[2] == 10
    assert found.is_label_issue[2]


def test_a_class_of_which_every_label_was_found_wrong_keeps_nobody():
    """The other class is kept as ever. The rates found can be given to another selection, as for held-out rows: a rate
    of 1 would be refused there."""
    wrong = np.array([label == "cat" for label in LABELS])
    found, plain = (select(SCORES, LABELS, 0.2, known_wrong=given) for given in (wrong, None))
    assert found.is_label_issue[wrong].all()
    assert not found.mask[wrong].any()
    assert found.mask[~wrong].tolist() == plain.mask[~wrong].tolist()
    again = select(SCORES, LABELS, found.quota.noise_rate)
    assert again.quota.num.tolist() == found.quota.num.tolist() == [0, 7]


def test_a_label_score_is_never_above_1():
    """A softmax in single precision may be, by its last digit."""
    P = np.full((20, 2), [1 + 1e-6, 0.0])
    assert select(SCORES, LABELS, 0.2, probabilities=P).label_score.max() == 1


def test_small_classes_whose_rates_round_up_are_told():
    """A known rate is taken at its word: rank > (1 - eta_k) n_k, a whole example where it makes for a fifth of one."""
    labels = np.repeat(np.arange(100), 10)
    found = select(np.arange(1000.0), labels, 0.02, prior="uniform")
    assert found.is_label_issue.sum() == 100
    assert found.notes[-1].startswith("100 labels called likely wrong, where the rates make for about 20: in a small")
    assert not select(np.arange(1000.0), np.repeat(np.arange(10), 100), 0.02, prior="uniform").notes


def test_structured_noise_by_a_mapping():
    np.testing.assert_array_equal(tr.structured(0.4, {2: 0, 0: 1, 1: 1}), tr.structured(0.4, [1, 1, 0]))
    with pytest.raises(InputError, match="what becomes of each class, 0 to 1, also where it stays"):
        tr.structured(0.4, {0: 1, 5: 0})
    with pytest.raises(InputError, match=r"sends class 0 to 0.5, but the classes are 0 to 1"):
        tr.structured(0.4, [0.5, 1])
    with pytest.raises(InputError, match=r"The number of classes is 10.7; it must be a whole number"):
        tr.uniform(0.3, 10.7)


def test_labels_beside_probabilities_may_be_any_whole_numbers():
    rng = np.random.default_rng(0)
    true = np.repeat([0, 1, 2], 200)
    P = np.full((600, 3), 0.05)
    P[np.arange(600), true] = 0.9
    noisy = np.where(rng.random(600) < 0.2, (true + 1) % 3, true)
    rates = sl.estimate(P, noisy).noise_rate
    np.testing.assert_array_equal(sl.estimate(P, 10 * (noisy + 1)).noise_rate, rates)
    np.testing.assert_array_equal(sl.estimate(P, noisy + 1).noise_rate, rates)


def test_a_selection_has_the_verdict_of_the_theory():
    assert select(SCORES, LABELS, 0.2).verdict.theory is None
    assert all(select(SCORES, LABELS, transition=[[0.9, 0.1], [0.2, 0.8]]).verdict.theory.ranking_holds)
    swapped = select(SCORES, LABELS, transition=[[0.4, 0.6], [0.6, 0.4]], prior="uniform").verdict
    assert swapped.word == "do not trust"
    assert "'cat'" in swapped.headline


def test_estimated_rates_come_with_their_verdict():
    rng = np.random.default_rng(0)
    true = np.repeat([0, 1], 500)
    wrong = rng.random(1000) < 0.2
    labels = np.array(["cat", "dog"])[np.where(wrong, 1 - true, true)]
    P = np.where(np.arange(2) == true[:, None], 0.97, 0.03)
    found = select(wrong + rng.random(1000) / 10, labels, probabilities=P)
    assert found.verdict.word == "unchecked"
    assert found.verdict.counts == found.estimated.evidence
    assert pickle.loads(pickle.dumps(found)).verdict == found.verdict
