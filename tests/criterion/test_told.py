"""What `select` is told: nonsense is refused in a sentence, and whatever means the same is taken the same."""

import pickle

import numpy as np
import pytest
import torch

import smallloss as sl
from ledgers import ledger_of
from smallloss.criterion.ledger import LossLedger
from smallloss.errors import InputError
from smallloss.noise.choose import select

LABELS = ["cat"] * 10 + ["dog"] * 10
SCORES = np.arange(20.0)
NAN = float("nan")


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


def test_rates_prior_and_upper_ends_by_name():
    rates, prior, upper = {"dog": 0.5, "cat": 0.1}, {"dog": 0.3, "cat": 0.7}, {"dog": 0.6, "cat": 0.3}
    plain = select(SCORES, LABELS, [0.1, 0.5], prior=[0.7, 0.3], upper=[0.3, 0.6])
    for kind in (dict, Series):
        named = select(SCORES, LABELS, kind(rates), prior=kind(prior), upper=kind(upper))
        np.testing.assert_array_equal(named.quota.num, plain.quota.num)
        np.testing.assert_array_equal(named.quota.noise_rate, [0.1, 0.5])
        np.testing.assert_array_equal(named.quota.prior, [0.7, 0.3])


@pytest.mark.parametrize(
    "prior, num, note",
    [
        (None, [10, 10], "prior is unknown"),
        ([0.25, 0.75], [3, 10], None),
        ({"cat": 0.2, "dog": 0.6, "emu": 0.2}, [3, 10], "prior names 'emu', which no example carries."),
        ([1.0, 0.0], [10, 0], "Class 'dog' is left out of the balance: its prior is 0."),
    ],
)
def test_the_prior_in_all_its_forms(prior, num, note):
    found = select(SCORES, LABELS, 0.0, prior=prior, gamma=1)
    assert found.quota.num.tolist() == num
    assert any(note in one for one in found.notes) if note else not found.notes


def test_tensors_are_taken_wherever_arrays_are():
    P = torch.full((20, 2), 0.5, dtype=torch.bfloat16, requires_grad=True)
    scores = torch.arange(20.0, requires_grad=True).bfloat16()
    found = select(scores, LABELS, torch.tensor([0.1, 0.5], requires_grad=True), probabilities=P)
    assert found.quota.noise_rate == pytest.approx([0.1, 0.5])
    assert sl.check(torch.eye(3, requires_grad=True)).word == "unchecked"


@pytest.mark.parametrize(
    "labels, classes",
    [
        (["b", "a", "b", "a"], ["a", "b"]),
        (np.array(["b", "a", "b", "a"], dtype=object), ["a", "b"]),
        ([7, -3, 7, -3], [-3, 7]),
        (np.array([127, -128] * 2, dtype=np.int8), [-128, 127]),
        ((True, False, True, False), [False, True]),
        ([2.0, 1.0, 2.0, 1.0], [1.0, 2.0]),
        (torch.tensor([5, 2, 5, 2]), [2, 5]),
    ],
)
def test_labels_of_every_kind(labels, classes):
    result = select([0.4, 0.3, 0.2, 0.1], labels, dict.fromkeys(classes, 0.0))
    assert result.classes.tolist() == classes
    assert result.rank_in_class.tolist() == [2, 2, 1, 1]
    assert result.table()["given_label"].tolist() == [classes[k] for k in (1, 0, 1, 0)]


@pytest.mark.parametrize(
    "labels, sentence",
    [
        (np.arange(20) / 7, r"The label at index 1 is 0.142857: .* The scores come before the labels"),
        (list(np.arange(20) / 7), r"The label at index 1 is .*: a label must be text or a whole number"),
        (np.array([np.inf, 1.0] * 10), r"The label at index 0 is inf"),
        (np.array(["a", ""] * 10), r"The label at index 1 is empty: fill it in"),
        (["a", " "] * 10, r"The label at index 1 is ' '"),
        (["a", 1] * 10, r"index 0 is text \('a'\), index 1 is a number \(1\)"),
        (["a", None] * 10, "index 1 is None"),
        ([1.0, NAN] * 10, "index 1 is nan"),
        (np.array([1.0, NAN] * 10), "index 1 is missing"),
        (["a", ["b"]] * 10, r"index 1 is \['b'\]"),
        (np.eye(20), "one-hot"),
        ([], "no labels"),
        (["a", "b"], r"score has shape \(20,\), but there are 2 labels"),
    ],
)
def test_what_is_no_label(labels, sentence):
    with pytest.raises(InputError, match=sentence):
        select(SCORES, labels, 0.2)


EVEN = np.full((20, 2), 0.5)
ODD = np.where(np.arange(20)[:, None] == 1, [NAN, 0.5], EVEN)


