from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, hypergeom

from smallloss.criterion import audit_intervals as proof
from smallloss.criterion.audit import NONE, UNSURE, Answers, draw, found_wrong, mark, pin, pins, read_answers
from smallloss.criterion.audit_intervals import corrected, stratified
from smallloss.criterion.selection import select
from smallloss.errors import InputError

CLASSES = np.array(["cat", "dog", "bird"])


def selection_of(n: int = 600, seed: int = 0, rate: float = 0.3):
    rng = np.random.default_rng(seed)
    return select(rng.random(n), CLASSES[rng.integers(0, 3, n)], rate, classes=CLASSES)


def answers_of(selection, right: float, dropped_right: float, kept: int = 40, dropped: int = 20) -> Answers:
    """The first share of each stratum right, the others truly of the next class."""
    sample = draw(selection, kept=kept, dropped=dropped)
    label = selection.class_index[sample.index].astype(np.int64)
    order = np.where(sample.kept, np.cumsum(sample.kept) / kept, np.cumsum(~sample.kept) / dropped)
    is_right = order <= np.where(sample.kept, right, dropped_right) + 1e-9
    return Answers(sample.index, sample.kept, label, np.where(is_right, label, (label + 1) % 3))


# --- drawing ----------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10), kept=st.integers(0, 30), more=st.integers(1, 30), dropped=st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_a_larger_draw_holds_the_smaller(seed: int, kept: int, more: int, dropped: int) -> None:
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


def test_a_draw_is_random_over_all_classes_and_takes_no_more_than_there_is() -> None:
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


def test_nothing_to_draw_is_a_sentence() -> None:
    selection = selection_of(20)
    with pytest.raises(InputError, match="looks at nothing"):
        draw(selection, kept=0, dropped=0)
    with pytest.raises(InputError, match="all of them have an answer"):
        draw(selection, answered=range(20))


# --- answers ----------------------------------------------------------------------------------------------


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


# --- intervals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0, 1, 7, 40])
def test_the_precision_of_the_kept_is_clopper_pearson(wrong: int) -> None:
    kept = np.arange(60) < 40
    answers = Answers(np.arange(60), kept, np.zeros(60, int), (np.arange(60) < wrong).astype(int))
    known = binomtest(40 - wrong, 40).proportion_ci(0.95, method="exact")
    assert proof.kept_precision(answers) == pytest.approx((1 - wrong / 40, known.low, known.high), abs=1e-9)


def test_unsure_answers_are_no_evidence() -> None:
    true = np.array([0, 0, 1, UNSURE, UNSURE])
    answers = Answers(np.arange(5), np.ones(5, bool), np.zeros(5, int), true)
    known = binomtest(2, 3).proportion_ci(0.95, method="exact")
    assert proof.kept_precision(answers) == pytest.approx((2 / 3, known.low, known.high))


def test_one_stratum_alone_is_clopper_pearson_and_no_answers_say_nothing() -> None:
    known = binomtest(3, 40).proportion_ci(0.95, method="exact")
    assert stratified([3, 0], [40, 0], [500, 0]) == pytest.approx((3 / 40, known.low, known.high))
    assert stratified([0, 3], [0, 40], [0, 500]) == pytest.approx((3 / 40, known.low, known.high))
    assert stratified([0, 0], [0, 0], [5, 5]) == pytest.approx((0.5, 0, 1))
    blind = stratified([2, 0], [40, 0], [600, 400])  # nobody looked at the dropped: all of them may be wrong
    assert blind.low < 0.05
    assert blind.high > 0.4


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_stratified_interval_holds_its_value_and_mirrors(data: st.DataObject) -> None:
    m = [data.draw(st.integers(1, 25)) for _ in range(2)]
    k = [data.draw(st.integers(0, most)) for most in m]
    size = [data.draw(st.integers(least, least + 50) | st.just(1000)) for least in m]
    value, low, high = stratified(k, m, size)
    assert 0 <= low <= value + 1e-12
    assert value <= high + 1e-12 <= 1 + 1e-12
    assert low >= sum(k) / sum(size)  # those are wrong, whatever the others are
    assert high <= (sum(size) - sum(m) + sum(k)) / sum(size)
    assert (high - low < 1e-9) == (m == size)
    mirror = stratified(np.subtract(m, k), m, size)
    assert mirror == pytest.approx((1 - value, 1 - high, 1 - low), abs=1e-5)
    wider = stratified(k, m, size, 0.99)
    assert wider.low <= low + 1e-5
    assert wider.high >= high - 1e-5


