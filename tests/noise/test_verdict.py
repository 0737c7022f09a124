"""The verdict: what noisy labels may refute, what answers prove, and never the other way round."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smallloss.criterion import transition as tr
from smallloss.errors import InputError
from smallloss.noise.answers import Interval
from smallloss.noise.model import NoiseModel
from smallloss.noise.verdict import Checked, Judgement, check, judge

NAMES = np.array(["cat", "dog", "bird"])


def selection(kept=(40, 40, 40), dropped=(10, 10, 10)) -> SimpleNamespace:
    """So many kept and dropped examples of each class."""
    index = np.repeat(np.tile(np.arange(3), 2), [*kept, *dropped])
    return SimpleNamespace(classes=NAMES, class_index=index, mask=np.arange(len(index)) < sum(kept))


def counted(rate=0.1, low=0.02, *, tells_nothing=False) -> NoiseModel:
    """An estimate: the same rate under every label, the wrong ones truly of the next class."""
    T = (1 - rate) * np.eye(3) + rate * np.roll(np.eye(3), 1, axis=1)
    return NoiseModel(
        source="estimated", transition=T, prior=np.full(3, 1 / 3), noise_rate=np.full(3, rate), low=np.full(3, low),
        tells_nothing=tells_nothing, evidence="Two networks contradict 13 % of the labels.",
    )  # fmt: skip


def test_without_answers_it_is_unchecked_however_clean_the_labels_look():
    verdict = judge(selection(), counted(rate=0.0, low=0.0))
    assert (verdict.word, verdict.tone) == ("unchecked", "amber")
    assert "120 kept ones" in verdict.headline
    assert "smallloss audit" in verdict.headline
    assert verdict.counts == "Two networks contradict 13 % of the labels."
    assert any("only answers by hand can" in limit for limit in verdict.limits)
    assert "%" not in verdict.headline  # no precision of the kept labels, as if it were known


@given(rate=st.floats(0, 0.9), of=st.floats(0, 1), given_T=st.sampled_from([None, 0.1, 0.45]))
def test_noisy_labels_alone_never_say_checked(rate, of, given_T):
    T = None if given_T is None else tr.pairwise(given_T, 3)
    estimate = counted(rate, rate * of) if T is None else None
    verdict = judge(selection(), estimate or NoiseModel(transition=T))
    assert verdict.word in ("unchecked", "do not trust")
    assert verdict.tone in ("amber", "red")


def test_a_break_under_few_of_the_kept_labels_is_named_and_forbids_nothing():
    T = [[0.4, 0.6, 0.0], [0.1, 0.9, 0.0], [0.45, 0.0, 0.55]]  # label cat: true birds get it more often than cats
    few = judge(selection(kept=(4, 60, 60)), NoiseModel(transition=T))
    assert few.word == "unchecked"
    assert few.reasons[0].startswith("The ranking breaks for 'cat'; leave these out (3.2 % of the kept)")
    assert few.reasons[1].startswith("A classifier fitted to all labels errs on 1 of 3 true classes ('cat')")
    assert judge(selection(), NoiseModel(transition=T)).word == "do not trust"


def test_nothing_told_or_kept_is_nothing_to_rely_on():
    verdict = judge(selection())
    assert verdict.word == "unchecked"
    assert verdict.reasons == ("Only noise rates were given, not T, so the theory says nothing.",)
    assert "nothing is kept" in judge(selection(kept=(0, 0, 0))).headline


def answers(low, high, right=50, asked=60, of_class=(20, 20, 20), more=30) -> Checked:
    return Checked(Interval((low + high) / 2, low, high), right, asked, np.array(of_class), more)


def test_what_the_labels_alone_said_is_of_before_the_answers():
    """Beside "12 to 15 % are wrong", "0 to 13 % are wrong; only answers can tell" would contradict."""
    before = "Before any answer: two networks contradict 13 % of the labels."
    assert judge(selection(), counted(), checked=answers(0.9, 0.97)).counts == before
    assert judge(selection(), counted(), learnt_from=60).counts == before


NONE_GIVEN = Checked(Interval(0.5, 0.0, 1.0), 0, 0, np.zeros(3, int))
REFUTED = counted(tells_nothing=True)
AT_LEAST_95 = "Checked: at least 95.0 % of the kept labels are right (50 of 60 looked at were)."


@pytest.mark.parametrize(
    "checked, promise, estimate, word, tone, said",
    [
        # a lower end is rounded down, an upper one up; a promise just kept is kept
        (answers(0.95096, 0.99), 0.95, None, "checked", "green", AT_LEAST_95),
        (answers(0.95, 0.99), 0.95, None, "checked", "green", AT_LEAST_95),
        (answers(0.949, 0.99), 0.95, None, "checked", "amber", "at least 94.9 %"),
        (answers(0.7, 0.9401), 0.95, None, "do not trust", "red",
         "at most 94.1 % of them are right, where 95.0 % are asked for"),
        # between the ends: what is proved and what would settle it
        (answers(0.88, 0.97), 0.95, None, "checked", "amber", "at least 88.0 % of the kept labels are right"),
        (answers(0.88, 0.97), 0.95, None, "checked", "amber",
         "That is less than the 95.0 % asked for. About 30 more answers would settle it."),
        (answers(0.88, 0.97), 0.85, None, "checked", "green", "at least 88.0 %"),
        # noisy labels refute, unless answers prove
        (None, 0.95, REFUTED, "do not trust", "red", "no more than chance"),
        (answers(0.96, 0.99), 0.95, REFUTED, "checked", "green", "at least 96.0 %"),
        (answers(0.9, 0.99), 0.95, REFUTED, "do not trust", "red", ""),
        (NONE_GIVEN, 0.95, None, "unchecked", "amber", ""),
        (None, 0.95, counted(rate=0.6, low=0.45), "unchecked", "amber", ""),
        (None, 0.95, counted(rate=0.6, low=0.55), "do not trust", "red",
         "100.0 % of them carry labels whose wrong examples are not ranked last ('cat', 'dog', 'bird')"),
    ],
)  # fmt: skip
def test_what_is_said_of_answers_and_estimates(checked, promise, estimate, word, tone, said):
    verdict = judge(selection(), estimate, checked=checked, promise=promise)
    assert (verdict.word, verdict.tone) == (word, tone)
    assert said in verdict.headline
    assert said != AT_LEAST_95 or verdict.headline == said


@pytest.mark.parametrize("promise", [0, 1, 1.2, -0.1])
def test_a_promise_is_a_share(promise):
    with pytest.raises(InputError, match="The promise is"):
        judge(selection(), promise=promise)


def test_classes_with_few_answers_are_named_as_not_checked():
    verdict = judge(selection(kept=(40, 40, 3)), checked=answers(0.96, 0.99, of_class=(19, 20, 3)))
    assert "Not checked, with fewer than 20 answers each: 'cat'." in verdict.limits


def test_a_matrix_is_judged_per_class_and_never_checked():
    good = check(tr.uniform(0.5, 3), NAMES)
    assert good.word == "unchecked"
    assert good.headline.startswith("The ranking works for this matrix: under every label")
    assert "less than 0.250 from ideal" in good.headline
    assert "cat" in str(good)
    bad = check(tr.structured(0.6))
    assert bad.word == "do not trust"
    assert bad.headline.startswith("Do not trust the ranking: under 2 of 10 labels ('3', '5')")
    errs = check([[0.4, 0.6, 0], [0.1, 0.8, 0.1], [0, 0, 1]], NAMES)
    assert errs.reasons == ("A classifier fitted to all labels errs on 1 of 3 true classes ('cat').",)


def test_everything_survives_json():
    verdict: Judgement = judge(selection(), NoiseModel(transition=tr.uniform(0.3, 3)), checked=answers(0.9, 0.97))
    facts = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert facts["word"] == "checked"
    assert facts["precision"]["low"] == 0.9
    assert facts["theory"]["ranking_holds"] == [True, True, True]
