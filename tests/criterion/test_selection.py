"""The class-by-class selection: the paper's counts, ranks, weights, reasons, scores, and the words for what happens."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smallloss.criterion.selection import REASONS, precision_recall, select_globally
from smallloss.errors import InputError
from smallloss.noise.choose import select

NAN = float("nan")
SIZES = np.array([6322, 6323, 2678, 4532, 2663, 4468, 4500, 6337, 4500, 2677])  # under structured noise of 0.4
INTO = 0.4 / 1.4
RATES = [INTO, INTO, 0, 0.4, 0, 0.4, 0, INTO, 0, 0]


def test_structured_noise_with_a_perfect_ranking():
    """Drops 15,248 of 45,000, of which 9,100 are wrong: `selected` and `is_label_issue` are not opposites."""
    wrong = np.array([1822, 1823, 0, 1825, 0, 1793, 0, 1837, 0, 0])
    is_right = np.concatenate([np.arange(size) >= bad for size, bad in zip(SIZES, wrong, strict=True)])
    score = np.random.default_rng(0).random(45_000) + 2 * ~is_right
    result = select(score, np.repeat(np.arange(10), SIZES), RATES, prior="uniform")
    assert result.mask.sum() == 29_752
    assert (~result.mask & ~is_right).sum() == 9_100
    assert precision_recall(result.mask, is_right) == (1.0, 29_752 / 35_900)
    assert result.is_label_issue.sum() == 9_026  # the rates asked for, not those drawn
    assert result.notes == ()


def test_transition_gives_the_same_as_the_rates_it_implies():
    T = np.eye(10) * 0.6
    T[np.arange(10), [0, 1, 0, 5, 7, 3, 6, 7, 8, 1]] += 0.4
    labels = np.repeat(np.arange(10), [1400, 1400, 600, 1000, 600, 1000, 1000, 1400, 1000, 600])
    score = np.random.default_rng(0).random(len(labels))
    by_rates = select(score, labels, RATES, prior="uniform")
    by_transition = select(score, labels, transition=T)
    np.testing.assert_allclose(by_transition.quota.prior, 0.1, atol=1e-9)
    np.testing.assert_allclose(by_transition.quota.noise_rate, RATES, atol=1e-9)
    np.testing.assert_array_equal(by_transition.mask, by_rates.mask)


def test_ranks_reasons_and_cutoffs_by_hand():
    #        a: 10 examples, eta .4 -> 6 trusted, prop .52 -> 5 safe; b: 2 examples, eta 0 -> 2
    score = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 5.0, 4.0]
    result = select(score, ["a"] * 10 + ["b"] * 2, {"a": 0.4, "b": 0.0}, prior="uniform", gamma=1.5)
    assert result.rank_in_class.tolist() == [*range(1, 11), 2, 1]
    kept, wrong, safety, balance = REASONS[:4]
    assert result.reason.tolist() == [kept] * 3 + [balance] * 2 + [safety] + [wrong] * 4 + [kept] * 2
    assert result.cutoff.tolist() == [0.2, 5.0]
    assert {name: column.tolist() for name, column in result.class_table().items()} == {
        "label": ["a", "b"], "n": [10, 2], "noise_rate": [0.4, 0.0], "proportion": [0.52, 1.0], "kept": [3, 2],
        "likely_wrong": [4, 0], "set_aside": [3, 0], "cutoff": [0.2, 5.0],
    }  # fmt: skip
    table = pa.table(result.table())
    names = "is_label_issue label_score given_label score rank_in_class quota cutoff weight selected reason"
    assert (table.column_names, table.num_rows) == (names.split(), 12)
    assert pa.table(result.class_table()).num_rows == 2


@pytest.mark.parametrize(
    "how, weight",
    [({}, [1, 0.7**0.5, 0.7, 0]), ({"weight_max": "class"}, [1, 0.7 ** (1 / 8), 0.7 ** (1 / 4), 0]),
     ({"kappa": 0.0}, [1, 1, 1, 0])],
    ids=["paper", "its code", "flat"],
)  # fmt: skip
def test_weights(how, weight):
    score = np.array([1.0, 2.0, 3.0, 9.0, 5.0])
    result = select(score, [0, 0, 0, 0, 1], [0.25, 0.0], beta=0.0, **how)
    score[:] = 9  # a later change of the scores does not reach the selection
    np.testing.assert_allclose(result.weight, [*weight, 1.0], rtol=1e-6)


def test_equal_scores_are_ranked_by_index_and_weigh_the_same():
    result = select(np.zeros(3000), np.tile([0, 1, 2], 1000), 0.5)
    assert result.rank_in_class.tolist() == [1 + i // 3 for i in range(3000)]
    assert np.flatnonzero(result.mask).tolist() == [*range(1200)]
    assert set(result.weight.tolist()) == {0.0, 1.0}


examples = st.integers(1, 80).flatmap(
    lambda n: st.tuples(
        st.permutations(range(n)), st.lists(st.integers(-2, 3), min_size=n, max_size=n), st.permutations(range(n))
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
    score, labels = np.array(rows[0]) // 3, np.array(rows[1])  # some are tied
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
        by_rank = members[np.argsort(result.rank_in_class[members])]
        assert by_rank.tolist() == members[np.argsort(score[members], kind="stable")].tolist()
        assert (np.diff(result.label_score[by_rank]) < 0).all()
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
    score = select(np.arange(1000.0), np.zeros(1000, int), eta).label_score
    assert score.mean() == pytest.approx(1 - eta, abs=0.007 if 0.1 <= eta <= 0.9 else 0.035)
    cut = round((1 - eta) * 1000)
    assert score[cut - 1] > 0.5
    assert not (score[cut:] >= 0.5).any()
    assert 0 < score.min() < score.max() < 1


def test_label_score_has_no_ties_in_a_class_of_a_million():
    result = select(np.arange(1e6), np.zeros(10**6, np.uint8), 0.02)
    assert (np.diff(result.label_score) < 0).all()


def test_label_score_is_the_given_probability():
    """None where nothing was predicted, and never above 1, as a softmax in single precision may be."""
    P = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0, 1 + 1e-6], [NAN, NAN]])
    found = select([1, 2, 3, 4, 5], ["b", "a", "b", "b", "a"], 0.1, probabilities=P).label_score
    np.testing.assert_array_equal(found, [0.1, 0.3, 0.5, 1, NAN])


def test_examples_never_seen_are_neither_ranked_nor_counted():
    result = select([NAN, 1.0, 3.0, 2.0, NAN, 4.0], [0, 0, 0, 0, 1, 0], 0.25, beta=0.0, prior="uniform")
    assert result.quota.n.tolist() == [4, 0]
    assert result.rank_in_class.tolist() == [0, 1, 3, 2, 0, 4]
    assert np.flatnonzero(result.mask).tolist() == [1, 2, 3]
    assert np.flatnonzero(result.is_label_issue).tolist() == [5]
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


# --- small classes ------------------------------------------------------------------------------------------

SMALL = ["one", "two", "three", "many"]
LABELS = np.repeat(SMALL, [1, 2, 3, 40])
SCORE = np.concatenate([[9.0], [1.0, 9.0], [1.0, 2.0, 9.0], np.arange(40.0)])


@pytest.mark.parametrize(
    "rate, upper, wrong",
    [
        ([0.1] * 4, None, [1, 1, 1, 4]),  # a rate that is known is taken at its word
        ([0.1] * 4, [0.6] * 4, [0, 0, 0, 4]),  # one that is estimated condemns no class that is too small for it
        ([0.3] * 4, [0.4] * 4, [0, 1, 1, 12]),  # 0.6 and 0.9 of an example
        ([0.23] * 4, [0.3] * 4, [0, 0, 1, 10]),  # 0.46 and 0.69 of one
        ([0.68] * 4, None, [1, 2, 3, 28]),
        # right labels of a class that the network never learnt: its rate is high because nothing is known
        ([0.68, 0.68, 0.68, 0.1], [0.97, 0.97, 0.97, 0.15], [0, 0, 0, 4]),
        ([0.68, 0.68, 0.68, 0.1], [0.7, 0.7, 0.7, 0.15], [0, 2, 3, 4]),  # sure of it
        ([0.68] * 4, [0.97] * 4, [0, 0, 0, 28]),  # a class of 40 is evidence for itself
    ],
)
def test_how_many_are_likely_wrong_in_small_classes(rate, upper, wrong):
    found = select(SCORE, LABELS, rate, classes=SMALL, upper=upper)
    assert [int(found.is_label_issue[name == LABELS].sum()) for name in SMALL] == wrong
    few = [name for name, many in zip(SMALL, wrong, strict=True) if upper and not many]
    said = f"Too few examples are labelled {', '.join(map(repr, few))} to call any of them likely wrong at the"
    assert any(note.startswith(said) for note in found.notes) == bool(few)
    if few:
        assert (found.reason[0], found.mask[0]) == ("set aside for safety", False)
        assert found.label_score[0] > 0.5


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 60), rate=st.floats(0, 0.95), doubt=st.floats(0, 0.99))
def test_otherwise_the_definition_holds_to_the_letter(n, rate, doubt):
    """rank > (1 - eta_k) n_k, from half an example on; below that none. Of ten or fewer only if it is sure."""
    score = np.random.default_rng(n).permutation(n).astype(float)
    upper = rate + (doubt if n > 10 else min(doubt, 0.19)) * (1 - rate)
    selection = select(score, np.zeros(n, int), [rate], upper=[upper])
    letter = selection.rank_in_class > (1 - rate) * n + 1e-9
    np.testing.assert_array_equal(selection.is_label_issue, letter if rate * n >= 0.5 else np.zeros(n, bool))
    assert not (selection.mask & selection.is_label_issue).any()


def test_small_classes_whose_rates_round_up_are_told():
    """A known rate is taken at its word: rank > (1 - eta_k) n_k, a whole example where it makes for a fifth of one."""
    found = select(np.arange(1000.0), np.repeat(np.arange(100), 10), 0.02, prior="uniform")
    assert found.is_label_issue.sum() == 100
    assert found.notes[-1].startswith("100 labels called likely wrong, where the rates make for about 20: in a small")
    assert not select(np.arange(1000.0), np.repeat(np.arange(10), 100), 0.02, prior="uniform").notes


def test_a_class_of_one_example():
    result = select([1.0, 2.0, 3.0], ["a", "b", "b"], {"a": 0.3, "b": 0.0})
    assert result.mask.tolist() == [False, True, True]
    assert result.is_label_issue.tolist() == [True, False, False]
    assert "No example labelled 'a' is kept." in result.notes
    assert select([1.0], ["a"], 0.0).mask.tolist() == [True]


# --- beside it ----------------------------------------------------------------------------------------------


def test_one_ranking_over_all_classes():
    score = [0.3, 0.1, NAN, 0.2, 0.1]
    assert select_globally(score, 0.5).tolist() == [False, True, False, False, True]
    assert select_globally([1.0] * 6, 1 / 3).tolist() == [True, True] + [False] * 4
    with pytest.raises(InputError, match=r"share is 1\.5"):
        select_globally(score, 1.5)


def test_precision_and_recall():
    assert precision_recall([1, 1, 0, 0], [1, 0, 1, 1]) == (1 / 2, 1 / 3)
    assert np.isnan(precision_recall([0, 0], [1, 0]).precision)
    with pytest.raises(InputError, match="is_right"):
        precision_recall([1], [1, 0])