@pytest.mark.parametrize("kept_share", [0.65, 0.4])
def test_the_stratified_interval_covers_at_least_its_level(kept_share: float) -> None:
    """The coverage itself, not a simulation of it: every outcome of a small audit with its probability."""
    m, size = (12, 6), (1000 * kept_share, 1000 * (1 - kept_share))
    ends = np.array([[stratified([i, j], m, size)[1:] for j in range(m[1] + 1)] for i in range(m[0] + 1)])
    for p in (0.0, 0.01, 0.05, 0.1, 0.3, 0.5):
        for q in (0.05, 0.3, 0.5, 0.8, 0.95, 1.0):
            chance = np.outer(binom.pmf(np.arange(13), 12, p), binom.pmf(np.arange(7), 6, q))
            truth = kept_share * p + (1 - kept_share) * q
            covers = (ends[..., 0] <= truth + 1e-5) & (truth <= ends[..., 1] + 1e-5)
            assert (chance * covers).sum() >= 0.95


def test_a_stratum_answered_in_full_is_counted() -> None:
    """All 281 dropped and 40 of the 638 kept were answered: 156 and 1 wrong, so 157 of 919 are wrong at least."""
    known = binomtest(1, 40).proportion_ci(0.95, method="exact")
    found = stratified([1, 156], [40, 281], [638, 281])
    assert found == pytest.approx(((638 / 40 + 156) / 919, 157 / 919, (638 * known.high + 156) / 919))
    assert stratified([156, 1], [281, 40], [281, 638]) == pytest.approx(found)
    assert stratified([3, 7], [10, 30], [10, 30]) == (0.25, 0.25, 0.25)
    nearly = stratified([0, 9], [3, 9], [4, 10])  # two are open: 9, 10 or 11 of 14 are wrong
    assert nearly.low >= 9 / 14
    assert nearly.high <= 11 / 14


@pytest.mark.parametrize("size", [(20, 10), (14, 6)])
def test_the_interval_covers_in_a_small_dataset(size: tuple[int, int]) -> None:
    """Every outcome of 12 and 6 answers about some of few examples, with its probability (hypergeometric)."""
    ends = np.array([[stratified([i, j], (12, 6), size)[1:] for j in range(7)] for i in range(13)])
    for kept in (0, 1, 5, 12):
        for dropped in (1, 3, 6):
            chances = [
                hypergeom.pmf(np.arange(m + 1), n, k, m) for n, k, m in zip(size, (kept, dropped), (12, 6), strict=True)
            ]
            truth = (kept + dropped) / sum(size)
            covers = (ends[..., 0] <= truth + 1e-5) & (truth <= ends[..., 1] + 1e-5)
            assert (np.outer(*chances) * covers).sum() >= 0.95


@pytest.mark.parametrize("p, q", [(0.03, 0.8), (0.1, 0.5)])
def test_the_default_audit_covers_in_simulation(p: float, q: float) -> None:
    rng = np.random.default_rng(0)
    outcomes = np.column_stack([rng.binomial(40, p, 1000), rng.binomial(20, q, 1000)])
    distinct, times = np.unique(outcomes, axis=0, return_counts=True)
    ends = [stratified(one, (40, 20), (6500, 3500)) for one in distinct]
    truth = 0.65 * p + 0.35 * q
    assert times @ [end.low <= truth <= end.high for end in ends] / 1000 >= 0.95


