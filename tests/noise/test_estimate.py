"""The estimate: counts by hand, coverage on simulated networks, what must not matter, the words, bad input."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from smallloss.criterion import transition
from smallloss.criterion.corrupt import corrupt
from smallloss.errors import InputError
from smallloss.noise.estimate import estimate
from smallloss.noise.model import NoiseModel

# Of 40 examples of each of three labels, how many each network contradicts: the label 0, 1 and 2 places further on.
BY_HAND = {(0, 0): 28, (1, 1): 4, (1, 2): 2, (1, 0): 3, (0, 1): 3}
M, D, BOTH = 9 / 40, 8 / 40, 4 / 40


def told(predicted: np.ndarray, c: int, confidence: Any = 0.8) -> np.ndarray:
    """What a network says that predicts these classes, so surely."""
    P = np.repeat((1 - np.broadcast_to(confidence, len(predicted))[:, None]) / (c - 1), c, axis=1)
    P[np.arange(len(P)), predicted] = confidence
    return P


def by_hand(sure: float = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both networks and the labels; the sure predictions contradict none of them (0) or all (1)."""
    label = np.repeat(np.arange(3), 40)
    steps = np.tile(np.repeat(list(BY_HAND), list(BY_HAND.values()), axis=0), (3, 1))
    confidence = np.where((steps != 0) == sure, 0.9, 0.8)
    first, second = (told((label + steps[:, a]) % 3, 3, confidence[:, a]) for a in (0, 1))
    return first, second, label


@pytest.mark.parametrize(("sure", "rate"), [(0, BOTH), (1, M - D / 2)])
def test_counts_by_hand(sure: float, rate: float) -> None:
    first, second, label = by_hand(sure)
    found = estimate([first, second], label)
    assert found.differ is not None
    np.testing.assert_allclose(found.contradicted, M)
    np.testing.assert_allclose(found.differ, D)
    np.testing.assert_allclose(found.sure, sure)
    np.testing.assert_allclose(found.noise_rate, rate)
    low = 0 if sure == 0 else beta.ppf(0.05, BOTH * 40 + 0.5, (1 - BOTH) * 40 + 0.5)  # of both, the less
    np.testing.assert_allclose(found.low, low)
    np.testing.assert_allclose(found.high, beta.ppf(0.95, 9.5, 31.5))
    np.testing.assert_allclose(found.upper, beta.ppf(0.9, rate * 40 + 0.5, (1 - rate) * 40 + 0.5))
    assert found.overall[0] == pytest.approx(rate)
    assert found.overall[2] == pytest.approx(M)  # all labels together: no sampling error
    assert found.evidence.startswith("Two networks contradict 22 % of the labels and differ from each other on 20 %. ")


def test_one_network_stands_between_all_and_the_sure() -> None:
    first, _, label = by_hand()
    found = estimate(first, label)
    assert found.differ is None
    np.testing.assert_allclose(found.sure, 0)
    np.testing.assert_allclose(found.noise_rate, M / 2)
    np.testing.assert_allclose(found.low, 0)
    all_of_them = estimate(by_hand(1)[0], label)
    np.testing.assert_allclose(all_of_them.noise_rate, (M + 1) / 2)
    assert "A network that never saw them contradicts 22 % of the labels. If it has not" in found.evidence


def test_a_label_of_few_leans_on_all() -> None:
    label = np.append(np.zeros(96, int), np.ones(4, int))
    predicted = label.copy()
    predicted[[0, 1, 2, 3, 96, 97, 98, 99]] ^= 1  # 8 of 100 contradicted, of the second label 4 of 4
    found = estimate(told(predicted, 2), label)
    np.testing.assert_allclose(found.contradicted[1], (4 * 1 + 2 * 0.08) / (4 + 2))


