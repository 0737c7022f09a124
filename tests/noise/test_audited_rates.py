"""The noise rates to select with after an audit."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smallloss.noise import intervals as proof
from smallloss.noise.answers import Answers, draw
from smallloss.noise.intervals import corrected, stratified


def test_rates_that_the_answers_bear_out_hardly_move(selection_of: Any, answers_of: Any) -> None:
    """A class of OWN answers adds them to its estimate, which is worth far more here; the others stay as they were."""
    selection = selection_of()
    before = [0.24, 0.3, 0.26]
    answers = answers_of(selection, 0.975, 0.3)
    rates = corrected(answers, selection, before, [0.2] * 3, [0.32] * 3)
    asked = [answers.counts(k)[1].sum() for k in range(3)]
    assert rates.source == tuple("estimate and answers" if many >= 20 else "as before" for many in asked)
    assert rates.noise_rate == pytest.approx(before, abs=0.02)
    assert (rates.high - rates.low < 0.12 + 1e-9).all()
    given = corrected(answers, selection, before)  # as known: they have no interval to add to
    assert given.source == ("as before",) * 3
    assert given.noise_rate == pytest.approx(before)
    assert np.isnan(given.upper).all()


def test_answers_that_contradict_nothing_never_make_a_rate_zero() -> None:
    """21 labels, all right, under an estimate of 19 % (7 to 32).

    The rule used to be that the answers alone decide where their interval is the narrower one, which gave 0.
    """
    classes, index = np.array(["cat", "dog"]), np.r_[:15, 39:45]
    mask = np.arange(202) < 39  # of the cats 39 are kept and 63 are not
    selection = SimpleNamespace(classes=classes, class_index=np.repeat([0, 1], [102, 100]), mask=mask)
    selection.rank_in_class = np.ones(202, int)
    answers = Answers(index, mask[index], np.zeros(21, np.int64), np.zeros(21, np.int64))
    rates = corrected(answers, selection, [0.19, 0.1], [0.07, 0.05], [0.32, 0.2])
    assert rates.source[0] == "estimate and answers"
    assert 0.05 < rates.noise_rate[0] < 0.17  # below the estimate, far above nothing
    assert rates.low[0] > 0
    assert rates.noise_rate[0] < rates.upper[0] < rates.high[0] < 0.32
    alone = corrected(answers, selection, [0.5, 0.05])  # where they contradict the rate, they still do not prove 0
    assert alone.source[0] == "its own answers"
    assert 0 < alone.noise_rate[0] < 0.2


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_a_rate_after_the_answers_is_never_zero_or_one_and_lies_in_its_interval(
    data: st.DataObject, selection_of: Any
) -> None:
    selection = selection_of()
    sample = draw(selection, kept=data.draw(st.integers(20, 60)), dropped=data.draw(st.integers(10, 60)))
    label = selection.class_index[sample.index].astype(np.int64)
    wrong = np.array(data.draw(st.lists(st.booleans(), min_size=len(label), max_size=len(label))))
    answers = Answers(sample.index, sample.kept, label, np.where(wrong, (label + 1) % 3, label))
    before = np.array(data.draw(st.lists(st.floats(0.01, 0.9), min_size=3, max_size=3)))
    low, high = before * data.draw(st.floats(0, 1)), before + (1 - before) * data.draw(st.floats(0, 0.99))
    rates = corrected(answers, selection, before, low, high)
    assert ((rates.noise_rate > 0) & (rates.noise_rate < 1)).all()
    assert (rates.low <= rates.noise_rate).all()
    assert (rates.noise_rate <= rates.high).all()
    upper = rates.upper[~np.isnan(rates.upper)]
    assert ((upper >= 0) & (upper < 1)).all()


def test_rates_that_the_answers_contradict_shift_together(selection_of: Any, answers_of: Any) -> None:
    selection = selection_of()
    answers = answers_of(selection, 0.4, 0.3, kept=20, dropped=10)
    before = np.array([0.05, 0.1, 0.0])
    rates = corrected(answers, selection, before)
    assert "shifted with all" in rates.source
    shifted = [k for k in range(3) if rates.source[k] == "shifted with all"]
    assert (rates.noise_rate[shifted] > before[shifted]).all()
    assert (rates.low <= rates.noise_rate).all()
    assert (rates.noise_rate <= rates.high).all()
    assert ((rates.low >= 0) & (rates.high < 1)).all()
    if len(shifted) == 3:
        n = np.array([proof.sizes(selection, k).sum() for k in range(3)])
        wrong, asked = answers.counts()
        rest = proof.sizes(selection) - asked
        open_ = rest @ ((wrong + 0.5) / (asked + 1))  # half an answer more of each kind: so it is never 0 or 1
        target = (wrong.sum() + open_) / n.sum()
        assert n @ rates.noise_rate / n.sum() == pytest.approx(target, abs=1e-6)
        odds = np.log(rates.noise_rate / (1 - rates.noise_rate)) - np.log([0.05 / 0.95, 0.1 / 0.9, 1])
        assert odds[0] == pytest.approx(odds[1])


def test_a_class_of_twenty_answers_speaks_for_itself(selection_of: Any) -> None:
    selection = selection_of(300)
    sample = draw(selection, kept=60, dropped=40)
    label = selection.class_index[sample.index].astype(np.int64)
    answers = Answers(sample.index, sample.kept, label, np.where(label == 0, 1, label))  # no cat is a cat
    rates = corrected(answers, selection, [0.3, 0.3, 0.3])
    assert rates.source[0] == "its own answers"
    assert 0.95 < rates.noise_rate[0] < 1  # 30 wrong ones are no proof that there is no right one
    assert rates.high[0] < 1
    few = Answers(*(x[label == 0][:19] for x in (answers.index, answers.kept, label, answers.true)))
    assert "its own answers" not in corrected(few, selection, [0.3, 0.3, 0.3]).source


def spoken(wrong: dict[int, int], asked: dict[int, int], n: int = 400):
    """A selection of two classes, half of it kept, and answers to examples of both: the first ones wrong."""
    mask = np.tile(np.arange(n) < n // 2, 2)
    rank = np.tile(np.arange(1, n + 1), 2)
    facts = {"classes": np.array(["a", "b"]), "class_index": np.repeat([0, 1], n), "rank_in_class": rank}
    selection = SimpleNamespace(mask=mask, **facts)
    index = np.concatenate([k * n + np.random.default_rng(k).permutation(n)[: asked[k]] for k in asked])
    label = selection.class_index[index]
    is_wrong = np.concatenate([np.arange(asked[k]) < wrong[k] for k in asked])
    return Answers(index, mask[index], label, np.where(is_wrong, 1 - label, label)), selection


def test_where_a_rate_that_was_given_is_contradicted_twenty_answers_speak_for_their_label() -> None:
    """2 % were given; of label a 0 of 21 are wrong, of b 24 of 56. One shift gave both the same 18 %."""
    answers, selection = spoken({0: 0, 1: 24}, {0: 21, 1: 56})
    rates = corrected(answers, selection, [0.02, 0.02])
    assert rates.source == ("its own answers",) * 2
    assert rates.contradicted
    assert 0 < rates.noise_rate[0] < 0.05
    assert rates.noise_rate[1] == pytest.approx(24 / 56, abs=0.03)
    for k in (0, 1):
        own = proof.noise_rate(answers, selection, k, 0.9)
        assert (rates.low[k], rates.high[k]) == pytest.approx((own.low, own.high))
    few, _ = spoken({0: 0, 1: 24}, {0: 19, 1: 56})
    assert corrected(few, selection, [0.02, 0.02]).source == ("shifted with all", "its own answers")


def test_a_shifted_estimate_is_counted_together_with_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was too low as a whole; which label is the worse it still knows, so it is worth something."""
    answers, selection = spoken({0: 6, 1: 14}, {0: 30, 1: 30})
    rates = corrected(answers, selection, [0.05, 0.08], [0.03, 0.05], [0.08, 0.12])
    assert rates.source == ("estimate and answers",) * 2
    assert rates.contradicted
    monkeypatch.setattr(proof, "OWN", 1000)
    shifted = corrected(answers, selection, [0.05, 0.08], [0.03, 0.05], [0.08, 0.12])
    assert shifted.source == ("shifted with all",) * 2
    for k, share in ((0, 6 / 30), (1, 14 / 30)):
        assert min(share, shifted.noise_rate[k]) < rates.noise_rate[k] < max(share, shifted.noise_rate[k])
        assert rates.high[k] - rates.low[k] < shifted.high[k] - shifted.low[k]


