"""An estimated rate is no evidence against the only example of a class; a rate that is known is taken at its word."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from smallloss.noise.choose import select

LABELS = np.repeat(["one", "two", "three", "many"], [1, 2, 3, 40])
SCORE = np.concatenate([[9.0], [1.0, 9.0], [1.0, 2.0, 9.0], np.arange(40.0)])
CLASSES = ["one", "two", "three", "many"]


def likely_wrong(rate, upper):
    selection = select(SCORE, LABELS, rate, classes=CLASSES, upper=upper)
    issue = selection.is_label_issue
    return selection, [int(issue[name == LABELS].sum()) for name in CLASSES]


def test_a_known_rate_is_taken_at_its_word():
    assert likely_wrong([0.1] * 4, None)[1] == [1, 1, 1, 4]


def test_an_estimate_condemns_no_class_that_is_too_small_for_it():
    selection, wrong = likely_wrong([0.1] * 4, [0.6] * 4)
    assert wrong == [0, 0, 0, 4]
    said = "Too few examples are labelled 'one', 'two', 'three' to call any of them likely wrong at the estimated rate."
    assert said in selection.notes
    assert selection.reason[0] == "set aside for safety"
    assert not selection.mask[0]
    assert selection.label_score[0] > 0.5
    assert likely_wrong([0.3] * 4, [0.4] * 4)[1] == [0, 1, 1, 12]  # 0.6 and 0.9 of an example


def test_where_the_interval_says_nothing_of_a_small_class_none_of_it_is_likely_wrong():
    """The right labels of a class that the network never learnt: its rate is high because nothing is known."""
    selection, wrong = likely_wrong([0.68, 0.68, 0.68, 0.1], [0.97, 0.97, 0.97, 0.15])
    assert wrong == [0, 0, 0, 4]
    assert any("Too few examples are labelled 'one', 'two', 'three'" in note for note in selection.notes)
    assert likely_wrong([0.68, 0.68, 0.68, 0.1], [0.7, 0.7, 0.7, 0.15])[1] == [0, 2, 3, 4]  # sure of it
    assert likely_wrong([0.68] * 4, [0.97] * 4)[1][3] == 28  # a class of 40 is evidence for itself
    assert likely_wrong([0.68] * 4, None)[1] == [1, 2, 3, 28]


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 60), rate=st.floats(0, 0.95), doubt=st.floats(0, 0.99))
def test_otherwise_the_definition_holds_to_the_letter(n, rate, doubt):
    """rank > (1 - eta_k) n_k, from half an example on; below that none. Of ten or fewer only if it is sure."""
    score = np.random.default_rng(n).permutation(n).astype(float)
    upper = rate + (doubt if n > 10 else min(doubt, 0.19)) * (1 - rate)
    selection = select(score, np.zeros(n, int), [rate], upper=[upper])
    letter = selection.rank_in_class > (1 - rate) * n + 1e-9
    expected = letter if rate * n >= 0.5 else np.zeros(n, bool)
    np.testing.assert_array_equal(selection.is_label_issue, expected)
    assert not (selection.mask & selection.is_label_issue).any()
