import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from smallloss.criterion import transition as tr
from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.quota import proportion, safe_proportion
from smallloss.errors import InputError
from smallloss.noise.answers import NONE, UNSURE, Answers, draw
from smallloss.noise.choose import select
from smallloss.noise.data_verdict import SWAPPED
from smallloss.noise.intervals import Interval
from smallloss.noise.trust import (
    TOO_WEAK,
    WEAK_RATES,
    DataVerdict,
    _precision,
    judge,
    right_probability,
    swap_odds,
)

NAMES = np.array(["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"])
N, C, DRAWS = 2000, 10, 40


def estimated(T: np.ndarray, classes: np.ndarray = NAMES, sure: float = 2000, **changes: Any) -> Any:
    """An estimate that says T, give or take."""
    rng, prior = np.random.default_rng(0), np.full(len(T), 1 / len(T))
    draws = np.array([[rng.dirichlet(sure * row + 1e-3) for row in T] for _ in range(DRAWS)])
    facts = {
        "classes": tuple(classes),
        "noise_rate": tr.noise_rate(T, prior),
        "transition": T,
        "prior": prior,
        "depends_on_example": False,
        "weak": False,
        "draws": np.array([tr.noise_rate(one, prior) for one in draws]),
        "transition_draws": draws,
    }
    return SimpleNamespace(**facts | changes)


class World:
    """Labels corrupted by T, a network that fits them, and a selection by somebody who believes `estimate`."""

    def __init__(self, T: np.ndarray, believed: np.ndarray, sharp: float = 20.0) -> None:
        rng = np.random.default_rng(0)
        self.truth = np.arange(N) % C
        codes = corrupt(self.truth, T, 0)
        self.labels = NAMES[codes]
        self.g = np.array([rng.dirichlet(sharp * T[y] + 0.02) for y in self.truth])
        self.estimate = estimated(believed)
        score = -np.log(self.g[np.arange(N), codes] + 1e-12)
        self.selection = select(score, self.labels, self.estimate.noise_rate, classes=NAMES, prior="uniform")

    def judge(self, audit: Answers | None = None, **changes: Any) -> DataVerdict:
        estimate = SimpleNamespace(**vars(self.estimate) | changes)
        return judge(estimate, self.selection, self.g, self.labels, audit=audit)

    def answers(self, seed: int, kept: int = 40, dropped: int = 20) -> Answers:
        sample = draw(self.selection, kept=kept, dropped=dropped, seed=seed)
        label = self.selection.class_index[sample.index].astype(np.int64)
        return Answers(sample.index, sample.kept, label, self.truth[sample.index])

    @property
    def precision(self) -> float:
        mask = self.selection.mask
        return float((self.truth == self.selection.class_index)[mask].mean())


UNIFORM3, UNIFORM5 = tr.uniform(0.3, C), tr.uniform(0.5, C)
PAIRWISE2, STRUCTURED2 = tr.pairwise(0.2, C), tr.structured(0.2)
# What noisy labels look like after a majority flip: the next class is taken for the true one; cat and dog swapped.
PAIRWISE6_SEEN, STRUCTURED6_SEEN = tr.pairwise(0.4, C).T, tr.structured(0.4)


@pytest.fixture(scope="module", params=[UNIFORM3, UNIFORM5, PAIRWISE2, STRUCTURED2], ids=["u.3", "u.5", "p.2", "s.2"])
def good(request: pytest.FixtureRequest) -> World:
    return World(request.param, request.param)


@pytest.fixture(
    scope="module",
    params=[
        (tr.pairwise(0.5, C), tr.pairwise(0.4, C)),
        (tr.pairwise(0.5, C), tr.pairwise(0.5, C)),
        (tr.pairwise(0.6, C), PAIRWISE6_SEEN),
        (tr.structured(0.6), STRUCTURED6_SEEN),
    ],
    ids=["p.5 taken for .4", "p.5", "p.6", "s.6"],
)
def bad(request: pytest.FixtureRequest) -> World:
    return World(*request.param)


def test_where_dominance_holds_sixty_answers_bring_trust(good: World) -> None:
    verdicts = [good.judge(good.answers(seed)) for seed in range(40)]
    assert [verdict.trust for verdict in verdicts] == ["trust"] * 40
    assert verdicts[0].headline.startswith("Trust the kept examples: about ")
    assert verdicts[0].answers == (40, 20, 0)


def test_without_answers_the_limit_is_said(good: World) -> None:
    verdict = good.judge()
    assert verdict.trust == "trust"
    assert verdict.headline.startswith("Trust, as far as noisy labels alone can tell")
    assert any("cannot reveal a majority flip" in limit for limit in verdict.limits)
    assert any("depends only on the true class" in limit for limit in verdict.limits)
    assert verdict.audited is None
    assert verdict.reasons == ()