def test_many_answers_know_better_than_a_vague_estimate(selection_of: Any, answers_of: Any) -> None:
    selection = selection_of(300)
    answers = answers_of(selection, 0.9, 0.6, kept=100, dropped=60)
    rates = corrected(answers, selection, [0.3] * 3, [0.0] * 3, [0.9] * 3)
    own = [proof.noise_rate(answers, selection, k, 0.9) for k in range(3)]
    assert rates.noise_rate == pytest.approx([one.value for one in own], abs=0.03)
    assert (rates.high - rates.low <= [one.high - one.low for one in own]).all()


def test_bounds_are_those_whose_upper_ends_were_given() -> None:
    rate, upper = np.array([0.2, 0.1, 0.02]), np.array([0.3, 0.1, 0.2])
    low, high = proof.bounds_of(rate, upper)
    again = proof.Rates(rate, low, high, ("as before",) * 3, False).upper
    assert again[[0, 2]] == pytest.approx(upper[[0, 2]])
    assert np.isnan(again[1])  # it is known
    assert low == pytest.approx([0.4 - high[0], 0.1, 0])


def test_what_was_known_before_is_counted_and_no_sample() -> None:
    """30 labels of a are known, 20 of them wrong and no longer ranked; of the 370 others 40 are answered."""
    answers, selection = spoken({0: 6, 1: 0}, {0: 40, 1: 0})
    free = np.setdiff1d(np.arange(400), answers.index)
    known = {int(i): int(n < 20) for n, i in enumerate(free[:30])}
    selection.rank_in_class[free[:20]] = 0
    later = replace(answers, known=known)
    sample = stratified(*answers.counts(0), proof.sizes(selection, 0, known))
    assert proof.sizes(selection, 0, known).sum() == 370
    whole = proof.noise_rate(later, selection, 0)
    assert whole == pytest.approx([(370 * x + 20) / 400 for x in sample])
    a, b = proof.believed(later, selection, 0)
    alone = proof.believed(Answers(answers.index, answers.kept, answers.label, answers.true), selection, 0)
    assert a / (a + b) > alone[0] / alone.sum()
    assert proof.kept_precision(later) == proof.kept_precision(answers)