def test_a_class_whose_own_label_is_rare_is_predicted_all_the_same() -> None:
    """Half of class 0 carry label 1: of them the network gives class 0 little more than one half, or less."""
    true = np.arange(900) % 3
    P = np.array([[0.48, 0.52, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])[true]
    label = np.where((true == 0) & (np.arange(900) % 2 == 0), 1, true)
    np.testing.assert_allclose(estimate([P, P], label).noise_rate, [0, 1 / 3, 0], atol=0.01)


# --- simulated networks ---------------------------------------------------------------------------------------


class Simulated:
    """Examples that are more or less hard, and two networks that err on them apart from each other."""

    def __init__(self, n: int, c: int, error: float, seed: int) -> None:
        self.c, self.rng = c, np.random.default_rng(seed)
        self.true, self.hard = self.rng.integers(0, c, n), self.rng.random(n)
        self.error = np.minimum(3 * error * self.hard**2, 1)

    def other(self) -> np.ndarray:
        return (self.true + self.rng.integers(1, self.c, len(self.true))) % self.c

    def network(self) -> np.ndarray:
        """Unsure where examples are hard."""
        wrong = self.rng.random(len(self.true)) < self.error
        return told(np.where(wrong, self.other(), self.true), self.c, 0.95 - 0.4 * self.hard)

    def labels(self, kind: str) -> np.ndarray:
        if kind == "hard":
            return np.where(self.rng.random(len(self.true)) < 0.6 * self.hard**2, self.other(), self.true)
        return corrupt(self.true, transition.from_spec(kind, self.c), int(self.rng.integers(1 << 30)))


def rates(labels: np.ndarray, true: np.ndarray, c: int) -> np.ndarray:
    return np.array([(true[labels == k] != k).mean() for k in range(c)])


@pytest.mark.parametrize("kind", ["uniform:0.2", "pairwise:0.3", "structured:0.3", "hard", "uniform:0"])
@pytest.mark.parametrize("error", [0.05, 0.25])
def test_the_interval_holds_and_the_point_is_near(kind: str, error: float) -> None:
    """The point does not see noise on the examples on which a weak network errs most; the interval holds it."""
    held, off, wide = [], [], []
    for seed in range(20):
        made = Simulated(2_000, 10, error, seed)
        labels = made.labels(kind)
        found = estimate([made.network(), made.network()], labels)
        truth = (labels != made.true).mean()
        rate, low, high = found.overall
        held.append(low <= truth <= high)
        off.append(abs(rate - truth))
        wide.append(high - low)
    assert np.mean(held) >= 0.9
    assert np.mean(off) <= (0.015 + 0.45 * error if kind == "hard" else 0.03)
    assert np.mean(wide) <= (0.36 if kind == "hard" else 0.06 + 1.6 * error)


def test_each_label_has_its_own_rate() -> None:
    made = Simulated(10_000, 10, 0.1, 3)
    labels = made.labels("structured:0.4")
    found, truth = estimate([made.network(), made.network()], labels), rates(labels, made.true, 10)
    assert truth.max() - truth.min() > 0.3
    np.testing.assert_allclose(found.noise_rate, truth, atol=0.05)
    assert (found.low <= truth).all()
    assert (truth <= found.high).all()


@pytest.mark.parametrize("networks", [1, 2, 5])
def test_shuffled_labels_are_seen_and_others_are_not_called_so(networks: int) -> None:
    seen = []
    for seed in range(20):
        made = Simulated(300, 5, 0.3, seed)
        P, labels = [made.network()] * networks, made.labels("uniform:0.4")
        assert not estimate(P, labels).tells_nothing
        seen.append(estimate(P, made.rng.permutation(labels)).tells_nothing)
    assert all(seen)


# --- what must hold whatever comes, and what must not matter ----------------------------------------------------


@st.composite
def anything(draw: Any) -> tuple[list[np.ndarray], np.ndarray]:
    n, c, networks = draw(st.integers(1, 60)), draw(st.integers(2, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    P = rng.dirichlet(np.full(c, draw(st.floats(0.01, 5))) + 1e-3, (networks, n))
    P[rng.random((networks, n)) < draw(st.floats(0, 0.9))] = np.nan
    P[0, 0] = np.eye(c)[0]  # something was predicted
    return list(P), rng.integers(0, c, n)


@settings(max_examples=60, deadline=None)
@given(anything())
def test_proper_rates_and_matrices_come_out(made: tuple[list[np.ndarray], np.ndarray]) -> None:
    found = estimate(*made)
    for values in (found.noise_rate, found.low, found.high, found.upper, found.sure, found.contradicted):
        assert ((values >= 0) & (values <= 1)).all()
    assert (found.low <= found.noise_rate).all()
    assert (found.noise_rate <= np.minimum(found.high, found.upper)).all()
    assert (np.maximum(found.high, found.upper) < 1).all()
    assert found.overall[1] <= found.overall[0] <= found.overall[2]
    assert (found.transition >= 0).all()
    np.testing.assert_allclose(found.transition.sum(axis=1), 1, atol=1e-9)
    seen = ~np.isnan(np.array(made[0])[:, :, 0]).all(axis=0)
    q = np.bincount(made[1][seen], minlength=len(found.prior)) / seen.sum()
    np.testing.assert_allclose(transition.label_distribution(found.transition, found.prior), q, atol=1e-9)
    carried = q > 0
    np.testing.assert_allclose(
        transition.noise_rate(found.transition, found.prior)[carried], found.noise_rate[carried], atol=1e-9
    )
    saved = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert NoiseModel.read({}, saved, found.classes).to_dict() == found.to_dict()


@settings(max_examples=30, deadline=None)
@given(anything(), st.integers(0, 2**32 - 1))
def test_the_order_of_examples_networks_and_classes_does_not_matter(
    made: tuple[list[np.ndarray], np.ndarray], seed: int
) -> None:
    P, labels = np.repeat(made[0], 3, axis=1), np.repeat(made[1], 3)  # tied confidences
    found, rng = estimate(P, labels), np.random.default_rng(seed)
    rows, networks = rng.permutation(len(labels)), rng.permutation(len(P))
    again = estimate(P[networks][:, rows], labels[rows])
    for name in ("noise_rate", "low", "high", "upper", "transition"):
        np.testing.assert_allclose(getattr(again, name), getattr(found, name), atol=1e-9)
    classes = rng.permutation(P.shape[2])
    renamed = estimate(P[:, :, classes], np.argsort(classes)[labels], classes=range(P.shape[2]))
    np.testing.assert_allclose(renamed.noise_rate, found.noise_rate[classes], atol=1e-9)
    np.testing.assert_allclose(renamed.transition, found.transition[np.ix_(classes, classes)], atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(anything(), st.floats(0.05, 0.9))
def test_wider_levels_hold_narrower_ones(made: tuple[list[np.ndarray], np.ndarray], level: float) -> None:
    narrow, wide = (estimate(*made, level=one) for one in (level, (1 + level) / 2))
    assert (wide.low <= narrow.low).all()
    assert (narrow.high <= wide.high).all()


def test_perfect_probabilities_recover_the_matrix() -> None:
    T = transition.structured(0.4)
    true = np.random.default_rng(0).integers(0, 10, 60_000)
    found = estimate(T[true], corrupt(true, T, 0, exact=True))  # every confidence of a class is tied: all are sure
    np.testing.assert_allclose(found.transition, T, atol=0.01)
    np.testing.assert_allclose(found.prior, np.bincount(true) / len(true), atol=0.005)


def test_lists_and_arrays_names_and_codes_say_the_same() -> None:
    first, second, label = by_hand()
    together = estimate([first, second], label).to_dict()
    assert estimate(np.array([first, second]), label).to_dict() == together
    assert estimate(first.tolist(), label).to_dict() == estimate(first, label).to_dict()
    label = np.where(np.arange(120) < 10, 2, label)
    names = np.array(["cat", "ant", "bee"])
    by_name, by_code = (estimate([first, second], one, classes=names) for one in (names[label], label))
    assert by_name.to_dict() == by_code.to_dict()
    assert by_name.classes == ["cat", "ant", "bee"]
    in_order = estimate([first[:, [1, 2, 0]], second[:, [1, 2, 0]]], names[label])
    assert in_order.classes == ["ant", "bee", "cat"]
    np.testing.assert_allclose(in_order.noise_rate, by_name.noise_rate[[1, 2, 0]])
    np.testing.assert_allclose(estimate([first, second], label + 1).noise_rate, by_name.noise_rate)  # 1, 2, 3
    np.testing.assert_allclose(estimate([first, second], 10 * (label + 1)).noise_rate, by_name.noise_rate)


# --- what is said -----------------------------------------------------------------------------------------------


def test_notes() -> None:
    first, second, label = by_hand()
    nothing = np.full((3, 3), np.nan)
    assert estimate([first, second], label).notes == []
    with_gaps = estimate([np.vstack([one, nothing]) for one in (first, second)], np.append(label, [0, 0, 1]))
    assert with_gaps.notes == ["Left out: 3 examples without out-of-sample probabilities."]
    np.testing.assert_array_equal(with_gaps.noise_rate, estimate([first, second], label).noise_rate)
    nobody = estimate(np.full((10, 3), 1 / 3), np.zeros(10, int))
    assert any("No example is labelled 1, 2." in note for note in nobody.notes)
    assert any("Hardly any label is contradicted (0.0 %)" in note for note in estimate(told(label, 3), label).notes)
    assert any("one and the same" in note for note in estimate([first, first], label).notes)
    said = estimate([first, second, first], label).evidence
    assert said.startswith("3 networks contradict 22 % of the labels and differ from each other on 13 %.")
    assert said.endswith("0 to 22 % are wrong; only answers can tell.")


def test_what_was_told_is_said_beside_an_estimate() -> None:
    told_before = NoiseModel(classes=["a", "b", "c"], prior=np.array([0.5, 0.3, 0.2]), notes=["As told."])
    found = estimate([*by_hand()[:2]], by_hand()[2])
    both = told_before.beside(found)
    assert both.notes == [*found.notes, "As told."]
    assert both.towards.tolist() == [0.5, 0.3, 0.2]


@pytest.mark.parametrize(("n", "nothing"), [(10, True), (12, False)])
def test_ten_that_agree_may_be_chance(n: int, nothing: bool) -> None:
    """Half of each of two classes: kappa's variance is 1 / (n - 1), and 3.09 of its roots are chance's reach."""
    label = np.arange(n) % 2
    assert estimate(told(label, 2), label).tells_nothing == nothing


EVEN, ZEROS = np.full((4, 2), 0.5), np.zeros(4, dtype=int)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((np.zeros(4), ZEROS), {}, "table of numbers"),
        ((np.full((4, 1), 1.0), ZEROS), {}, "two or more classes"),
        (([EVEN, EVEN[:3]], ZEROS), {}, r"shape \(4, 2\), float64 of shape \(3, 2\)"),
        ((EVEN, ZEROS[:3]), {}, r"4 rows of probabilities but labels of shape \(3,\)"),
        ((EVEN, ZEROS + 2), {}, "2 columns, and there are 1 classes"),
        ((EVEN, np.array([0, 1, 2, 0])), {"classes": ["a", "b"]}, "is not one of the 2 classes 'a', 'b'"),
        ((EVEN, np.array(list("abac"))), {}, "2 columns, and there are 3 classes"),
        ((EVEN, np.array(list("abab"))), {"classes": ["a", "c"]}, "The label 'b' at index 1 is not one of the 2"),
        ((EVEN, ZEROS), {"classes": ["a"]}, "2 columns, and there are 1 classes"),
        ((np.array([[0.5, 0.5]] * 3 + [[0.5, 0.9]]), ZEROS), {}, "index 3 .* sum to 1.4"),
        ((np.array([[0.5, 0.5], [-0.5, 1.5]] * 2), ZEROS), {}, "index 1 are not shares"),
        ((np.array([[0.5, 0.5], [np.nan, 1.0]] * 2), ZEROS), {}, "index 1 are not shares"),
        ((np.full((4, 2), np.nan), ZEROS), {}, "every row is NaN"),
        ((EVEN, ZEROS), {"level": 1.0}, "level"),
    ],
)
def test_bad_input_is_refused_in_words(arguments: tuple[Any, Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        estimate(*arguments, **options)
