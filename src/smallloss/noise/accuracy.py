"""Accuracy by true labels, A: that by given labels, a, counts each wrong label against a network that is right.

|A - a| is at most the share of wrong labels, since the two differ on nothing else.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri
from scipy.stats import hypergeom

from smallloss.noise.answers import UNSURE

Codes = NDArray[np.int64]
Vector = NDArray[np.float64]

LEVEL = 0.95  # of what answers prove
ESTIMATED = 0.9  # of what is estimated without them
_TRIED = 51  # of what the first stratum may hold, among which the worst is looked for
_ALMOST = 0.001  # of a tail


class TrueAccuracy(NamedTuple):
    value: float
    low: float
    high: float
    answered: int = 0  # on how many answers it stands; on none it is an estimate

    @property
    def words(self) -> str:
        ends = f"{100 * self.value:.0f} % by true labels ({100 * self.low:.0f} to {100 * self.high:.0f} %)"
        if not self.answered:
            return (
                f"about {ends}, by an estimate that assumes that the noise rates are right and that the network has "
                "not learnt the mistakes"
            )
        return f"{ends}, by {self.answered:,} {'answer' if self.answered == 1 else 'answers'} on held-out examples"


def without_answers(
    label: Codes, predicted: Codes, noise_rate: Vector, joint: NDArray[np.float64] | None = None,
    *, low: float | None = None, upper: Vector | None = None, halves: NDArray[np.int64] | None = None,
) -> TrueAccuracy:  # fmt: skip
    """The joint of label and prediction is N = T^t diag(p) Q under class-only noise, so A is the trace of T^-t N.

    N is counted among held-out examples. The wrong ones of each label come from true classes as in `joint`, P(true i,
    label k), or else evenly. `halves`, the predictions of two networks that learnt from different halves, tell it in
    two other ways: they err as often as they differ, and this one agrees with the labels more often than they by
    1 - rate of what it is better; and of three that err apart this one errs on (d_1 + d_2 - d_12) / 2. The point is the
    median of the three ways. The ends have its sampling error, the low one also the overall rate `low`, which allows
    for wrong labels on hard examples, the high one the rates `upper`. None is farther from a than there may be wrong
    labels.
    """
    c, n = len(noise_rate), len(label)
    N = np.zeros((c, c))
    np.add.at(N, (label, predicted), 1 / n)
    q, a = N.sum(axis=1), float(np.trace(N))
    off = np.where(np.eye(c, dtype=bool), 0, 1.0 if joint is None else joint + 1e-12)
    off /= off.sum(axis=0)

    def accuracy(rates: Vector) -> tuple[float, float]:
        """And the sampling error of a mean of T^-t[prediction, label], of which E[(prediction is right)^2] is A's."""
        J = off * (q * rates) + np.diag(q * (1 - rates))
        p = J.sum(axis=1, keepdims=True)
        inverse = np.linalg.pinv(np.where(p > 0, J / np.where(p > 0, p, 1), np.eye(c)))  # of T: transposed twice
        value = float((inverse * N).sum())
        return value, float(np.sqrt(max((inverse**2 * N).sum() - value, 0) / n))

    tail, rate = (1 - ESTIMATED) / 2, float(q @ noise_rate)
    most = max(float(betaincinv(rate * n + 0.5, (1 - rate) * n + 0.5, 1 - tail)), 0 if upper is None else q @ upper)
    value, error = accuracy(noise_rate)
    if halves is not None:
        first, second = halves
        better = a - ((first == label).mean() + (second == label).mean()) / 2
        differ, from_this = (first != second).mean(), (first != predicted).mean() + (second != predicted).mean()
        value = float(np.median([value, 1 - differ + better / max(1 - rate, 1e-9), 1 - (from_this - differ) / 2]))
    far = float(ndtri(1 - tail)) * error
    least = value if low is None else accuracy(noise_rate * min(low / max(rate, 1e-9), 1))[0]
    highest = value if upper is None else accuracy(upper)[0]
    ends = np.clip([value, min(least, value - far), max(highest, value + far)], max(a - most, 0), min(a + most, 1))
    return TrueAccuracy(*ends.tolist())