def test_more_answers_halve_the_interval() -> None:
    selection = selection_of()
    answers = answers_of(selection, 0.95, 0.3)
    more = proof.more_to_halve(answers, selection)
    assert 100 <= more <= 260  # four times as many, give or take the skew
    now = proof.noise_rate(answers, selection)
    factor = 1 + more / 60
    wrong, asked = answers.counts()
    then = stratified(np.round(wrong * factor), np.round(asked * factor), proof.sizes(selection))
    assert then.high - then.low <= (now.high - now.low) / 2 + 0.005


def test_no_more_answers_are_asked_for_than_examples_are_left() -> None:
    selection = selection_of()
    kept, dropped = proof.sizes(selection)
    some = answers_of(selection, 0.975, 0.6, kept=40, dropped=dropped)  # all of the dropped
    assert 40 < proof.more_to_halve(some, selection) < kept - 40
    most = answers_of(selection, 0.9, 0.6, kept=kept - 7, dropped=dropped - 3)
    assert 0 < proof.more_to_halve(most, selection) <= 10
    everything = answers_of(selection, 0.9, 0.6, kept=kept, dropped=dropped)
    assert proof.more_to_halve(everything, selection) == 0
    unsure = replace(everything, true=np.where(np.arange(600) < 9, UNSURE, everything.true))
    assert proof.more_to_halve(unsure, selection) == 0


def test_the_pair_with_the_most_uncertainty() -> None:
    selection = selection_of()
    label = np.array([0, 0, 1, 2, 2, 2])
    true = np.array([1, 1, 0, 2, 0, NONE])
    answers = Answers(np.arange(6), np.ones(6, bool), label, true)
    assert proof.uncertain_pair(answers, selection) == (0, 1)
    agreed = Answers(np.arange(6), np.ones(6, bool), label, label)
    assert proof.uncertain_pair(agreed, selection) is None
    joint = np.array([[0.3, 0, 0], [0, 0.3, 0.05], [0.06, 0, 0.3]])
    assert proof.uncertain_pair(agreed, selection, joint) == (0, 2)
    kept, dropped = np.flatnonzero(selection.mask)[:100], np.flatnonzero(~selection.mask)  # all of the dropped:
    index, label = np.r_[kept, dropped], np.r_[np.full(100, 2), np.zeros(len(dropped), int)]
    true = np.r_[1, np.full(99, 2), np.arange(len(dropped)) % 2]  # nothing is uncertain about their mix-ups
    assert proof.uncertain_pair(Answers(index, selection.mask[index], label, true), selection) == (1, 2)


# --- back into the rates ----------------------------------------------------------------------------------


def test_rates_that_the_answers_bear_out_hardly_move() -> None:
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


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_a_rate_after_the_answers_is_never_zero_or_one_and_lies_in_its_interval(data: st.DataObject) -> None:
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


def test_rates_that_the_answers_contradict_shift_together() -> None:
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


def test_a_class_of_twenty_answers_speaks_for_itself() -> None:
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


def test_many_answers_know_better_than_a_vague_estimate() -> None:
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


# --- pins -------------------------------------------------------------------------------------------------


def test_pinned_examples_are_respected_by_a_later_selection() -> None:
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    score = np.array([0.1, 0.2, 0.3, 9.0, 0.1, 0.2, 0.3, 0.4])
    pinned = {3: 0, 0: 1, 4: NONE}  # the worst cat is right after all; the best cat and the best dog are not
    selection = select(pin(score, labels, pinned), labels, 0.2, known_wrong=found_wrong(labels, pinned))
    assert selection.rank_in_class.tolist() == [4, 2, 3, 1, 4, 1, 2, 3]
    assert selection.mask[3]
    assert not selection.mask[[0, 4]].any()
    table = selection.table()
    mark(table, labels, ["cat", "dog"], pinned)
    assert table["audited_label"].tolist() == ["dog", None, None, "cat", None, None, None, None]
    assert table["audit_answer"].tolist() == ["wrong", None, None, "right", "none", None, None, None]
    assert table["is_label_issue"][[0, 3, 4]].tolist() == [True, False, True]
    assert table["label_score"][[0, 3, 4]].tolist() == [0, 1, 0]
    assert table["reason"][0] == "likely wrong"
    assert not table["selected"][0]


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
