"""The transition matrix T and its theory: T[i, j] = P(label j | true class i). Rows are true classes.

(cleanlab's `noise_matrix` is the transpose.) Every function takes anything `validate` accepts; a `prior` of
None means that all true classes are equally frequent.
"""

import math
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from smallloss.errors import InputError
from smallloss.knobs import to_numpy, whole

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
PerClass = NDArray[np.bool_]

CIFAR10_MAP = (0, 1, 0, 5, 7, 3, 6, 7, 8, 1)
"""Structured noise of the paper: bird -> airplane, cat <-> dog, deer -> horse, truck -> automobile."""

DIGITS_MAP = (0, 7, 2, 8, 4, 5, 0, 7, 3, 4)
"""The same shape for written digits that look alike: 3 <-> 8, 1 -> 7, 6 -> 0, 9 -> 4."""

ROW_SUM_TOLERANCE = 0.01  # a matrix printed with three decimals still passes
TIE_TOLERANCE = 1e-12  # differences this small are rounding: the paper's inequalities are strict
CONDITION_LIMIT = 1e3  # beyond it an error of 0.1 % in the label counts can overturn the whole prior


class IllConditionedWarning(UserWarning):
    """T mixes the classes so thoroughly that label counts say little about the true classes."""


# --- matrices ---------------------------------------------------------------------------------------------


def uniform(r: float, classes: int) -> Matrix:
    """Uniform noise of the paper: with probability r a label drawn from all classes, true one included."""
    r, classes = _rate(r), _class_count(classes)
    return (1 - r) * np.eye(classes) + r / classes


def uniform_excluding(r: float, classes: int) -> Matrix:
    """The other common convention: with probability r a label drawn from the wrong classes only."""
    r, classes = _rate(r), _class_count(classes)
    T = np.full((classes, classes), r / (classes - 1))
    np.fill_diagonal(T, 1 - r)
    return T


def pairwise(r: float, classes: int) -> Matrix:
    """Pairwise noise of the paper: with probability r class i becomes i + 1 (the last becomes 0)."""
    classes = _class_count(classes)
    return structured(r, [(i + 1) % classes for i in range(classes)])


def structured(r: float, class_map: Sequence[int] | Mapping[int, int] = CIFAR10_MAP) -> Matrix:
    """Structured noise of the paper: with probability r class i becomes class_map[i], perhaps i itself.

    class_map: a target for every class, as a list, or {class: target} that names them all.
    """
    r, classes = _rate(r), _class_count(len(class_map))
    T = (1 - r) * np.eye(classes)
    if isinstance(class_map, Mapping) and set(class_map) != set(range(classes)):
        raise InputError(f"class_map has to say what becomes of each class, 0 to {classes - 1}, also where it stays.")
    for i in range(classes):
        target = class_map[i]
        if target not in range(classes):
            raise InputError(f"class_map sends class {i} to {target}, but the classes are 0 to {classes - 1}.")
        T[i, int(target)] += r
    return T


def from_spec(spec: str, classes: int, class_map: Sequence[int] | None = None) -> Matrix:
    """The matrix written as KIND:R on the command line, for example "uniform:0.5".

    `class_map` is used by structured noise only; without one, ten classes take CIFAR-10's.
    """
    kind, _, rate = spec.partition(":")
    build = {"uniform": uniform, "uniform_excluding": uniform_excluding, "pairwise": pairwise}
    try:
        r = float(rate)
    except ValueError:
        r = math.nan
    if kind not in (*build, "structured") or not 0 <= r <= 1:
        raise InputError(
            f"The noise {spec!r} is not understood: write uniform:R, uniform_excluding:R, pairwise:R or "
            "structured:R with R from 0 to 1, for example uniform:0.4."
        )
    if kind in build:
        return build[kind](r, classes)
    if class_map is None and classes != len(CIFAR10_MAP):
        raise InputError(
            f"Structured noise needs to know which class becomes which, and nothing says so for these {classes} "
            "classes: give a class_map (as `smallloss corrupt --map` does), or draw uniform or pairwise noise."
        )
    class_map = CIFAR10_MAP if class_map is None else class_map
    if len(class_map) != classes:
        raise InputError(
            f"Structured noise on {classes} classes needs a class_map of {classes} entries (class_map[i] is "
            f"the class that i becomes); this one has {len(class_map)}."
        )
    return structured(r, class_map)