def test_the_estimated_precision_is_near_the_truth_and_careful(good: World) -> None:
    estimate = good.judge().precision
    assert estimate is not None
    assert estimate.low <= estimate.value <= estimate.high
    assert good.precision - 0.05 < estimate.value < good.precision + 0.01
    assert estimate.low <= good.precision < estimate.high + 0.02


def test_the_high_end_is_that_of_ranks_which_know_more_than_their_bin() -> None:
    """Ten of a bin carry a label, half of them wrongly; five are kept: all of them may be the right ones."""
    T = np.array([[0.5, 0.5], [0.0, 1.0]])
    found: Any = SimpleNamespace(transition=T, transition_draws=[T, T])
    labelled, kept = np.array([[5.0, 10.0]]), np.array([[0.0, 5.0]])
    # The labels of the bin are 1/3 and 2/3: h T = (1/3, 2/3) has h = (2/3, 1/3), so half of those labelled 1 are right.
    interval, of_class = _precision(labelled, kept, found)
    assert interval == pytest.approx((0.5, 0.5, 1.0))
    assert of_class == [None, pytest.approx(0.5)]


def test_where_dominance_fails_sixty_answers_never_bring_trust(bad: World) -> None:
    assert "trust" not in {bad.judge(bad.answers(seed)).trust for seed in range(60)}


def test_where_dominance_fails_the_limit_is_said_without_answers(bad: World) -> None:
    verdict = bad.judge()
    assert any("cannot reveal a majority flip" in limit for limit in verdict.limits)
    assert "cannot reveal a majority flip" in str(verdict)


def test_a_swap_of_two_classes_is_found_by_hand_and_named() -> None:
    world = World(tr.structured(0.6), STRUCTURED6_SEEN, sharp=60)
    assert world.judge().trust == "trust"
    verdict = world.judge(world.answers(0))
    assert verdict.trust == "do not trust"
    assert {one.name for one in verdict.classes if one.fails} == {"cat", "dog"}
    assert verdict.failing_share > 0.1
    assert "carry labels whose ranking breaks ('cat', 'dog')" in verdict.headline
    assert "label 'cat': by the answers, what the run takes for right is truly 'dog', and vice versa." in str(verdict)


def test_a_column_that_fails_is_red_and_names_its_pair() -> None:
    T = np.array([[0.4, 0.6, 0], [0.5, 0.5, 0], [0, 0, 1.0]])
    names = np.array(["cat", "dog", "bird"])
    truth = np.arange(300) % 3
    labels = corrupt(truth, T, 0)
    selection = select(np.linspace(0, 1, 300), names[labels], 0.3, classes=names)
    verdict = judge(estimated(T, names), selection, T[truth], names[labels])
    assert verdict.trust == "do not trust"
    cat, dog, bird = verdict.classes
    assert cat.ranking_certainty == dog.ranking_certainty == 0
    assert bird.ranking_certainty == 1
    assert (cat.pair.true, cat.pair.flipped, cat.pair.kept) == ("dog", 0.5, 0.4)
    assert dog.margin.value == pytest.approx(-0.1)
    assert cat.classifier_certainty == 0
    assert "label 'cat': true 'dog' examples get it with probability 0.50, true 'cat' ones with 0.40" in cat.sentence


def test_a_small_failing_class_is_care_not_red() -> None:
    T = np.array([[0.4, 0.6], [0.5, 0.5]])
    T = np.block([[T, np.zeros((2, 2))], [np.zeros((2, 2)), np.eye(2)]])
    labels = np.repeat([0, 1, 2, 3], [5, 5, 200, 200])
    selection = select(np.arange(410.0), labels, [0.5, 0.5, 0, 0])
    prior = np.array([0.01, 0.01, 0.49, 0.49])
    verdict = judge(estimated(T, np.arange(4), prior=prior), selection, np.eye(4)[labels], labels)
    assert 0 < verdict.failing_share <= 0.1
    assert verdict.trust == "caution"
    assert "the ranking breaks for '0', '1'; leave these out" in verdict.headline


def test_the_theorem_covers_the_examples_within_half_the_margin() -> None:
    T = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])  # margin .7: an output may be off by .35
    off = np.array([0.0, 0.34, 0.36, -0.1])
    g = np.column_stack([0.8 - off, 0.1 + off / 2, 0.1 + off / 2])
    labels = np.array([0, 0, 0, 1])
    selection = select(off, labels, 0.2, classes=[0, 1, 2])
    none, one, two = judge(estimated(T, np.arange(3)), selection, g, labels).classes
    assert none.covered == pytest.approx(2 / 3)
    assert one.covered == 1.0
    assert two.covered is None
    assert none.margin.value == pytest.approx(0.7)