@pytest.mark.parametrize(
    "told, sentence",
    [
        ({"noise_rate": None}, "noise rate is not known"),
        ({"noise_rate": {"cat": 0.1}}, "noise_rate says nothing about 'dog': give"),
        ({"noise_rate": {"cat": 0.1, "dogs": 0.1}}, r"about 'dog' \(and no example carries 'dogs'\)"),
        ({"noise_rate": [0.1, 0.2, 0.3]}, "2 classes"),
        ({"noise_rate": 1.0}, "class 'cat' is 1"),
        ({"noise_rate": "rates.csv"}, r"noise_rate is .*rates.csv.*: give a number, one for each class, or {label"),
        ({"upper": 1.5}, r"The upper end of the noise rate of class 'cat' is 1.5"),
        ({"transition": np.eye(3), "noise_rate": None}, "transition is for 3 classes, but the labels have 2"),
        ({"prior": "flat"}, 'only word for it is "uniform"'),
        ({"prior": {"cat": 1.0}}, "prior says nothing about 'dog'"),
        ({"prior": {"cat": 30, "dog": 70}}, "class 'cat' is 30"),
        ({"kappa": -1.0}, "kappa is -1"),
        ({"weight_max": "all"}, "weight_max is 'all'"),
        ({"beta": None}, r"beta is None: it must lie between 0"),
        ({"beta": -0.1}, "beta is -0.1"),
        ({"gamma": None}, r"gamma is None: a number must be finite"),
        ({"probabilities": EVEN / 10}, r"index 0 .*\(they sum to 0.1\)"),
        ({"probabilities": ODD}, "example at index 1 are not shares that sum to 1"),
        ({"probabilities": np.full((20, 3), 1 / 3)}, r"probabilities have shape \(20, 3\): expected \(20, 2\)"),
        ({"score": np.where(SCORES == 1, np.inf, SCORES)}, "index 1 is infinite"),
        ({"score": SCORES[:, None]}, r"score has shape \(20, 1\)"),
        ({"classes": {"cat", "dog"}}, "classes is a set, which has no order"),
        ({"classes": ["cat", "dog", "cat"]}, "classes names a class twice"),
        ({"known_wrong": [1, 0] * 10}, "give true or false for each label"),
    ],
)
def test_what_makes_no_sense_is_named(told, sentence):
    with pytest.raises(InputError, match=sentence):
        select(**{"score": SCORES, "labels": LABELS, "noise_rate": 0.1} | told)


def test_a_ledger_is_ranked_by_its_mean_loss_once_an_epoch_is_closed():
    ledger = LossLedger(3)
    with pytest.raises(InputError, match=r"nothing to rank by: no epoch was closed\.$"):
        select(ledger, [0, 0, 0], 0.3)
    ledger.update([0, 1, 2], [3.0, 1.0, 2.0])
    with pytest.raises(InputError, match=r"no epoch was closed. Call end_epoch\(\) first"):
        select(ledger, [0, 0, 0], 0.3)
    ledger.end_epoch()
    ledger.update([0, 1, 2], [0.0, 5.0, 2.0])
    assert "still open is not counted" in select(ledger, [0, 0, 0], 0.3).notes[0]
    ledger.end_epoch()
    found = select(ledger, [0, 0, 0], 0.3, prior="uniform")
    assert (found.rank_in_class.tolist(), found.notes) == ([1, 3, 2], ())
    late = ledger_of(20, [(np.arange(20), SCORES)], window=(30, 60))
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
    found = select(SCORES, LABELS, 0.2, known_wrong=np.arange(20) == 2)
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


def test_a_selection_has_the_verdict_of_the_theory():
    assert select(SCORES, LABELS, 0.2).verdict.theory is None
    assert all(select(SCORES, LABELS, transition=[[0.9, 0.1], [0.2, 0.8]]).verdict.theory.ranking_holds)
    swapped = select(SCORES, LABELS, transition=[[0.4, 0.6], [0.6, 0.4]], prior="uniform").verdict
    assert swapped.word == "do not trust"
    assert "'cat'" in swapped.headline


def test_rates_that_nobody_knows_are_estimated_and_come_with_their_verdict():
    """Perfect probabilities under uniform noise: the rates come out, the upper ends hold back, and it is said."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 6000)
    labels = np.where(rng.random(6000) < 0.3, rng.integers(0, 3, 6000), truth)
    score, names = (labels != truth) + rng.random(6000), np.array(["a", "b", "c"])
    found = select(score, names[labels], probabilities=np.eye(3)[truth] * 0.7 + 0.1)
    assert found.quota.noise_rate == pytest.approx(np.full(3, 0.2), abs=0.04)
    assert (truth == labels)[found.mask].all()
    assert found.notes[0].startswith("The noise rates are estimated: ")
    known = select(score, names[labels], noise_rate=found.quota.noise_rate, prior=found.quota.prior)
    assert (found.quota.num <= known.quota.num).all()
    assert found.verdict.word == "unchecked"
    assert found.verdict.counts == found.estimated.evidence
    assert pickle.loads(pickle.dumps(found)).verdict == found.verdict