def validate(T: ArrayLike) -> Matrix:
    """T as float64, rows summing to 1: those off by up to ROW_SUM_TOLERANCE are rescaled, others refused."""
    try:
        matrix = np.array(to_numpy(T), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The transition matrix must be a square table of numbers ({error}).") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise InputError(
            f"The transition matrix must be square, with a row and a column for each of two or more classes; "
            f"its shape is {matrix.shape}."
        )
    bad = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))
    if bad.size:
        i, j = bad[0].tolist()
        raise InputError(
            f"Row {i} of the transition matrix (counting from 0) has {matrix[i, j]:g} in column {j}; "
            "probabilities are finite and never negative."
        )
    sums = matrix.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > ROW_SUM_TOLERANCE)
    if wrong.size:
        raise InputError(_row_sum_sentence(matrix, int(wrong[0])))
    return matrix / sums[:, None]


def _row_sum_sentence(matrix: Matrix, row: int) -> str:
    if (np.abs(matrix.sum(axis=0) - 1) <= ROW_SUM_TOLERANCE).all():
        advice = "Its columns do sum to 1, so it is transposed, as cleanlab's noise_matrix is: pass T.T."
    else:
        advice = "T[i, j] is P(label j | true class i): divide counts or percentages by the sum of their row."
    return (
        f"Row {row} of the transition matrix (counting from 0) sums to {matrix[row].sum():g}, not 1 "
        f"(tolerance {ROW_SUM_TOLERANCE:g}). {advice}"
    )


# --- dominance: Lemmas 1 and 2, Theorem 1 -----------------------------------------------------------------


def row_dominance(T: ArrayLike) -> PerClass:
    """Lemmas 1 and 2, per true class i: T_ii > max_{j != i} T_ij, so g* predicts i correctly."""
    T = validate(T)
    return T.diagonal() - _off_diagonal_max(T, axis=1) > TIE_TOLERANCE


def column_dominance(T: ArrayLike) -> PerClass:
    """What the proof of Theorem 1 uses, per label k: T_kk > max_{j != k} T_jk, so right k come first."""
    return margin(T) > 0


def dominance(T: ArrayLike) -> PerClass:
    """Theorem 1's condition, per class: T_ii > max{max_{j != i} T_ij, max_{j != i} T_ji}."""
    return row_dominance(T) & column_dominance(T)


def is_row_dominant(T: ArrayLike) -> bool:
    """Lemmas 1 and 2: the condition under which f* is learned from the noisy data."""
    return bool(row_dominance(T).all())


def is_column_dominant(T: ArrayLike) -> bool:
    """Theorem 1, the part about ranking: in every label the right examples have the smaller loss."""
    return bool(column_dominance(T).all())


def is_dominant(T: ArrayLike) -> bool:
    """Theorem 1: the diagonally dominant condition, rows and columns, for all classes."""
    return bool(dominance(T).all())


# --- losses and distances: Lemma 1, Theorems 1 and 2 ------------------------------------------------------


def margin(T: ArrayLike) -> Vector:
    """Theorem 2, per label y: T_yy - max_{j != y} T_jy. Negative where the ranking breaks."""
    T = validate(T)
    m = T.diagonal() - _off_diagonal_max(T, axis=0)
    return np.where(np.abs(m) > TIE_TOLERANCE, m, 0.0)


def tolerated_epsilon(T: ArrayLike) -> Vector:
    """Theorem 2, per label y: while sup|g - g*| is below this, half the margin, y is ranked perfectly.

    The network as a whole may be off by the least of them, `tolerated_epsilon(T).min()`. Never negative.
    """
    return np.maximum(margin(T), 0.0) / 2


def loss_gap_bound(T: ArrayLike, epsilon: float) -> Matrix:
    """Theorem 2: log((T_yy - ε) / (T_jy + ε)) at [true j, label y]: how much more a wrong y loses at least.

    -inf where ε >= T_yy (nothing is promised: a right example may lose without bound); otherwise +inf where
    T_jy + ε = 0 (g* never expects such an example); nan on the diagonal (there j labelled y is right).
    """
    T = validate(T)
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InputError(f"epsilon is a distance, zero or more and finite; it was {epsilon}.")
    with np.errstate(divide="ignore"):
        right = np.log(np.maximum(T.diagonal() - epsilon, 0.0))
        wrong = np.log(T + epsilon)
    bound = np.where(np.isneginf(right), -np.inf, right - np.where(np.isneginf(right), 0.0, wrong))
    np.fill_diagonal(bound, np.nan)
    return bound


