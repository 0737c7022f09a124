"""prop, m, gamma and num against the paper's appendix (exactly) and the authors' counts (to the digit)."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smallloss.criterion.quota import balance, number, proportion, quotas
from smallloss.criterion.transition import from_spec
from smallloss.errors import InputError
from smallloss.noise.choose import select

UNIFORM = np.full(10, 0.1)
STRUCTURED_N = [6322, 6323, 2678, 4532, 2663, 4468, 4500, 6337, 4500, 2677]


def structured_rates(r):
    into = r / (1 + r)
    return [into, into, 0 * r, r, 0 * r, r, 0 * r, into, 0 * r, 0 * r]


@pytest.mark.parametrize(
    ("r", "gamma_1", "middle"),
    [
        (Fraction(1, 5), Fraction(25, 19), Fraction(22, 19)),
        (Fraction(3, 10), Fraction(25, 16), Fraction(41, 32)),
        (Fraction(2, 5), Fraction(25, 13), Fraction(19, 13)),
    ],
)
def test_relative_numbers_of_the_appendix_exactly(r, gamma_1, middle):
    beta, one = Fraction(1, 5), Fraction(1)
    n = np.array([1 + r, 1 + r, 1 - r, one, 1 - r, one, one, 1 + r, one, 1 - r])
    prior = np.array([Fraction(1, 10)] * 10)
    available = proportion(np.array(structured_rates(r)), beta) * n
    m, found = balance(available, prior)
    assert found == gamma_1
    assert (1 + found) / 2 == middle

    def relative(gamma):
        return (number(available, prior, m, gamma) / (prior * n.sum())).tolist()

    most, least, half = 1 - beta * r, 1 - (1 + beta) * r, 1 - (1 + beta) / 2 * r
    assert relative(found) == [most, most, 1 - r, least, 1 - r, least, 1, most, 1, 1 - r]
    assert relative(1) == [least] * 10
    assert relative(middle) == [half, half, 1 - r, least, 1 - r, least, half, half, half, 1 - r]


@pytest.mark.parametrize(
    "noise, c, total",
    [
        *[("uniform:0.1", 10, 40140), ("uniform:0.3", 10, 30410), ("uniform:0.5", 10, 20700)],
        *[("uniform:0.7", 10, 13320), ("uniform:0.9", 10, 6830), ("uniform:0.2", 100, 34300)],
        *[("uniform:0.4", 100, 23600), ("uniform:0.6", 100, 14600), ("uniform:0.8", 100, 7400)],
        *[("pairwise:0.1", 10, 39600), ("pairwise:0.2", 10, 34200), ("pairwise:0.3", 10, 28800)],
        ("pairwise:0.4", 10, 23400),
    ],
)
def test_authors_counts(noise, c, total):
    """From the rates, and as a run with the preset `paper` and the authors' class sizes has them: from T alone."""
    kind, r = noise.split(":")
    eta = (c - 1) / c * float(r) if kind == "uniform" else float(r)  # (r * 9) / 10 keeps one more at r = .3
    sizes = {"rounding": "raw", "class_size": "nominal"}
    assert quotas(np.full(c, 45_000 // c), eta, np.full(c, 1 / c), **sizes).num.sum() == total
    labels = np.arange(45_000) % c
    found = select(np.arange(45_000.0), labels, transition=from_spec(noise, c), prior="uniform", **sizes)
    assert found.quota.num.sum() == total


def test_safe_rounding_keeps_the_example_that_truncation_loses():
    n = np.full(10, 4500)
    assert quotas(n, 0.27, UNIFORM, rounding="raw").num[0] == 3041
    assert quotas(n, 0.27, UNIFORM).num[0] == 3042


def test_nominal_class_size_ignores_the_drawn_counts_but_never_exceeds_them():
    n = [4438, 4465, 4452, 4503, 4587, 4558, 4512, 4507, 4466, 4512]
    quota = quotas(n, 0.45, UNIFORM, rounding="raw", class_size="nominal")
    assert quota.num.tolist() == [2070] * 10
    assert quotas([10, 90], 0.0, class_size="nominal").num.tolist() == [10, 50]


@pytest.mark.parametrize("rounding", ["safe", "raw"])
def test_golden_structured_noise(rounding):
    quota = quotas(STRUCTURED_N, structured_rates(0.4), UNIFORM, rounding=rounding)
    assert quota.gamma_0 == 1
    assert quota.gamma_1 == pytest.approx(1.93685, abs=5e-6)
    assert quota.gamma == pytest.approx(1.46843, abs=5e-6)
    assert quota.num.tolist() == [3411, 3411, 2678, 2356, 2663, 2323, 3411, 3411, 3411, 2677]


def test_gamma_choices():
    at = {g: quotas(STRUCTURED_N, structured_rates(0.4), UNIFORM, gamma=g) for g in (1, "none", 100.0)}
    assert set(at[1].num.tolist()) == {2323}
    assert at["none"].gamma == at["none"].gamma_1
    assert at["none"].num.tolist() == at[100.0].num.tolist() == at[1].available.tolist()


def test_unknown_prior_is_not_balanced_and_says_so():
    quota = quotas([100, 50], [0.5, 0.0])
    assert quota.prior is None
    assert quota.m is quota.gamma_1 is quota.gamma is None
    assert quota.num.tolist() == [40, 50]


def test_classes_left_out_are_named_and_do_not_stop_the_others():
    quota = quotas([100, 0, 80, 60], [0.0, 0.0, 0.5, 0.0], [0.5, 0.2, 0.3, 0.0], beta=1.0, classes=["a", "b", "c", "d"])
    assert quota.left_out == {"b": "it has no examples", "c": "its proportion is 0", "d": "its prior is 0"}
    assert quota.m == 200
    assert quota.gamma == 1
    assert quota.num.tolist() == [100, 0, 0, 0]
    assert quotas([100, 60], 0.0, [1.0, 0.0], gamma="none").num.tolist() == [100, 60]


@pytest.mark.parametrize("known", [True, False])
def test_a_class_that_gives_no_whole_example_costs_the_others_nothing(known):
    """A label written wrongly once: n = 1, and most of that one is noise."""
    alone = quotas([160, 160], 0.09, [0.5, 0.5], upper=None if known else [0.14, 0.14])
    upper = None if known else [0.14, 0.14, 0.97]
    quota = quotas([160, 160, 1], [0.09, 0.09, 0.69], [0.4985, 0.4985, 0.003], upper=upper, classes=["a", "b", "aa"])
    assert quota.num.tolist() == [*alone.num.tolist(), 0]
    assert quota.gamma == alone.gamma == 1
    assert quota.left_out == {"aa": "not one whole example of it can be kept"}


def test_a_class_that_gives_one_example_is_balanced_as_eq_2_says():
    """1 of 4 at a known rate: m = 1 / p of it, and the others keep the middle between that and all they have."""
    prior = np.array([0.4975, 0.4975, 0.005])
    quota = quotas([200, 200, 4], [0.0, 0.0, 0.6875], prior)
    assert quota.available.tolist() == [200, 200, 1]
    assert quota.m == pytest.approx(1 / 0.005)
    assert quota.num.tolist() == [149, 149, 1]  # (200 + 200 / .4975) / 2 of which p is theirs


def test_how_little_is_known_of_a_rare_class_costs_the_others_nothing():
    """Rates alike, but of 4 examples nobody can be sure: only that class is held back."""
    n, prior = np.array([200, 200, 4]), np.array([200, 200, 4]) / 404
    sure = quotas(n, 0.1, prior, upper=[0.15, 0.15, 0.15])
    unsure = quotas(n, 0.1, prior, upper=[0.15, 0.15, 0.6])
    assert sure.num.tolist() == [170, 170, 3]
    assert unsure.num.tolist() == [170, 170, 1]


@given(st.data())
def test_less_certainty_of_one_class_never_takes_from_another(data):
    c = data.draw(st.integers(2, 6))
    n = np.array(data.draw(st.lists(st.integers(1, 400), min_size=c, max_size=c)))
    rate = np.array(data.draw(st.lists(st.floats(0, 0.8), min_size=c, max_size=c)))
    upper = rate + (1 - rate) * np.array(data.draw(st.lists(st.floats(0, 0.9), min_size=c, max_size=c)))
    wider = upper.copy()
    wider[0] += (1 - upper[0]) * data.draw(st.floats(0, 0.9))
    before, after = (quotas(n, rate, n / n.sum(), upper=high) for high in (upper, wider))
    if (before.available[0] > 0) == (after.available[0] > 0):
        assert after.num[1:].tolist() == before.num[1:].tolist()
    assert after.num[0] <= before.num[0]


def test_nothing_at_all_is_no_division_by_zero():
    quota = quotas([0, 0], 0.1, [0.5, 0.5])
    assert quota.num.tolist() == [0, 0]
    assert quota.gamma == 1


counts = st.lists(st.integers(0, 5000), min_size=1, max_size=12)


@given(counts, st.data())
def test_quotas_stay_within_what_is_there(n, data):
    c = len(n)
    eta = data.draw(st.lists(st.floats(0, 0.999), min_size=c, max_size=c))
    shares = np.array(data.draw(st.lists(st.integers(0, 100), min_size=c, max_size=c)), float)
    prior = shares / shares.sum() if shares.sum() else None
    beta = data.draw(st.floats(0, 1))
    gamma = data.draw(st.one_of(st.sampled_from(["middle", "none"]), st.floats(1, 50)))
    quota = quotas(n, eta, prior, beta=beta, gamma=gamma)
    right = (1 - np.array(eta)) * n
    assert (quota.num >= 0).all()
    assert (quota.num <= quota.available).all()
    assert (quota.available <= np.minimum(n, right + 1e-6)).all()


@given(counts.filter(any), st.data())
def test_from_gamma_1_on_eq_2_collapses(n, data):
    eta = data.draw(st.lists(st.floats(0, 0.9), min_size=len(n), max_size=len(n)))
    prior = np.full(len(n), 1 / len(n))
    gamma_1 = quotas(n, eta, prior).gamma_1
    for gamma in (gamma_1, gamma_1 * 1.5):
        quota = quotas(n, eta, prior, gamma=gamma)
        assert quota.num.tolist() == quota.available.tolist()


def test_at_gamma_1_truncation_loses_nobody():
    """gamma_1 m p_i is prop(i) n_i on paper; in floats it is 34.999... of the first class, which would be cut to 34."""
    n, prior = [70, 30], [0.3, 0.7]
    gamma_1 = quotas(n, 0.5, prior, beta=0.0).gamma_1
    assert quotas(n, 0.5, prior, beta=0.0, gamma=gamma_1, rounding="raw").num.tolist() == [35, 15]


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        ({"noise_rate": [0.1, 1.0]}, "class 'dog' is 1"),
        ({"noise_rate": -0.1}, "class 'cat' is -0.1"),
        ({"noise_rate": [0.1, float("nan")]}, "'dog' is nan"),
        ({"noise_rate": [0.1]}, "2 classes"),
        ({"prior": [0.5, 0.6]}, "sums to 1.1"),
        ({"prior": [1.5, -0.5]}, "'cat' is 1.5"),
        ({"beta": 1.1}, "beta is 1.1"),
        ({"beta": float("nan")}, "beta is nan"),
        ({"gamma": 0.9}, "gamma is 0.9"),
        ({"gamma": float("inf")}, "gamma is inf"),
        ({"gamma": "half"}, "gamma is 'half'"),
        ({"rounding": "up"}, "rounding is 'up'"),
        ({"class_size": "big"}, "class_size is 'big'"),
    ],
)
def test_bad_input_is_named(arguments, culprit):
    given_arguments = {"noise_rate": 0.1, "prior": [0.5, 0.5], "classes": ["cat", "dog"]} | arguments
    with pytest.raises(InputError, match=culprit):
        quotas([10, 10], **given_arguments)
