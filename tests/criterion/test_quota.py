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


SHORT = [4438, 4465, 4452, 4503, 4587, 4558, 4512, 4507, 4466, 4512]
STRUCTURED = (STRUCTURED_N, structured_rates(0.4), UNIFORM)
GOLDEN = [3411, 3411, 2678, 2356, 2663, 2323, 3411, 3411, 3411, 2677]
RARE = [200, 200, 4]
LEFT_OUT = {"b": "it has no examples", "c": "its proportion is 0", "d": "its prior is 0"}


@pytest.mark.parametrize(
    "arguments, options, expected",
    [
        # safe rounding keeps the example that truncation loses
        (([4500] * 10, 0.27, UNIFORM), {"rounding": "raw"}, {"num": [3041] * 10}),
        (([4500] * 10, 0.27, UNIFORM), {}, {"num": [3042] * 10}),
        # a nominal class size ignores the counts drawn, but never exceeds them
        ((SHORT, 0.45, UNIFORM), {"rounding": "raw", "class_size": "nominal"}, {"num": [2070] * 10}),
        (([10, 90], 0.0), {"class_size": "nominal"}, {"num": [10, 50]}),
        (STRUCTURED, {}, {"gamma_0": 1, "gamma_1": 1.936850, "gamma": 1.468425, "num": GOLDEN}),
        (STRUCTURED, {"rounding": "raw"}, {"num": GOLDEN}),
        (STRUCTURED, {"gamma": 1}, {"num": [2323] * 10}),
        (STRUCTURED, {"gamma": "none"}, {"gamma": 1.936850, "num": quotas(*STRUCTURED).available.tolist()}),
        (STRUCTURED, {"gamma": 100.0}, {"num": quotas(*STRUCTURED).available.tolist()}),
        # an unknown prior is not balanced and says so
        (([100, 50], [0.5, 0]), {}, {"prior": None, "m": None, "gamma_1": None, "gamma": None, "num": [40, 50]}),
        # classes left out are named and do not stop the others
        (([100, 0, 80, 60], [0, 0, 0.5, 0], [0.5, 0.2, 0.3, 0]), {"beta": 1.0, "classes": list("abcd")},
         {"left_out": LEFT_OUT, "m": 200, "gamma": 1, "num": [100, 0, 0, 0]}),
        (([100, 60], 0.0, [1.0, 0.0]), {"gamma": "none"}, {"num": [100, 60]}),
        # 1 of 4 at a known rate: m = 1 / p of it, and of (200 + 200 / .4975) / 2 the others have p
        ((RARE, [0, 0, 0.6875], [0.4975, 0.4975, 0.005]), {},
         {"available": [200, 200, 1], "m": 200, "num": [149, 149, 1]}),
        # rates alike, but of 4 examples nobody can be sure: only that class is held back
        ((RARE, 0.1, np.array(RARE) / 404), {"upper": [0.15, 0.15, 0.15]}, {"num": [170, 170, 3]}),
        ((RARE, 0.1, np.array(RARE) / 404), {"upper": [0.15, 0.15, 0.6]}, {"num": [170, 170, 1]}),
        (([0, 0], 0.1, [0.5, 0.5]), {}, {"num": [0, 0], "gamma": 1}),  # no division by zero
    ],
)  # fmt: skip
def test_by_hand(arguments, options, expected):
    quota = quotas(*arguments, **options)
    for name, value in expected.items():
        found = getattr(quota, name)
        assert found == value if name == "left_out" or value is None else found == pytest.approx(value, abs=5e-6), name


@pytest.mark.parametrize("known", [True, False])
def test_a_class_that_gives_no_whole_example_costs_the_others_nothing(known):
    """A label written wrongly once: n = 1, and most of that one is noise."""
    alone = quotas([160, 160], 0.09, [0.5, 0.5], upper=None if known else [0.14, 0.14])
    upper = None if known else [0.14, 0.14, 0.97]
    quota = quotas([160, 160, 1], [0.09, 0.09, 0.69], [0.4985, 0.4985, 0.003], upper=upper, classes=["a", "b", "aa"])
    assert quota.num.tolist() == [*alone.num.tolist(), 0]
    assert quota.gamma == alone.gamma == 1
    assert quota.left_out == {"aa": "not one whole example of it can be kept"}


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