def with_answers(
    label: Codes, predicted: Codes, answers: Mapping[int, int], known: Mapping[int, int] | None = None
) -> TrueAccuracy:
    """A = a (1 - w) + (1 - a) v over two strata, prediction and label agreeing or not, with exact ends.

    `answers` has the true class of rows drawn by `held_out_questions`, `known` that of rows answered otherwise, which
    are counted one by one. NONE is no class, and no prediction of it is right. UNSURE is wrong at the low end and right
    at the high one, and in the middle half of each.
    """
    known, stratum = known or {}, np.where(label == predicted, 0, 1)
    size, asked, wrong = np.bincount(stratum, minlength=2), np.zeros(2, np.int64), np.zeros((2, 2), np.int64)
    counted = np.zeros(2, np.int64)  # wrong predictions among the known: at least, at most
    for row, true in known.items():
        size[stratum[row]] -= 1
        counted += (true not in (predicted[row], UNSURE), true != predicted[row])
    for row, true in answers.items():
        asked[stratum[row]] += 1
        wrong[:, stratum[row]] += (true not in (predicted[row], UNSURE), true != predicted[row])
    n, (fewest, most) = len(label), wrong
    middle = float(size @ np.where(asked > 0, wrong.mean(axis=0) / np.maximum(asked, 1), 0.5))
    least = size.sum() - _most(asked - fewest, asked, size)
    low, high = 1 - (_most(most, asked, size) + counted[1]) / n, 1 - (least + counted[0]) / n
    return TrueAccuracy(1 - (middle + counted.mean()) / n, float(low), float(high), len(answers) + len(known))


def _most(k: Codes, m: Codes, size: Codes) -> int:
    """The most that both strata may hold of a kind, if k of m drawn are: size @ (k / m) as small is no rarer than the
    tail, whatever the first holds.

    Only what it may hold almost certainly is tried, and what is left of the tail pays for that (Berger and Boos, 1994).
    """
    first, step, of = np.arange(m[0] + 1), size / np.maximum(m, 1), np.maximum(size, 1)  # scipy knows no empty urn
    second = np.floor((step @ k - step[0] * first) / max(step[1], 1e-9) + 1e-9).clip(-1, m[1])  # the most as small
    held = np.arange(size[0] + 1)
    rare = np.minimum(hypergeom.cdf(k[0], of[0], held, m[0]), hypergeom.sf(k[0] - 1, of[0], held, m[0]))
    held = held[rare > _ALMOST / 2]
    held = held[:: -(-len(held) // _TRIED)]

    def is_rare(total: int) -> bool:
        some = held[(total - size[1] <= held) & (held <= total)][:, None]
        chance = hypergeom.pmf(first, of[0], some, m[0]) * hypergeom.cdf(second, of[1], total - some, m[1])
        return bool(chance.sum(axis=1).max(initial=0) < (1 - LEVEL) / 2 - _ALMOST)

    fewest, most = int(max(k.sum(), held[0] + k[1])), int((size - m + k).sum())
    return fewest + bisect_left(range(fewest + 1, most + 1), True, key=is_rare)


def held_out_questions(
    agrees: NDArray[np.bool_], count: int, seed: Sequence[int], answered: Sequence[int] = ()
) -> Codes:
    """Rows to ask about, at random from two strata, by the square roots of their sizes: most labels that the prediction
    agrees with are right, so they need fewer answers than their share, and more than an even one.

    Mixed, so that neither the order nor stopping early tells or biases anything; fewer are the first of more.
    """
    draw, free = np.random.default_rng([*seed, *b"held out"]), np.ones(len(agrees), bool)
    free[np.asarray(answered, np.int64)] = False
    key = np.full(len(agrees), np.inf)
    for stratum in (agrees & free, ~agrees & free):
        rows = draw.permutation(np.flatnonzero(stratum))
        key[rows] = (np.arange(len(rows)) + draw.random(len(rows))) / max(np.sqrt(len(rows)), 1)
    return np.argsort(key, kind="stable")[: min(count, int(free.sum()))]
