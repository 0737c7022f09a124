"""Methods side by side on the same test examples: a paired difference of accuracy with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from smallloss.errors import InputError
from smallloss.record.run import RELABELLED, Accuracy, Shipped

REFERENCE = "cross_entropy"
SHIP = ("best", "method")  # which classifier a run leaves behind
_TAKEN = {"last": "last", "mean_of_last_ten": "mean of last 10", "best": "best"}


@dataclass(frozen=True)
class Difference:
    """A method's accuracy minus the reference's, in shares, with a 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def words(self) -> str:
        points, low, high = 100 * self.value, 100 * self.low, 100 * self.high
        if self.low <= 0 <= self.high:
            return f"no difference seen ({low:+.1f} to {high:+.1f} points)"
        if self.value > 0:
            return f"better by {points:.1f} points ({low:.1f} to {high:.1f})"
        return f"worse by {-points:.1f} points ({-high:.1f} to {-low:.1f})"


def shares(accuracies: Sequence[Accuracy]) -> dict[str, list[float | None]]:
    """The accuracies by when they were taken, one for each method, as far as any has one: title -> values."""
    columns = {title: [getattr(found, name) for found in accuracies] for name, title in _TAKEN.items()}
    return {title: values for title, values in columns.items() if any(value is not None for value in values)}


def compare(accuracies: Sequence[Accuracy]) -> dict[str, Difference]:
    """Every method against plain cross entropy; empty where that is not among them or nothing was tested."""
    reference = next((found for found in accuracies if found.method == REFERENCE), None)
    if reference is None or len(reference.right) == 0:
        return {}
    return {other.method: difference(other, reference) for other in accuracies if other.method != REFERENCE}


def choose_shipped(accuracies: Sequence[Accuracy], method: str, ship: str, by: str = "given") -> Shipped | None:
    """The best on the held-out part; a tie, where the paired interval contains 0, goes to the method asked for, unless
    plain cross entropy got more right: what nothing speaks for may do harm.

    None where there is nothing to choose from. by: which labels `agrees` goes by, in words.
    """
    asked = next((one for one in accuracies if one.method == method), None)
    if asked is None or len(accuracies) < 2:
        return None
    held_out = [one for one in accuracies if one is not asked and one.agrees is not None]
    if asked.agrees is None or not held_out:
        return Shipped(method, "nothing is held out to choose by, and it is the method asked for")
    beside = {one.method: paired(asked.agrees, np.asarray(one.agrees)) for one in held_out}
    names = {one.method: one.called for one in held_out}
    best = min(
        beside, key=lambda name: (beside[name].high >= 0, beside[name].value)
    )  # of those that are better, if any
    on, found = f"by the {by} labels of {len(asked.agrees):,} held-out examples", beside[best]
    if found.high < 0 and ship == "best":
        return Shipped(best, f"{asked.called} is {found.words} {on}")
    right = {one.method: int(np.sum(one.agrees)) for one in (asked, *held_out) if one.agrees is not None}
    if right.get(REFERENCE, 0) > right[method] and ship == "best":
        less = f"{right[method]:,} right where it has {right[REFERENCE]:,}"
        return Shipped(REFERENCE, f"{asked.called} shows no gain over it, with {less}, {on}")
    wish = ", as asked" if ship == "method" else ", and it is the method asked for" if found.low <= 0 else ""
    return Shipped(method, f"{found.words}, beside {names[best]}, {on}{wish}")


def advice(accuracies: Sequence[Accuracy], *, sees_features: bool = False) -> list[str]:
    """What to do where a method is worse than plain cross entropy: it may have set too much aside."""
    named = {one.method: one.called for one in accuracies}
    worse = [name for name, found in compare(accuracies).items() if found.high < 0 and name != RELABELLED]
    features = "" if sees_features else "let the network see features (--features, --backbone), "
    return [
        f"{named[name]} is worse than {named[REFERENCE]} on these data: too many right examples may "
        f"have been set aside. Give lower noise rates (--noise-rate), check some by hand (smallloss audit), {features}"
        f"or use --method {REFERENCE}."
        for name in worse
    ]


def difference(method: Accuracy, reference: Accuracy) -> Difference:
    """The paired difference over the examples that both were tested on."""
    ours, theirs = np.asarray(method.right, bool), np.asarray(reference.right, bool)
    if ours.shape != theirs.shape:
        raise InputError(
            f"{method.method} was tested on {len(ours):,} examples and {reference.method} on {len(theirs):,}: "
            "methods can only be compared on the same ones."
        )
    return paired(ours, theirs)


def paired(ours: np.ndarray, theirs: np.ndarray) -> Difference:
    """Of two that judge the same examples, by which of them each gets right."""
    only_ours, only_theirs = int((ours & ~theirs).sum()), int((~ours & theirs).sum())
    low, high = score_interval(only_ours, only_theirs, len(ours))
    return Difference((only_ours - only_theirs) / len(ours), low, high)


def score_interval(b: int, c: int, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The score interval for a difference of paired proportions (Tango, Statistics in Medicine 17, 1998).

    b examples of n only the first method gets right, c only the second. The limits are the two d with
    |b - c - n d| = z sqrt(n (2 q + d (1 - d))), where q is the probability of a c-example that is most likely
    when the difference is d. It contains 0 exactly when McNemar's test, (b - c)^2 / (b + c) <= z^2, sees no
    difference, and unlike Wald's it has a width when b = c = 0.
    """
    from scipy.optimize import brentq

    value = (b - c) / n

    def excess(d: float, side: int) -> float:
        B = (2 * n - b + c) * d - b - c
        q = max((sqrt(max(B * B + 8 * n * c * d * (1 - d), 0)) - B) / (4 * n), 0)
        return side * (n * d - b + c) - z * sqrt(max(n * (2 * q + d * (1 - d)), 0))

    aside = 1e-12  # at the difference itself both sides can be 0: a root, but not a limit
    low = -1.0 if value == -1 else brentq(excess, -1, value - aside, args=(-1,))
    high = 1.0 if value == 1 else brentq(excess, value + aside, 1, args=(1,))
    return low, high