def ideal_loss(T: ArrayLike) -> Matrix:
    """Theorem 1: the cross entropy of g*, -log T_ij at [true i, label j]; inf where T_ij = 0."""
    with np.errstate(divide="ignore"):
        return -np.log(validate(T)) + 0.0  # + 0.0 turns -0 into 0


def expected_zero_one_loss(T: ArrayLike, prior: ArrayLike | None = None) -> float:
    """Lemma 1: the expected 0-1 loss of f* on noisy data. It errs exactly where the label is wrong."""
    return overall_noise_rate(T, prior)


# --- class frequencies ------------------------------------------------------------------------------------


def label_distribution(T: ArrayLike, prior: ArrayLike | None = None) -> Vector:
    """P(label k) = sum_i p_i T_ik."""
    T = validate(T)
    return _prior(prior, len(T)) @ T


def noise_rate(T: ArrayLike, prior: ArrayLike | None = None) -> Vector:
    """η_k of Eq. 2: the share of wrong ones among the examples labelled k, 1 - p_k T_kk / sum_i p_i T_ik.

    0 for a label that nothing carries. Not 1 - T_kk.
    """
    T = validate(T)
    joint = _prior(prior, len(T))[:, None] * T
    labelled = joint.sum(axis=0)
    wrong = labelled - joint.diagonal()
    return np.clip(np.divide(wrong, labelled, out=np.zeros(len(T)), where=labelled > 0), 0.0, 1.0)


def overall_noise_rate(T: ArrayLike, prior: ArrayLike | None = None) -> float:
    """η: the share of wrong labels among all examples, 1 - sum_i p_i T_ii."""
    T = validate(T)
    return max(0.0, float(1 - _prior(prior, len(T)) @ T.diagonal()))


def prior_from_labels(T: ArrayLike, label_counts: ArrayLike) -> Vector:
    """The prior p whose label distribution is nearest: min ||T^t p - q|| over p >= 0, sum p = 1.

    Exact when T can be inverted and the observed frequencies q come from some prior. Because sum p = 1, the
    residual is B p with B = T^t - q 1^t; the non-negative u that makes ||B u||^2 + (1 - sum u)^2 least points
    the same way as the p sought, whatever its length, so one nnls call solves the constrained problem.
    """
    T = validate(T)
    q = _distribution(label_counts, len(T), "label_counts")
    condition = np.linalg.cond(T)
    if condition > CONDITION_LIMIT:
        warnings.warn(
            f"The transition matrix is ill-conditioned (condition number {condition:.2g}): many priors "
            "explain these label counts about equally well. Pass a known prior instead, if there is one.",
            IllConditionedWarning,
            stacklevel=2,
        )
    B = T.T - q[:, None]
    u, _ = nnls(np.vstack([B, np.ones(len(T))]), np.append(np.zeros(len(T)), 1.0))
    return np.asarray(u / u.sum(), dtype=np.float64)


# --- helpers ----------------------------------------------------------------------------------------------


def _off_diagonal_max(T: Matrix, axis: int) -> Vector:
    return np.where(np.eye(len(T), dtype=bool), -np.inf, T).max(axis=axis)


def _prior(prior: ArrayLike | None, classes: int) -> Vector:
    return np.full(classes, 1 / classes) if prior is None else _distribution(prior, classes, "prior")


def _distribution(values: ArrayLike, classes: int, name: str) -> Vector:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (classes,):
        raise InputError(f"{name} needs one number for each of the {classes} classes; its shape is {vector.shape}.")
    bad = np.flatnonzero(~(np.isfinite(vector) & (vector >= 0)))
    if bad.size:
        raise InputError(f"{name} of class {bad[0]} is {vector[bad[0]]:g}; it must be finite and not negative.")
    if not vector.sum() > 0:
        raise InputError(f"{name} is zero for every class.")
    return vector / vector.sum()


def _rate(r: float) -> float:
    if not 0 <= r <= 1:
        raise InputError(f"The noise parameter r is a probability from 0 to 1; it was {r}.")
    return float(r)


def _class_count(classes: int) -> int:
    count = whole(classes, "The number of classes")
    if count < 2:
        raise InputError(f"A transition matrix needs two or more classes; it was given {count}.")
    return count