def test_uncertain_dominance_is_care() -> None:
    world = World(tr.pairwise(0.4, C), tr.pairwise(0.4, C), sharp=60)
    assert world.judge().trust == "trust"
    verdict = world.judge(transition_draws=estimated(tr.pairwise(0.4, C), sure=6).transition_draws)
    assert verdict.trust == "caution"
    assert "whose ranking is in doubt" in verdict.headline


def test_noise_of_the_single_example_needs_answers_by_hand() -> None:
    world = World(UNIFORM3, UNIFORM3)
    alone = world.judge(depends_on_example=True)
    assert alone.trust == "caution"
    assert "this noise seems to depend on the individual example, which the theorems do not cover" in alone.headline
    assert world.judge(world.answers(0), depends_on_example=True).trust == "trust"


def test_too_few_answers_bear_nothing_out() -> None:
    world = World(UNIFORM3, UNIFORM3)
    verdict = world.judge(world.answers(0, kept=8, dropped=4))
    assert verdict.trust == "caution"
    few = "8 answers on kept examples prove no more than 63 % right labels"
    assert any(reason.startswith(few) for reason in verdict.reasons)


def test_answers_against_the_promise_are_red() -> None:
    world = World(UNIFORM3, UNIFORM3)
    answers = world.answers(0)
    nothing = Answers(answers.index, answers.kept, answers.label, np.full(60, NONE))
    verdict = world.judge(nothing)
    assert verdict.trust == "do not trust"
    assert verdict.headline.startswith(
        "Do not trust the kept examples: of 40 kept labels checked by hand, 0 % were right"
    )
    unsure = Answers(answers.index, answers.kept, answers.label, np.where(answers.kept, UNSURE, answers.true))
    undecided = world.judge(unsure)
    assert undecided.trust == "caution"
    assert "checked by hand: none decided; 40 unsure" in str(undecided)
    assert json.loads(json.dumps(undecided.to_dict(), allow_nan=False))["audited"]["value"] is None


def test_where_the_answers_do_not_bear_the_estimate_out_they_come_first() -> None:
    """Less than .05 apart is not red, but a headline must not promise what was not seen."""
    world = World(UNIFORM3, UNIFORM3)
    verdict = world.judge(world.answers(0))
    assert verdict.precision is not None
    answers = (40, 20, 0)
    below = replace(
        verdict, precision=Interval(0.97, 0.94, 0.99), audited=Interval(0.8, 0.6435, 0.9095), answers=answers
    )
    assert below.headline == (
        "Trust the kept examples: of 40 checked by hand, 32 were right (64.3 % to 91.0 %), where the estimate says "
        "about 97.0 %."
    )
    above = replace(verdict, precision=Interval(0.85, 0.8, 0.9), audited=Interval(1.0, 0.9119, 1.0), answers=answers)
    assert above.headline.startswith("Trust the kept examples: of 40 checked by hand, 40 were right")
    agreed = replace(below, precision=Interval(0.9, 0.8, 0.95))
    assert agreed.headline.startswith(
        "Trust the kept examples: about 90.0 % or more of the kept labels are right, and of 40 checked"
    )
    nobody = replace(below, audited=Interval(float("nan"), 0.0, 1.0), answers=(0, 20, 40))
    assert nobody.headline.endswith("though by hand none of them was decided.")


def test_right_probability_by_hand() -> None:
    T = np.array([[0.9, 0.1], [0.3, 0.7]])
    h = np.array([0.5, 0.5])
    labelled = 1000 * (h @ T)[None]
    assert right_probability(labelled, T)[0] == pytest.approx([0.9 / 1.2, 0.7 / 0.8])
    pure = right_probability(np.array([[90.0, 10.0]]), T)[0]  # all of the first class: no label 1 there is right
    assert pure == pytest.approx([1, 0], abs=1e-9)
    assert np.isfinite(right_probability(np.zeros((1, 2)), T)).all()


def test_one_answer_never_convicts_a_pair() -> None:
    T = tr.uniform(0.3, 3)  # mixes each two by .1, which is a third of what begins even
    one = Answers(np.array([0]), np.array([True]), np.array([0]), np.array([1]))
    assert swap_odds(one, np.array([1.0]), T) == {(0, 1): pytest.approx(49 / 3)}
    two = Answers(np.arange(2), np.ones(2, bool), np.array([0, 1]), np.array([1, 1]))
    assert swap_odds(two, np.array([0.9, 0.9]), T) == {(0, 1): pytest.approx(1 / 3)}
    agreed = Answers(np.arange(2), np.ones(2, bool), np.array([0, 1]), np.array([0, NONE]))
    assert swap_odds(agreed, np.array([0.9, 0.1]), T) == {}


