"""The class-by-class selection: the paper's counts, the words for what happens, and input of every kind."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.selection import REASONS, precision_recall, select_globally
from smallloss.errors import InputError
from smallloss.noise.choose import select

NAN = float("nan")


def test_structured_noise_with_a_perfect_ranking():
    """Drops 15,248 of 45,000, of which 9,100 are wrong: `selected` and `is_label_issue` are not opposites."""
    n = np.array([6322, 6323, 2678, 4532, 2663, 4468, 4500, 6337, 4500, 2677])
    wrong = np.array([1822, 1823, 0, 1825, 0, 1793, 0, 1837, 0, 0])
    labels = np.repeat(np.arange(10), n)
    is_right = np.concatenate([np.arange(size) >= bad for size, bad in zip(n, wrong, strict=True)])
    score = np.random.default_rng(0).random(45_000) + 2 * ~is_right
    into = 0.4 / 1.4
    result = select(score, labels, [into, into, 0, 0.4, 0, 0.4, 0, into, 0, 0], prior="uniform")
    assert result.mask.sum() == 29_752
    assert (~result.mask).sum() == 15_248
    assert (~result.mask & ~is_right).sum() == 9_100
    assert precision_recall(result.mask, is_right) == (1.0, 29_752 / 35_900)
    assert result.is_label_issue.sum() == 9_026  # the rates asked for, not those drawn
    assert result.notes == ()


def test_transition_gives_the_same_as_the_rates_it_implies():
    r = 0.4
    flips = [0, 1, 0, 5, 7, 3, 6, 7, 8, 1]
    T = np.eye(10) * (1 - r)
    T[np.arange(10), flips] += r
    labels = np.repeat(np.arange(10), [1400, 1400, 600, 1000, 600, 1000, 1000, 1400, 1000, 600])
    score = np.random.default_rng(0).random(len(labels))
    into = r / (1 + r)
    rates = [into, into, 0, r, 0, r, 0, into, 0, 0]
    by_rates = select(score, labels, rates, prior="uniform")
    by_transition = select(score, labels, transition=T)
    np.testing.assert_allclose(by_transition.quota.prior, 0.1, atol=1e-9)
    np.testing.assert_allclose(by_transition.quota.noise_rate, rates, atol=1e-9)
    np.testing.assert_array_equal(by_transition.mask, by_rates.mask)
    with pytest.raises(InputError, match="transition is for 3 classes, but the labels have 10"):
        select(score, labels, transition=np.eye(3))


def test_ranks_reasons_and_cutoffs_by_hand():
    #        a: 10 examples, eta .4 -> 6 trusted, prop .52 -> 5 safe; b: 2 examples, eta 0 -> 2
    score = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 5.0, 4.0]
    labels = ["a"] * 10 + ["b"] * 2
    result = select(score, labels, {"a": 0.4, "b": 0.0}, prior="uniform", gamma=1.5)
    assert result.quota.num.tolist() == [3, 2]
    assert result.rank_in_class.tolist() == [*range(1, 11), 2, 1]
    kept, wrong, safety, balance = REASONS[:4]
    assert result.reason.tolist() == [kept] * 3 + [balance] * 2 + [safety] + [wrong] * 4 + [kept] * 2
    assert result.cutoff.tolist() == [0.2, 5.0]
    columns = result.class_table()
    assert columns.pop("label").tolist() == ["a", "b"]
    assert {name: column.tolist() for name, column in columns.items()} == {
        "n": [10, 2],
        "noise_rate": [0.4, 0.0],
        "proportion": [0.52, 1.0],
        "kept": [3, 2],
        "likely_wrong": [4, 0],
        "set_aside": [3, 0],
        "cutoff": [0.2, 5.0],
    }


def test_weights_of_the_paper_and_of_its_code():
    score = np.array([1.0, 2.0, 3.0, 9.0, 5.0])
    labels = [0, 0, 0, 0, 1]
    paper = select(score, labels, [0.25, 0.0], beta=0.0)
    np.testing.assert_allclose(paper.weight, [1.0, 0.7**0.5, 0.7, 0.0, 1.0], rtol=1e-6)
    code = select(score, labels, [0.25, 0.0], beta=0.0, weight_max="class")
    np.testing.assert_allclose(code.weight, [1.0, 0.7 ** (1 / 8), 0.7 ** (1 / 4), 0.0, 1.0], rtol=1e-6)
    flat = select(score, labels, [0.25, 0.0], beta=0.0, kappa=0.0)
    assert flat.weight.tolist() == [1.0, 1.0, 1.0, 0.0, 1.0]


def test_equal_scores_are_ranked_by_index_and_weigh_the_same():
    score = np.zeros(3000)
    labels = np.tile([0, 1, 2], 1000)
    result = select(score, labels, 0.5)
    assert result.rank_in_class.tolist() == [1 + i // 3 for i in range(3000)]
    assert result.mask.sum() == 1200
    assert result.mask[:1200].all()
    assert set(result.weight.tolist()) == {0.0, 1.0}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=60))
def test_ranks_are_those_of_a_stable_sort(rows):
    score = np.array([s for s, _ in rows], float)
    labels = np.array([y for _, y in rows])
    result = select(score, labels, 0.1)
    for k in np.unique(labels):
        members = np.flatnonzero(labels == k)
        expected = members[np.argsort(score[members], kind="stable")]
        assert result.rank_in_class[expected].tolist() == list(range(1, len(members) + 1))


examples = st.integers(1, 80).flatmap(
    lambda n: st.tuples(
        st.permutations(range(n)),
        st.lists(st.integers(-2, 3), min_size=n, max_size=n),
        st.permutations(range(n)),
    )
)


@given(examples, st.floats(0, 0.95), st.sampled_from([None, "uniform"]))
def test_a_permutation_of_the_examples_permutes_the_result(rows, rate, prior):
    score, labels, order = (np.array(column) for column in rows)
    one = select(score / 7, labels, rate, prior=prior)
    other = select(score[order] / 7, labels[order], rate, prior=prior)
    for name, column in one.table().items():
        np.testing.assert_array_equal(column[order], other.table()[name])


@given(examples, st.floats(0, 0.99), st.floats(0, 1), st.sampled_from(["observed", "nominal"]))
def test_invariants(rows, rate, beta, class_size):
    score, labels, _ = (np.array(column) for column in rows)
    result = select(score / 7, labels, rate, beta=beta, prior="uniform", class_size=class_size)
    assert not (result.mask & result.is_label_issue).any()
    per_class = np.bincount(result.class_index, minlength=len(result.classes))
    kept = np.bincount(result.class_index[result.mask], minlength=len(result.classes))
    assert (kept == result.quota.num).all()
    assert (kept <= per_class).all()
    assert ((result.weight > 0) == result.mask).all()
    assert ((result.reason_code == 0) == result.mask).all()
    assert ((result.reason_code == 1) == result.is_label_issue).all()
    np.testing.assert_array_equal(result.label_score < 0.5, result.is_label_issue)
    for k in range(len(per_class)):
        members = np.flatnonzero(result.class_index == k)
        in_order = result.label_score[members[np.argsort(result.rank_in_class[members])]]
        assert (np.diff(in_order) < 0).all()
        assert result.class_table()["likely_wrong"][k] == result.is_label_issue[members].sum()


@settings(max_examples=25)
@given(st.floats(0, 0.9), st.integers(2, 6), st.integers(0, 10**6))
def test_a_perfect_ranking_selects_only_right_labels(rate, c, seed):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(c), rng.integers(0, c, 500)])
    score, is_right = rng.random(len(labels)), np.ones(len(labels), bool)
    for k in range(c):
        members = np.flatnonzero(labels == k)
        is_right[rng.permutation(members)[: int(rate * len(members))]] = False
    result = select(score + ~is_right, labels, rate)
    assert is_right[result.mask].all()
    assert result.is_label_issue[~is_right].all()
    assert (result.is_label_issue & is_right).sum() <= c  # (1 - eta_k) n_k is rounded down, once per class


@pytest.mark.parametrize("eta", [0.0, 0.1, 0.3, 0.5, 0.8, 0.95])
def test_label_score_is_a_probability_by_rank(eta):
    result = select(np.arange(1000.0), np.zeros(1000, int), eta)
    tolerance = 0.007 if 0.1 <= eta <= 0.9 else 0.035
    assert result.label_score.mean() == pytest.approx(1 - eta, abs=tolerance)
    cut = round((1 - eta) * 1000)
    assert result.label_score[cut - 1] > 0.5
    assert not (result.label_score[cut:] >= 0.5).any()
    assert result.label_score.min() > 0
    assert result.label_score.max() < 1


def test_label_score_has_no_ties_in_a_class_of_a_million():
    result = select(np.arange(1e6), np.zeros(10**6, np.uint8), 0.02)
    assert (np.diff(result.label_score) < 0).all()


def test_label_score_is_the_given_probability():
    p = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]])
    assert select([1, 2, 3], ["b", "a", "b"], 0.1, probabilities=p).label_score.tolist() == [0.1, 0.3, 0.5]
    with pytest.raises(InputError, match=r"probabilities have shape \(3, 2\): expected \(3, 3\)"):
        select([1, 2, 3], ["b", "a", "c"], 0.1, probabilities=p)
    p[1, 0] = NAN
    with pytest.raises(InputError, match="example at index 1 are not shares that sum to 1"):
        select([1, 2, 3], ["b", "a", "b"], 0.1, probabilities=p)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b", "a"], ["a", "b"]),
        (np.array(["b", "a", "b", "a"]), ["a", "b"]),
        (np.array(["b", "a", "b", "a"], dtype=object), ["a", "b"]),
        ([7, -3, 7, -3], [-3, 7]),
        (np.array([10**12, -(10**12)] * 2), [-(10**12), 10**12]),
        (np.array([2**64 - 1, 2**64 - 9] * 2, dtype=np.uint64), [2**64 - 9, 2**64 - 1]),
        (np.array([127, -128] * 2, dtype=np.int8), [-128, 127]),
        ((True, False, True, False), [False, True]),
        ([2.0, 1.0, 2.0, 1.0], [1.0, 2.0]),
        (torch.tensor([5, 2, 5, 2]), [2, 5]),
    ],
)
def test_labels_of_every_kind(labels, classes):
    result = select([0.4, 0.3, 0.2, 0.1], labels, dict.fromkeys(classes, 0.0))
    assert result.classes.tolist() == classes
    assert result.class_index.tolist()[1] == result.class_index.tolist()[3]
    assert result.rank_in_class.tolist() == [2, 2, 1, 1]
    assert result.table()["given_label"].tolist() == [classes[k] for k in result.class_index]


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a", 1, "b"], r"index 0 is text \('a'\), index 1 is a number \(1\)"),
        (["a", None, "b"], "index 1 is None"),
        ([1.0, 2.0, NAN], "index 2 is nan"),
        (np.array([1.0, NAN, 2.0]), "index 1 is missing"),
        (["a", ["b"], "c"], r"index 1 is \['b'\]"),
        (np.eye(3), "one-hot"),
        ([], "no labels"),
        (["a", "b"], r"score has shape \(3,\), but there are 2 labels"),
    ],
)
def test_labels_that_cannot_be_are_named(labels, sentence):
    with pytest.raises(InputError, match=sentence):
        select([0.1, 0.2, 0.3], labels, 0.1)


def test_examples_never_seen_are_neither_ranked_nor_counted():
    score = [NAN, 1.0, 3.0, 2.0, NAN, 4.0]
    result = select(score, [0, 0, 0, 0, 1, 0], 0.25, beta=0.0, prior="uniform")
    assert result.quota.n.tolist() == [4, 0]
    assert result.rank_in_class.tolist() == [0, 1, 3, 2, 0, 4]
    assert result.mask.tolist() == [False, True, True, True, False, False]
    assert result.is_label_issue.tolist() == [False, False, False, False, False, True]
    assert [result.reason[i] for i in (0, 4)] == ["never seen"] * 2
    assert np.isnan(result.label_score[[0, 4]]).all()
    assert np.isnan(result.cutoff[1])
    assert result.notes == (
        "Class 1 is left out of the balance: it has no examples.",
        "No example labelled 1 is kept.",
        "2 examples never seen, and so not ranked.",
    )
    nobody = select([NAN, NAN], ["a", "b"], 0.1, prior="uniform")
    assert not nobody.mask.any()
    assert nobody.weight.tolist() == [0.0, 0.0]


def test_class_of_one_example():
    result = select([1.0, 2.0, 3.0], ["a", "b", "b"], {"a": 0.3, "b": 0.0})
    assert result.mask.tolist() == [False, True, True]
    assert result.is_label_issue.tolist() == [True, False, False]
    assert "No example labelled 'a' is kept." in result.notes
    assert select([1.0], ["a"], 0.0).mask.tolist() == [True]


def test_a_ledger_is_ranked_by_its_mean_loss():
    ledger = LossLedger(3)
    for row in ([3.0, 1.0, 2.0], [0.0, 5.0, 2.0]):
        ledger.update([0, 1, 2], row)
        ledger.end_epoch()
    assert select(ledger, [0, 0, 0], 0.3).rank_in_class.tolist() == [1, 3, 2]


def test_a_later_change_of_the_scores_does_not_reach_the_selection():
    score = np.array([1.0, 2.0, 3.0])
    result = select(score, [0, 0, 0], 0.0)
    score[:] = 9
    np.testing.assert_allclose(result.weight, [1.0, 0.7**0.5, 0.7], rtol=1e-6)


def test_the_prior_in_all_its_forms():
    labels, score = ["a"] * 6 + ["b"] * 6, np.arange(12.0)
    unknown = select(score, labels, 0.0)
    assert unknown.quota.prior is None
    assert "prior is unknown" in unknown.notes[0]
    for prior in ([0.25, 0.75], {"b": 0.75, "a": 0.25}, {"a": 0.2, "b": 0.6, "c": 0.2}):
        result = select(score, labels, 0.0, prior=prior, gamma=1)
        assert result.quota.num.tolist() == [2, 6]
    assert result.notes == ("prior names 'c', which no example carries.",)
    zero = select(score, labels, 0.0, prior=[1.0, 0.0])
    assert zero.quota.num.tolist() == [6, 0]
    assert "Class 'b' is left out of the balance: its prior is 0." in zero.notes


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"noise_rate": None}, "noise rate is not known"),
        ({"noise_rate": {"a": 0.1}}, "noise_rate says nothing about 'b': give"),
        ({"noise_rate": {"a": 0.1, "bb": 0.1}}, r"about 'b' \(and no example carries 'bb'\)"),
        ({"noise_rate": [0.1, 0.2, 0.3]}, "2 classes"),
        ({"noise_rate": 1.0}, "class 'a' is 1"),
        ({"prior": "flat"}, 'only word for it is "uniform"'),
        ({"prior": {"a": 1.0}}, "prior says nothing about 'b'"),
        ({"prior": {"a": 30, "b": 70}}, "class 'a' is 30"),
        ({"kappa": -1.0}, "kappa is -1"),
        ({"weight_max": "all"}, "weight_max is 'all'"),
        ({"beta": -0.1}, "beta is -0.1"),
        ({"gamma": 0.5}, "gamma is 0.5"),
        ({"score": [1.0, float("inf"), 2.0]}, "index 1 is infinite"),
        ({"score": [[1.0], [2.0], [3.0]]}, r"score has shape \(3, 1\)"),
    ],
)
def test_bad_input_is_named(arguments, sentence):
    arguments = {"score": [1.0, 2.0, 3.0], "labels": ["a", "b", "a"], "noise_rate": 0.1} | arguments
    with pytest.raises(InputError, match=sentence):
        select(**arguments)


def test_table_is_accepted_by_arrow():
    result = select([1.0, NAN, 3.0], ["a", "b", "a"], 0.4)
    table = pa.table(result.table())
    names = "is_label_issue label_score given_label score rank_in_class quota cutoff weight selected reason"
    assert table.column_names == names.split()
    assert table.num_rows == 3
    assert table["reason"].to_pylist() == ["kept", "never seen", "likely wrong"]
    assert pa.table(result.class_table()).num_rows == 2


def test_one_ranking_over_all_classes():
    score = [0.3, 0.1, NAN, 0.2, 0.1]
    assert select_globally(score, 0.5).tolist() == [False, True, False, False, True]
    assert select_globally([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 1 / 3).tolist() == [True, True] + [False] * 4
    with pytest.raises(InputError, match=r"share is 1\.5"):
        select_globally(score, 1.5)


def test_precision_and_recall():
    assert precision_recall([1, 1, 0, 0], [1, 0, 1, 1]) == (1 / 2, 1 / 3)
    assert np.isnan(precision_recall([0, 0], [1, 0]).precision)
    with pytest.raises(InputError, match="is_right"):
        precision_recall([1], [1, 0])


def test_rates_that_nobody_knows_are_estimated_from_probabilities_out_of_sample():
    """Perfect probabilities under uniform noise: the rates come out, the upper ends hold back, and it is said."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 6000)
    labels = np.where(rng.random(6000) < 0.3, rng.integers(0, 3, 6000), truth)
    probabilities = np.eye(3)[truth] * 0.7 + 0.1
    score = (labels != truth) + rng.random(6000)
    names = np.array(["a", "b", "c"])
    found = select(score, names[labels], probabilities=probabilities)
    assert found.quota.noise_rate == pytest.approx(np.full(3, 0.2), abs=0.04)
    assert (truth == labels)[found.mask].all()
    assert found.notes[0].startswith("The noise rates are estimated: ")
    known = select(score, names[labels], noise_rate=found.quota.noise_rate, prior=found.quota.prior)
    assert (found.quota.num <= known.quota.num).all()
