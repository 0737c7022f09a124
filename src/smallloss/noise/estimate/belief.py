"""What is believed of T and the rates, as one best matrix and as draws, and how further evidence changes it."""

from dataclasses import dataclass

import numpy as np

from smallloss.noise.estimate.ability import Ability
from smallloss.noise.estimate.contradiction import RESOLVED_SPREAD, Contradicted, weight
from smallloss.noise.estimate.counting import (
    CONFIDENT,
    WIDE,
    Counts,
    bridge,
    confident_rows,
    level_rows,
    posterior,
    prior,
)
from smallloss.noise.estimate.dependence import Slope, blend
from smallloss.noise.estimate.inputs import Matrix, Vector, label_counts
from smallloss.noise.log_odds import shifted_to

DRAWS = 200
DRAWN_NUMBERS = 40_000_000  # the entries of all drawn matrices together: fewer draws beyond 450 classes
LEAST_DRAWS = 40
BOUND_ERROR = 0.005  # how well the climb that tells class from example is known (measured)
CLASS_SPREAD = 0.3  # how unevenly classes share the way from the confident to nearly all, either way (measured)
MISTAKES = 0.015  # how many of the most confident predictions are mistakes of the network, about (measured)
LEAST_ERROR, UNSETTLED = 0.02, 0.18  # error of the contradicted share: always, and per share unsettled (measured)
OWN = 1.5  # how much of the way from the confident count to the contradicted share may be mistakes (measured)
PROFILE, PROFILE_SPREAD = 1 / 3, 0.4  # what the counting says of the spread over the classes, and how sure that is
ALIKE = 0.05  # measured: able networks spread contradictions over the classes as the counting, up to this
BY_HEART = 0.3  # how well the share learnt by heart is known, relatively (measured)
TAIL = 0.05  # the share of draws that a doubt moves in full: those below a 90 % interval
UNEASE = 1.5  # draws are spread by this where labels follow the predictions even among the confident (measured)
PSEUDO_LABELS = 20.0  # examples' worth of belief that a label is wrong as often as all are
TINY = 1e-300  # a gamma draw of a tiny shape may underflow to 0
LARGEST = 1 - 1e-6  # rates stay below 1


@dataclass(frozen=True, eq=False)
class Belief:
    """rate, transition and prior agree through the bridge, and so does each draw of the three."""

    rate: Vector
    transition: Matrix
    prior: Vector
    draws: Matrix
    transition_draws: Matrix
    prior_draws: Matrix


def from_counts(table: Counts, counts: Vector, found: Slope, rng: np.random.Generator) -> Belief:
    """Between counting among the confident and among nearly all, as far as the climb says; draws around it.

    Drawn are the rows (Dirichlet posteriors), the q believed, the centre of the prior, and for each class how far
    along the way from the confident to nearly all it lies. Classes may lie before its beginning, and a little below
    all counts: some of the most confident predictions, too, are mistakes of the network. Last comes chance itself:
    what is asked for is the share among the labels that are there, not its expectation.
    """
    q, counted = counts / counts.sum(), float(table.labels[CONFIDENT[1]].sum())
    confident, wide = confident_rows(table, q), level_rows(table, WIDE, q)
    at_first, at_last = bridge(confident, prior(confident, q, counted)), bridge(wide, prior(wide, q, counted))
    T = confident + found.blend * (wide - confident)
    T_draws, p_draws, first = _draw_confident(table, counts, rng)
    draws = first + _draw_parts(found, first.shape, rng) * (at_last - at_first)
    p = prior(T, q, counted)
    rate = bridge(T, p)
    if found.followed:
        draws = rate + UNEASE * (draws - rate)
    rate, draws = _leaning(rate, counts), np.clip(_leaning(draws, counts), 0.0, 1.0)
    draws = rng.binomial(counts.astype(np.int64), draws) / np.maximum(counts, 1)
    return _consistent(T, p, rate, T_draws, p_draws, draws, q)


