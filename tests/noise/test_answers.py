"""Which examples a person is asked about, how answers are read, and what they pin."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smallloss.errors import InputError
from smallloss.noise import intervals as proof
from smallloss.noise.answers import NONE, UNSURE, draw, found_wrong, pin, pins, read_answers
from smallloss.noise.choose import select

CLASSES = np.array(["cat", "dog", "bird"])


@given(seed=st.integers(0, 10), kept=st.integers(0, 30), more=st.integers(1, 30), dropped=st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_a_larger_draw_holds_the_smaller(seed: int, kept: int, more: int, dropped: int, selection_of: Any) -> None:
    selection = selection_of(200)
    small = draw(selection, kept=kept, dropped=dropped, seed=seed)
    large = draw(selection, kept=kept + more, dropped=dropped, seed=seed)
    assert set(small.index) <= set(large.index)
    assert np.array_equal(small.index, draw(selection, kept=kept, dropped=dropped, seed=seed).index)
    assert np.array_equal(small.kept, selection.mask[small.index])
    assert small.kept.sum() == kept
    rest = draw(selection, kept=more, dropped=1, seed=seed, answered=small.index)
    assert not set(rest.index) & set(small.index)
    assert set(rest.index[rest.kept]) | set(small.index[small.kept]) == set(large.index[large.kept])


def test_a_draw_is_random_over_all_classes_and_takes_no_more_than_there_is(selection_of: Any) -> None:
    selection = selection_of(30)
    everything = draw(selection, kept=1000, dropped=1000)
    assert sorted(everything.index) == list(range(30))
    hits = np.zeros(30)
    for seed in range(400):
        hits[draw(selection, kept=5, dropped=0, seed=seed).index] += 1
    assert hits[~selection.mask].sum() == 0
    expected = 400 * 5 / selection.mask.sum()
    assert np.abs(hits[selection.mask] - expected).max() < 5 * np.sqrt(expected)


def test_never_seen_examples_are_never_drawn() -> None:
    score = np.arange(20.0)
    score[::2] = np.nan
    selection = select(score, ["a"] * 20, 0.2)
    assert set(draw(selection, kept=20, dropped=20).index) == set(range(1, 20, 2))


def test_nothing_to_draw_is_a_sentence(selection_of: Any) -> None:
    selection = selection_of(20)
    with pytest.raises(InputError, match="checks nothing"):
        draw(selection, kept=0, dropped=0)
    with pytest.raises(InputError, match="no kept or dropped example left to check: all that were trained on have"):
        draw(selection, answered=range(20))


def test_answers_are_read() -> None:
    selection = select([0.1, 0.2, 0.3, 0.4, 0.5], ["cat", "cat", "dog", "dog", "bird"], 0.3, classes=CLASSES)
    answers = read_answers(selection, range(5), ["right", " Wrong", "none", "unsure", None], ["", "dog", "", None, ""])
    assert answers.true.tolist() == [0, 1, NONE, UNSURE]
    assert answers.right.tolist() == [True, False, False, False]
    assert answers.wrong.tolist() == [False, True, True, False]
    assert answers.empty == 1
    assert pins(answers) == {0: 0, 1: 1, 2: NONE}


@pytest.mark.parametrize(
    "answer, true, sentence",
    [
        (["maybe"], [""], "index 0 is 'maybe'"),
        ([""], ["dog"], "is empty, though a true label is given"),
        (["wrong"], [""], "does not say what it is"),
        (["wrong"], ["cat"], "names 'cat', the label it has"),
        (["wrong"], ["cow"], "'cow', which is none of the classes 'cat', 'dog', 'bird'"),
        (["right"], ["dog"], "is right, but names 'dog'"),
        (["none"], ["dog"], "is none, but names 'dog'"),
        (["unsure"], [""], r"Every answer \(1\) is unsure"),
        ([""], [""], "None of the 1 examples has an answer"),
        (["right", "right"], ["", ""], "comes twice"),
    ],
)
def test_bad_answers_are_sentences(answer: list[str], true: list[str], sentence: str) -> None:
    selection = select([0.1, 0.2, 0.3], ["cat", "dog", "bird"], 0.3, classes=CLASSES)
    with pytest.raises(InputError, match=sentence):
        read_answers(selection, [0] * len(answer), answer, true)


def test_pinned_examples_are_respected_by_a_later_selection() -> None:
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    score = np.array([0.1, 0.2, 0.3, 9.0, 0.1, 0.2, 0.3, 0.4])
    pinned = {3: 0, 0: 1, 4: NONE}  # the worst cat is right after all; the best cat and the best dog are not
    selection = select(pin(score, labels, pinned), labels, 0.2, known_wrong=found_wrong(labels, pinned))
    assert selection.rank_in_class.tolist() == [4, 2, 3, 1, 4, 1, 2, 3]
    assert selection.mask[3]
    assert not selection.mask[[0, 4]].any()


@pytest.mark.parametrize("rate", [0.2, 0.05])
def test_what_was_found_by_hand_is_not_looked_for_again(rate) -> None:
    """Of 100 labels 20 are wrong, all found, though their losses are small; a lower rate gives way to them."""
    wrong = np.arange(100) < 20
    selection = select(np.arange(100.0), np.zeros(100, int), rate, known_wrong=wrong)
    assert np.array_equal(selection.is_label_issue, wrong)
    assert selection.quota.noise_rate.tolist() == [0.2]
    assert int(selection.mask.sum()) == 76
    assert not selection.mask[wrong].any()


def test_a_class_found_wrong_as_a_whole_keeps_nothing() -> None:
    selection = select(np.arange(4.0), [0, 0, 1, 1], 0.1, known_wrong=[True, True, False, False])
    assert selection.mask.tolist() == [False, False, True, False]
    with pytest.raises(InputError, match="give true or false for each label"):
        select(np.arange(4.0), [0, 0, 1, 1], 0.1, known_wrong=[1, 0])


def test_pins_leave_other_scores_alone_and_bear_a_class_without_scores() -> None:
    labels = np.array([0, 0, 1])
    score = np.array([0.5, 0.7, np.nan])
    pinned = pin(score, labels, {1: 0, 2: 1})
    assert pinned[0] == 0.5
    assert pinned[1] < 0.5
    assert np.isnan(pinned[2])
    assert np.array_equal(pin(score, labels, {}), score, equal_nan=True)


@dataclass
class Rows:
    """What a run folder knows is enough: an audit needs no Selection."""

    classes: np.ndarray
    class_index: np.ndarray
    rank_in_class: np.ndarray
    mask: np.ndarray


def test_the_rows_of_a_run_are_enough() -> None:
    rows = Rows(CLASSES, np.array([0, 1, 2, 0]), np.array([1, 1, 1, 2]), np.array([True, True, False, False]))
    assert proof.sizes(rows).tolist() == [2, 2]
    assert proof.sizes(rows, 0).tolist() == [1, 1]
    assert len(draw(rows).index) == 4
