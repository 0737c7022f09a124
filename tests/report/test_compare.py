import re
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from smallloss.errors import InputError
from smallloss.record.run import Accuracy
from smallloss.report.compare import Difference, advice, choose_shipped, compare, score_interval

Z = 1.959963984540054
CALLED = {"cross_entropy": "Cross Entropy", "rsl": "RSL", "relabelled": "relabelled"}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(1, 400))
    b = draw(st.integers(0, n))
    return b, draw(st.integers(0, n - b)), n


def brute_force_z(b: int, c: int, n: int, d: float) -> float:
    """The score statistic with the likelihood maximised numerically, over q with p = q + d."""

    def surprise(q: float) -> float:
        cells = ((b, q + d), (c, q), (n - b - c, 1 - 2 * q - d))
        return -sum(count * np.log(max(p, 1e-300)) for count, p in cells if count)

    found = minimize_scalar(surprise, bounds=(max(0, -d), (1 - d) / 2), options={"xatol": 1e-12})
    return (b - c - n * d) / sqrt(n * (2 * found.x + d - d * d))


@pytest.mark.parametrize(
    "b, c, n", [(1, 7, 21), (12, 2, 50), (3, 0, 40), (0, 0, 25), (60, 45, 1000), (20, 0, 100), (9, 0, 10)]
)
def test_limits_solve_the_score_equation(b: int, c: int, n: int) -> None:
    low, high = score_interval(b, c, n)
    assert brute_force_z(b, c, n, low) == pytest.approx(Z, abs=2e-3)
    assert brute_force_z(b, c, n, high) == pytest.approx(-Z, abs=2e-3)


def test_airways_example_of_the_literature() -> None:
    """1 and 7 discordant pairs of 21 children: -0.517 to -0.026 in the textbooks."""
    assert score_interval(1, 7, 21) == pytest.approx((-0.517, -0.026), abs=5e-4)


@given(pairs())
def test_contains_zero_exactly_when_mcnemar_sees_nothing(pair: tuple[int, int, int]) -> None:
    b, c, n = pair
    statistic = (b - c) ** 2 / max(b + c, 1)
    assume(abs(statistic - Z * Z) > 1e-6)
    low, high = score_interval(b, c, n)
    assert (low <= 0 <= high) == (statistic < Z * Z)


@given(pairs())
def test_is_an_interval_around_the_difference_and_symmetric(pair: tuple[int, int, int]) -> None:
    b, c, n = pair
    low, high = score_interval(b, c, n)
    assert -1 <= low <= (b - c) / n <= high <= 1
    assert low < high
    assert score_interval(c, b, n) == pytest.approx((-high, -low), abs=1e-9)


@pytest.mark.parametrize("p, q", [(0.1, 0.1), (0.2, 0.05), (0.03, 0.01)])
def test_covers_the_truth_as_often_as_it_says(p: float, q: float) -> None:
    n, covered = 40, 0.0
    for b in range(n + 1):
        for c in range(n - b + 1):
            low, high = score_interval(b, c, n)
            if low <= p - q <= high:
                covered += comb(n, b) * comb(n - b, c) * p**b * q**c * (1 - p - q) ** (n - b - c)
    assert 0.935 < covered < 0.995


def of_test(method: str, right: int, n: int = 100) -> Accuracy:
    agrees = np.arange(n) < right
    return Accuracy(method, None, 0, 0, agrees, agrees=agrees, called=CALLED.get(method, method))


def test_every_method_beside_cross_entropy() -> None:
    rights = {"rsl": 70, "cross_entropy": 50, "same": 50, "worse": 20}
    found = compare([of_test(method, right) for method, right in rights.items()])
    assert list(found) == ["rsl", "same", "worse"]
    assert found["rsl"].value == 0.2
    assert found["rsl"].words == "better by 20.0 points (13.3 to 28.9)"
    assert found["same"].words == "no difference seen (-3.7 to +3.7 points)"
    assert found["worse"].words.startswith("worse by 30.0 points (")
    assert Difference(-0.1, -0.2, -0.05).words == "worse by 10.0 points (5.0 to 20.0)"
    assert compare([of_test("rsl", 3)]) == {}
    assert compare([of_test(name, 0, n=0) for name in ("cross_entropy", "rsl")]) == {}
    with pytest.raises(InputError, match="rsl was tested on 3 examples and cross_entropy on 4"):
        compare([of_test("cross_entropy", 4, n=4), of_test("rsl", 3, n=3)])


def test_where_a_method_is_worse_the_reader_is_told_what_to_do() -> None:
    plain = of_test("cross_entropy", 90)
    assert advice([plain, of_test("rsl", 90)]) == advice([plain, of_test("rsl", 89)]) == []
    (said,) = advice([plain, of_test("rsl", 50)])
    assert said.startswith("RSL is worse than Cross Entropy on these data: too many right examples may have been set")
    assert "let the network see features" in said
    assert "or use --method cross_entropy." in said
    (said,) = advice([plain, of_test("rsl", 80)], sees_features=True)
    assert "features" not in said
    assert "(smallloss audit), or use --method cross_entropy." in said


@pytest.mark.parametrize(
    "shares, ship, method, why",
    [
        ((80, 80), "best", "rsl", "no difference seen .* by the given labels of 100 held-out .* the method asked for"),
        ((79, 80), "best", "rsl", "no difference seen"),
        (
            (82, 80),
            "best",
            "cross_entropy",
            "RSL shows no gain over it, with 80 right where it has 82, by the given labels",
        ),
        ((82, 80, 83), "best", "cross_entropy", "RSL shows no gain over it"),
        ((82, 80), "method", "rsl", "no difference seen .*, as asked"),
        ((80, 90), "best", "rsl", r"better by 10.0 points .*, beside Cross Entropy, by .* of 100 held-out examples$"),
        ((90, 80), "best", "cross_entropy", "RSL is worse by 10.0 points"),
        ((90, 80), "method", "rsl", "worse by 10.0 points .*, beside Cross Entropy, .*, as asked"),
        ((90, 80, 95), "best", "relabelled", "RSL is worse by 15.0 points"),
        ((80, 80, 90), "best", "relabelled", "RSL is worse by 10.0 points"),
        ((90, 80, 81), "best", "cross_entropy", "RSL is worse by 10.0 points"),
    ],
)
def test_the_best_is_shipped_and_a_tie_is_the_methods(shares, ship: str, method: str, why: str) -> None:
    names = ("cross_entropy", "rsl", "relabelled")
    found = choose_shipped([of_test(*one) for one in zip(names, shares, strict=False)], "rsl", ship)
    assert found is not None
    assert found.method == method
    assert re.match(why, found.why)
    for name in ("cross_entropy", "rsl"):  # alone; where the method had too little to learn from
        assert choose_shipped([of_test("cross_entropy", 80)], name, ship) is None