def with_contradictions(
    belief: Belief, found: Contradicted, able: Ability, table: Counts, counts: Vector, rng: np.random.Generator
) -> Belief:
    """Rates moved to the share contradicted in sample, with what of it was learnt by heart, as far as it is believed.

    How all wrong labels are spread over the classes follows the contradictions, and for a part the counting: a
    network that prefers one class to another like it contradicts the other's labels too often. The farther the two are
    apart, the larger that part. Drawn are the share itself, how far it is believed, how large that part is, and the
    systematic error, which grows with the examples that stay unsettled between in sample and out of sample. In half of
    the draws a part of what is contradicted beyond the count among the confident, up to all of it and half as much
    again, are right labels of hard examples that the training did not come round to.
    """
    shape = belief.draws.shape
    bound, learnt = rng.standard_normal((2, shape[0], 1))
    believed = weight(found.resolved + found.resolved_error + RESOLVED_SPREAD * bound)
    share = rng.beta(found.count + 0.5, found.of - found.count + 0.5, shape)
    share += (LEAST_ERROR + UNSETTLED * found.unsettled) * rng.standard_normal(shape)
    # Of what falls behind a count that may hold the network's own mistakes, any part may have been learnt by heart.
    in_doubt = found.by_heart - found.at_least
    by_heart = found.by_heart - able.unsure * in_doubt * rng.random((shape[0], 1))
    share += np.clip(by_heart * (1 + BY_HEART * learnt), 0.0, 1.0) * belief.draws
    level = (found.rate + (found.by_heart - able.unsure * in_doubt) * belief.rate)[None]
    counted = _spread_as(belief.rate[None], level, counts)
    lean = _lean(counted - level, belief.draws, counts)
    part = lean + PROFILE_SPREAD * rng.standard_normal(shape)
    share += part * (_spread_as(belief.draws, share, counts) - share)
    own = np.maximum(rng.uniform(-OWN, OWN, (shape[0], 1)), 0.0)
    share -= own * np.maximum(share - _draw_confident(table, counts, rng)[2], 0.0)
    draws = belief.draws + believed * (share - belief.draws)
    goal = level + lean * (counted - level)
    rate = belief.rate + found.weight * (goal[0] - belief.rate)
    T, p, T_draws, p_draws = belief.transition, belief.prior, belief.transition_draws, belief.prior_draws
    return _consistent(T, p, rate, T_draws, p_draws, draws, counts / counts.sum())


def with_doubt(belief: Belief, table: Counts, counts: Vector, able: Ability) -> Belief:
    """Rates that may be the network's own mistakes: the low ends go down with the doubt, to 0 where it is large.

    The lower half of the draws is shrunk, the more the lower a draw; the upper half stays, so that the selection is as
    careful as before. Sorted, the draws of all classes rise and fall together, as the mistakes of one network would.
    Where the climb itself is the network's, the best rates go back to the count among the confident; and of what a
    training counts that contradicts right labels too, only a part is believed.
    """
    q, counted = counts / counts.sum(), float(table.labels[CONFIDENT[1]].sum())
    confident = confident_rows(table, q)
    first = np.minimum(bridge(confident, prior(confident, q, counted)), belief.rate)
    rate = able.believed * (belief.rate + able.misled * (first - belief.rate))
    place = np.arange(len(belief.draws))[:, None] / len(belief.draws)
    draws = np.sort(belief.draws, axis=0) * (1 - able.pull * np.clip((0.5 - place) / (0.5 - TAIL), 0.0, 1.0))
    T, p, T_draws, p_draws = belief.transition, belief.prior, belief.transition_draws, belief.prior_draws
    return _consistent(T, p, rate, T_draws, p_draws, draws, q)


def _leaning(rates: Vector, counts: Vector) -> Vector:
    """Labels with few examples lean on the rate of all; rates may be a stack."""
    pooled = (rates @ counts / counts.sum())[..., None]
    return pooled + counts / (counts + PSEUDO_LABELS) * (rates - pooled)