def looked_through(asked: int) -> tuple[Answers, SimpleNamespace, np.ndarray]:
    """8 labels of 70 kept, 2 of them wrong, and 30 dropped, 3 to 24 of them wrong; all dropped are answered.

    Of the kept `asked` of each label are, from the right ones on."""
    place, label = np.tile(np.arange(100), 8), np.repeat(np.arange(8), 100)
    wrong = np.where(place < 70, place < 2, place - 70 < 3 * (1 + label))
    selection = SimpleNamespace(
        classes=np.arange(8).astype(str), class_index=label, rank_in_class=place + 1, mask=place < 70
    )
    index = np.flatnonzero((place >= 70) | (place >= 70 - asked))
    true = np.where(wrong, (label + 1) % 8, label)
    return Answers(index, selection.mask[index], label[index], true[index]), selection, (5 + 3 * np.arange(8)) / 100


@pytest.mark.parametrize("bounds", [(0.05, 0.3), (0.4, 0.4)])
def test_looking_through_the_dropped_makes_every_rate_better(bounds: tuple[float, float]) -> None:
    """With 5 kept answers a label, half a wrong one more among each 5 used to make 5 % of all of them wrong."""
    answers, selection, truth = looked_through(5)
    low, high = (np.full(8, end) for end in bounds)
    rates = corrected(answers, selection, (low + high) / 2, low, high)
    assert rates.noise_rate == pytest.approx(truth, abs=0.025)
    answers, selection, truth = looked_through(70)
    rates = corrected(answers, selection, (low + high) / 2, low, high)
    assert rates.noise_rate == pytest.approx(truth, abs=0.006)
    assert rates.high - rates.low == pytest.approx(np.zeros(8), abs=0.03)


def test_what_all_labels_say_is_worth_the_less_the_farther_they_are_apart() -> None:
    """Of the first 60 answers of each label 6 are wrong; then none of one label's and all of another's are."""
    label = np.repeat([0, 1, 2], 60)
    few = np.tile(np.arange(60) < 6, 3)
    answers = Answers(np.arange(180), np.ones(180, bool), label, np.where(few, (label + 1) % 3, label))
    p, worth = proof._said_of_all(answers, 4)
    assert p == pytest.approx([18.5 / 181, 0.5])
    assert worth == pytest.approx([10, 1])  # nobody was asked about the dropped: they cannot be compared
    p, worth = proof._said_of_all(replace(answers, true=np.where(label == 1, 2, label)), 4)
    assert p[0] == pytest.approx(60.5 / 181)
    assert worth == pytest.approx([1, 1])
