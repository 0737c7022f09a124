"""What a person says of a label is read, and respected by every later selection."""

import numpy as np
import pytest

from smallloss.errors import InputError
from smallloss.noise.answers import NONE, UNSURE, decided, found_wrong, most_suspicious, pin, true_class
from smallloss.noise.choose import select

CODE = {"cat": 0, "dog": 1, "bird": 2}


@pytest.mark.parametrize(
    "word, name, true",
    [("right", "", 0), ("right", "cat", 0), (" Wrong", "dog", 1), ("none", "", NONE), ("unsure", "", UNSURE)],
)
def test_an_answer_tells_a_true_class(word: str, name: str, true: int) -> None:
    assert true_class(word, name, 0, CODE, "Row 1") == true


@pytest.mark.parametrize(
    "word, name, sentence",
    [
        ("maybe", "", "Row 1 is 'maybe'"),
        ("", "dog", "is empty, though a true label is given"),
        ("wrong", "", "does not say what it is"),
        ("wrong", "cat", "names 'cat', the label it has"),
        ("wrong", "cow", "'cow', which is none of the classes 'cat', 'dog', 'bird'"),
        ("right", "dog", "is right, but names 'dog'"),
        ("none", "dog", "is none, but names 'dog'"),
    ],
)
def test_contradictions_are_sentences(word: str, name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        true_class(word, name, 0, CODE, "Row 1")


def test_pinned_examples_are_respected_by_a_later_selection() -> None:
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    score = np.array([0.1, 0.2, 0.3, 9.0, 0.1, 0.2, 0.3, 0.4])
    pinned = decided({3: 0, 0: 1, 4: NONE, 5: UNSURE})  # the worst cat is right; the best cat and the best dog are not
    selection = select(pin(score, labels, pinned), labels, 0.2, known_wrong=found_wrong(labels, pinned))
    assert selection.rank_in_class.tolist() == [4, 2, 3, 1, 4, 1, 2, 3]
    assert selection.mask[3]
    assert not selection.mask[[0, 4]].any()


@pytest.mark.parametrize("rate", [0.2, 0.05])
def test_what_was_found_by_hand_is_not_looked_for_again(rate: float) -> None:
    """Of 100 labels 20 are wrong, all found, though their losses are small; a lower rate gives way to them."""
    wrong = np.arange(100) < 20
    selection = select(np.arange(100.0), np.zeros(100, int), rate, known_wrong=wrong)
    assert np.array_equal(selection.is_label_issue, wrong)
    assert selection.quota.noise_rate.tolist() == [0.2]
    assert int(selection.mask.sum()) == 76
    assert not selection.mask[wrong].any()


def test_pins_leave_other_scores_alone_and_bear_a_class_without_scores() -> None:
    labels = np.array([0, 0, 1])
    score = np.array([0.5, 0.7, np.nan])
    pinned = pin(score, labels, {1: 0, 2: 1})
    assert pinned[0] == 0.5
    assert pinned[1] < 0.5
    assert np.isnan(pinned[2])
    assert np.array_equal(pin(score, labels, {}), score, equal_nan=True)


def test_the_worst_of_what_is_not_kept_come_first() -> None:
    score, kept = np.array([0.4, 0.1, np.nan, 0.3, 0.05, 0.2]), np.arange(6) == 1
    assert most_suspicious(score, kept, 2).tolist() == [4, 5]
    assert most_suspicious(score, kept, 9, answered=[4]).tolist() == [5, 3, 0]
    with pytest.raises(InputError, match="No suspicious example is left"):
        most_suspicious(score, kept, 1, answered=[0, 3, 4, 5])