def _spread_as(rates: Matrix, level: Matrix, counts: Vector) -> Matrix:
    """Rates moved by one common shift on the logit to the overall rate of `level`, row by row."""
    overall = level @ counts / counts.sum()
    return np.array([shifted_to(rate, counts, float(one)) for rate, one in zip(rates, overall, strict=True)])


def _lean(apart: Matrix, draws: Matrix, counts: Vector) -> float:
    """1 - (1 - PROFILE) ALIKE^2 / max(v, ALIKE^2), v the mean square of how far apart, less the counting's variance."""
    v = float(((apart**2 - draws.var(axis=0)) @ counts)[0] / counts.sum())
    return 1 - (1 - PROFILE) * ALIKE**2 / max(v, ALIKE**2)


def _consistent(
    T: Matrix, p: Vector, rate: Vector, T_draws: Matrix, p_draws: Matrix, draws: Matrix, q: Vector
) -> Belief:
    rate, draws = np.clip(rate, 0.0, LARGEST), np.clip(draws, 0.0, LARGEST)
    T, p = matrix_with_rates(T, p, rate, q)
    return Belief(rate, T, p, draws, *matrix_with_rates(T_draws, p_draws, draws, q))


def matrix_with_rates(T: Matrix, p: Vector, rate: Vector, frequencies: Vector) -> tuple[Matrix, Vector]:
    """T and p with these rates and label frequencies: J_kk = q_k (1 - η_k), the rest of J = diag(p) T in scale."""
    c = len(frequencies)
    eye = np.eye(c, dtype=bool)
    off = np.where(eye, 0.0, p[..., :, None] * T)
    wrong = off.sum(axis=-2, keepdims=True)
    unknown = np.where(eye, 0.0, 1 / (c - 1))  # where nothing says from which class the wrong ones come
    share = np.where(wrong > 0, off / np.where(wrong > 0, wrong, 1.0), unknown)
    right = (frequencies * (1 - rate))[..., None, :]
    J = np.where(eye, right, share * (frequencies * rate)[..., None, :])
    return _rows(J)


def _draw_confident(table: Counts, counts: Vector, rng: np.random.Generator) -> tuple[Matrix, Matrix, Matrix]:
    """T, p and the rates as counted among the confident: in the level, in the rows, in the centre of the prior."""
    q, counted = counts / counts.sum(), float(table.labels[CONFIDENT[1]].sum())
    size = int(np.clip(DRAWN_NUMBERS // len(q) ** 2, LEAST_DRAWS, DRAWS))
    rows = np.stack([posterior(table.labels[level], q) for level in CONFIDENT])
    T = _dirichlet(rows[rng.integers(0, len(CONFIDENT), size)], rng)
    p = prior(T, q, counted, _centres(counts, table, size, rng))
    rate = bridge(T, p)
    return T, p, rate - MISTAKES * np.abs(rng.standard_normal(rate.shape))


def _draw_parts(found: Slope, shape: tuple[int, ...], rng: np.random.Generator) -> Matrix:
    error = min(found.climb_error, 1.0)
    climb = found.climb - error + np.hypot(error, BOUND_ERROR) * rng.standard_normal((shape[0], 1))
    return blend(climb) + CLASS_SPREAD * rng.standard_normal(shape)


def _centres(counts: Vector, table: Counts, size: int, rng: np.random.Generator) -> Matrix:
    """Between the label and the prediction frequencies: true classes may be distributed like either."""
    part = rng.random((size, 1))
    return ((1 - part) * counts + part * label_counts(table.predicted, len(counts))) / counts.sum()


def _dirichlet(counts: Matrix, rng: np.random.Generator) -> Matrix:
    return _rows(rng.standard_gamma(counts) + TINY)[0]


def _rows(J: Matrix) -> tuple[Matrix, Vector]:
    """A joint, of any total, as the matrix of its rows and their shares; a class nobody belongs to keeps its label."""
    sums = J.sum(axis=-1)
    T = np.where(sums[..., None] > 0, J / np.where(sums > 0, sums, 1.0)[..., None], np.eye(J.shape[-1]))
    return T, sums / sums.sum(axis=-1, keepdims=True)
