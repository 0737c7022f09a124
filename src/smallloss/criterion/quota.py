"""How many examples to keep of each class: prop(i), m, gamma and num(i) of Eq. 2.

`proportion`, `balance` and `number` are the paper's arithmetic and nothing else. They take floats or exact
fractions (object arrays); rounding down to whole examples comes last, in `quotas`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from smallloss.errors import InputError
from smallloss.knobs import to_numpy

Gamma = float | Literal["middle", "none"]
Rounding = Literal["safe", "raw"]
ClassSize = Literal["observed", "nominal"]

# (1 - 0.56) * 25 is 10.999... in floats. This much is forgiven before rounding down, unless rounding is "raw".
SLACK = 1e-9


def proportion(noise_rate: Any, beta: Any = 0.2) -> Any:
    """prop(i) = max{1 - (1 + beta) eta_i, (1 - beta)(1 - eta_i)} (Section 4), equal at eta_i = 1/2."""
    return np.maximum(1 - (1 + beta) * noise_rate, (1 - beta) * (1 - noise_rate))


def safe_proportion(noise_rate: Any, upper80: Any, beta: float = 0.2) -> Any:
    """prop(i) of Section 4 at the estimate, but never more than 1 - the upper end of its 80 % interval."""
    return np.minimum(proportion(noise_rate, beta), 1 - np.asarray(upper80))


def balance(available: np.ndarray, prior: np.ndarray) -> tuple[Any, Any]:
    """m = min_i prop(i) n_i / p_i and gamma_1 = max_i prop(i) n_i / (p_i m) (Section 4).

    `available` is prop(i) n_i, 0 for a class with nothing to give. Such a class, or one with p_i = 0, has no say.
    """
    counted = (available > 0) & (prior > 0)
    if not counted.any():
        return 0, 1
    total = available[counted] / prior[counted]
    return total.min(), total.max() / total.min()


def number(available: np.ndarray, prior: np.ndarray, m: Any, gamma: Any) -> np.ndarray:
    """num(i) = min{gamma p_i m, prop(i) n_i} (Eq. 2), before rounding."""
    return np.minimum(gamma * m * prior, available)


@dataclass(frozen=True, eq=False)
class Quota:
    """num(i) of Eq. 2 with everything that led to it; vectors have one entry per class."""

    n: np.ndarray  # n_i, examples that carry label i
    prior: np.ndarray | None  # p_i; None: unknown, and then m, gamma_1 and gamma are None too
    noise_rate: np.ndarray  # eta_i, share of wrong labels among the n_i
    proportion: np.ndarray  # prop(i)
    available: np.ndarray  # prop(i) n_i in whole examples: the most that safety allows
    m: float | None
    gamma_1: float | None
    gamma: float | None
    num: np.ndarray  # num(i) in whole examples, never above n_i
    left_out: dict[Hashable, str]  # class -> why it has no part in m and gamma_1
    gamma_0: float = 1.0


def quotas(
    n: Any, noise_rate: Any, prior: Any = None, *, upper: Any = None, least: Any = 0.0, beta: float = 0.2,
    gamma: Gamma = "middle", rounding: Rounding = "safe", class_size: ClassSize = "observed",
    classes: Sequence[Hashable] | None = None,
) -> Quota:  # fmt: skip
    """Eq. 2 for classes of `n` examples: how many to keep of each.

    upper: how high the rates may be, where they were estimated: Eq. 2 is that of the rates themselves, and no class
    keeps more than 1 - upper of itself. How little is known of one class costs the others nothing.
    least: the share known to be wrong; no rate, and no upper end, is taken to be lower.
    gamma: "middle" is (gamma_0 + gamma_1) / 2, "none" is gamma_1 (no balancing), or a number >= 1. With an
    unknown prior (None) there is nothing to balance towards, and gamma is gamma_1 whatever was asked.
    rounding: "safe" forgives rounding errors; "raw" truncates as the authors' code does.
    class_size: "nominal" puts n / c in the place of every n_i, as the authors' code does for uniform and
    pairwise noise.
    """
    counts = np.asarray(n, dtype=np.int64)
    c = len(counts)
    names: list[Hashable] = list(range(c) if classes is None else classes)
    rates = np.maximum(_rates(noise_rate, names), least)
    p = None if prior is None else _prior(prior, names)
    _check_options(beta, gamma, rounding, class_size)

    size = np.full(c, counts.sum() / c) if class_size == "nominal" else counts
    estimated = prop = proportion(rates, beta)
    if upper is not None:
        prop = safe_proportion(rates, np.maximum(_rates(upper, names, "upper"), least), beta)
    available = prop * size
    whole = _whole(available, counts, rounding)
    m = gamma_1 = used = None
    num = available
    if p is not None:
        # A class that gives no whole example cannot be balanced by keeping less of the others.
        m, gamma_1 = (float(x) for x in balance(np.where(whole > 0, estimated * size, 0), p))
        used = _gamma(gamma, gamma_1)
        if gamma != "none":
            # from gamma_1 on Eq. 2 is prop(i) n_i; said outright, so that rounding cannot lose an example
            num = np.where(p > 0, available, 0) if used >= gamma_1 else number(available, p, m, used)
    num = _whole(num, counts, rounding)
    return Quota(counts, p, rates, prop, whole, m, gamma_1, used, num, _left_out(names, counts, p, prop, whole))


def whole_part(x: Any) -> np.ndarray:
    """Round down to whole examples, forgiving the rounding errors of floats."""
    return np.floor(np.asarray(x) + SLACK).astype(np.int64)


def _whole(x: np.ndarray, n: np.ndarray, rounding: Rounding) -> np.ndarray:
    return np.minimum(x.astype(np.int64) if rounding == "raw" else whole_part(x), n)


def _gamma(gamma: Gamma, gamma_1: float) -> float:
    if gamma == "none":
        return gamma_1
    return (1 + gamma_1) / 2 if gamma == "middle" else float(gamma)


def _left_out(
    names: list[Hashable], n: np.ndarray, prior: np.ndarray | None, prop: np.ndarray, whole: np.ndarray
) -> dict[Hashable, str]:
    balanced = prior is not None
    reasons = {  # the first that holds
        "it has no examples": n == 0,
        "its prior is 0": (prior if prior is not None else n + 1) == 0,
        "its proportion is 0": prop <= 0,
        "not one whole example of it can be kept": balanced & (whole == 0),
    }
    why = np.select(list(reasons.values()), list(reasons), "").tolist()
    return {name: reason for name, reason in zip(names, why, strict=True) if reason}


def _vector(what: str, values: Any, names: list[Hashable]) -> np.ndarray:
    try:
        vector = np.array(to_numpy(values), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is {values!r}: give a number, one for each class, or {{label: number}}.") from None
    if vector.shape != (len(names),):
        raise InputError(f"{what} has shape {vector.shape}, but there are {len(names)} classes: give one per class.")
    return vector


def _rates(given: Any, names: list[Hashable], what: str = "noise_rate") -> np.ndarray:
    single = isinstance(given, str) or np.ndim(to_numpy(given)) == 0
    rates = _vector(what, [given] * len(names) if single else given, names)
    called = "noise rate" if what == "noise_rate" else f"{what} end of the noise rate"
    for name, rate in zip(names, rates, strict=True):
        if not 0 <= rate < 1:
            raise InputError(
                f"The {called} of class {name!r} is {rate:g}: it must be at least 0 and below 1 "
                "(the share of wrong labels among the examples that carry it)."
            )
    return rates


def _prior(prior: Any, names: list[Hashable]) -> np.ndarray:
    p = _vector("prior", prior, names)
    for name, share in zip(names, p, strict=True):
        if not 0 <= share <= 1:
            raise InputError(f"The prior of class {name!r} is {share:g}: it must lie between 0 and 1.")
    if abs(p.sum() - 1) > 1e-6:
        raise InputError(f"The prior sums to {p.sum():g}: shares of the true classes must sum to 1.")
    return p


def _check_options(beta: float, gamma: Gamma, rounding: str, class_size: str) -> None:
    if not isinstance(beta, Real) or not 0 <= beta <= 1:
        raise InputError(f"beta is {beta!r}: it must lie between 0 (keep all that may be right) and 1.")
    if isinstance(gamma, str):
        if gamma not in ("middle", "none"):
            raise InputError(f'gamma is {gamma!r}: use "middle", "none" or a number of at least 1.')
    elif not isinstance(gamma, Real) or not 1 <= gamma < np.inf:
        raise InputError(f"gamma is {gamma!r}: a number must be finite and at least 1 (gamma_0).")
    if rounding not in ("safe", "raw"):
        raise InputError(f'rounding is {rounding!r}: use "safe" or "raw".')
    if class_size not in ("observed", "nominal"):
        raise InputError(f'class_size is {class_size!r}: use "observed" or "nominal".')