def test_a_pair_that_may_as_well_be_swapped_stays_open_until_it_is_ruled_out() -> None:
    T = tr.structured(0.4, [1, 0, 2])
    nobody = Answers(np.array([0]), np.array([True]), np.array([2]), np.array([2]))
    assert swap_odds(nobody, np.array([0.9]), T) == {(0, 1): 1.0}

    def right(times: int) -> float:
        answers = Answers(np.arange(times), np.ones(times, bool), np.zeros(times, int), np.zeros(times, int))
        return swap_odds(answers, np.full(times, 0.8), T)[0, 1]

    assert right(4) == 1.0  # 4^-4 is not yet below one in a thousand
    assert right(5) == pytest.approx(4.0**-5)


def test_two_answers_convict_even_a_pair_that_nothing_else_speaks_for() -> None:
    both = Answers(np.arange(2), np.ones(2, bool), np.array([0, 1]), np.array([1, 0]))
    assert swap_odds(both, np.array([1.0, 1.0]), np.eye(3))[0, 1] == pytest.approx(0.1 * 49**2)
    assert SWAPPED < 0.1 * 49**2


def test_the_safe_proportion_follows_the_evidence() -> None:
    eta = np.array([0.1, 0.3, 0.6])
    assert safe_proportion(eta, eta) == pytest.approx(proportion(eta))
    assert safe_proportion(eta, [0.5, 0.31, 0.95]) == pytest.approx([0.5, proportion(0.3), 0.05])
    assert safe_proportion(0.0, 0.0, 0.2) == 1


def test_to_dict_survives_json_and_the_page_stays_on_its_lines() -> None:
    names = np.array(["cat\nrm", "\x1b[31mred", "x" * 300])
    labels = np.arange(90) % 3
    selection = select(np.arange(90.0), names[labels], 0.3, classes=names)
    verdict = judge(estimated(tr.uniform(0.3, 3), names), selection, np.eye(3)[labels], names[labels])
    facts = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert facts["headline"] == verdict.headline
    assert facts["classes"][0]["name"] == "cat\nrm"
    assert facts["precision"].keys() == {"value", "low", "high"}
    assert facts["audited"] is None
    assert all(c.isprintable() for line in str(verdict).split("\n") for c in line)


def test_nothing_kept_is_said() -> None:
    labels = np.arange(20) % 2
    selection = select(np.full(20, np.nan), labels, 0.3)
    verdict = judge(estimated(tr.uniform(0.3, 2), np.arange(2)), selection, np.full((20, 2), 0.5), labels)
    assert verdict.trust == "do not trust"
    assert "nothing is kept" in verdict.headline
    json.dumps(verdict.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "g, labels, classes, sentence",
    [
        ([[0.5, 0.4]] * 4, [0, 1, 0, 1], [0, 1], "The probabilities of index 0 .* sum is 0.9"),
        ([[0.5, 0.5]] * 3 + [[1.5, -0.5]], [0, 1, 0, 1], [0, 1], "The probabilities of index 3"),
        ([[0.5, 0.5]] * 3 + [[np.nan, 1]], [0, 1, 0, 1], [0, 1], "The probabilities of index 3"),
        ([[0.5, 0.5]] * 3, [0, 1, 0, 1], [0, 1], r"shape \(3, 2\): expected \(4, 2\)"),
        ([[0.5, 0.5]] * 4, [1, 1, 0, 1], [0, 1], "not the ones that the selection was made from"),
        ([[0.5, 0.5]] * 4, [0, 1, 0, 1], [0, 2], "The estimate is for the classes"),
    ],
)
def test_bad_input_is_a_sentence(g: Any, labels: Any, classes: Any, sentence: str) -> None:
    selection = select(np.arange(4.0), [0, 1, 0, 1], 0.2)
    with pytest.raises(InputError, match=sentence):
        judge(estimated(tr.uniform(0.2, 2), classes), selection, g, labels)


def test_a_network_that_may_be_too_weak_is_at_best_caution_until_the_answers_bear_it_out(good: World) -> None:
    alone = good.judge(weak=True)
    assert alone.trust == "caution"
    assert alone.headline == f"Take care with the kept examples: {TOO_WEAK}"
    audited = good.judge(good.answers(0), weak=True)
    assert audited.trust == "trust"
    assert audited.limits[-1] == WEAK_RATES
    assert WEAK_RATES not in good.judge(good.answers(0)).limits


def test_a_weak_network_makes_no_red_verdict_milder() -> None:
    world = World(tr.pairwise(0.6, C), tr.pairwise(0.6, C))
    assert world.judge().trust == "do not trust"
    assert world.judge(weak=True).trust == "do not trust"
    assert world.judge(weak=True).headline == world.judge().headline
