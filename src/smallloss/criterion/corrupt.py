"""Noisy labels for benchmarks: drawn from a matrix T, as the authors drew theirs, or example by example.

Labels are integer codes 0 to c - 1. Except in the authors' own generator, the draw for an example is a pure
function of (seed, purpose, index): adding examples at the end never changes the earlier ones.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, softmax

from smallloss.criterion.transition import CIFAR10_MAP, validate
from smallloss.errors import InputError
from smallloss.knobs import whole

Labels = NDArray[np.int64]
Vector = NDArray[np.float64]
Kind = Literal["uniform", "pairwise", "structured"]

_LABEL, _FLIP_RATE, _PROJECTION = range(3)  # the purposes of a draw
FLIP_RATE_SPREAD = 0.1
VALIDATION_SHARE = 0.1


def corrupt(labels: ArrayLike, T: ArrayLike, seed: int, exact: bool = False) -> Labels:
    """Labels drawn from T: example i of true class y gets label j with probability T[y, j].

    With `exact`, the counts in each true class are n_y T[y, j] rounded by largest remainder, and chance
    decides only which examples get which label (adding examples may then change earlier ones).
    """
    T = validate(T)
    true = _checked(labels, len(T))
    u = _uniforms(seed, _LABEL, len(true))
    noisy = true.copy()
    for y in range(len(T)):
        members = np.flatnonzero(true == y)
        if exact:
            shuffled = members[np.argsort(u[members], kind="stable")]
            noisy[shuffled] = np.repeat(np.arange(len(T)), _largest_remainder(len(members), T[y]))
        else:
            noisy[members] = _draw(np.broadcast_to(T[y], (len(members), len(T))), u[members])
    return noisy


def authors_noise(labels: ArrayLike, kind: Kind, r: float, seed: int, classes: int) -> Labels:
    """The noisy labels of the authors' code, to the bit: one legacy RandomState, example by example."""
    return _authors_draws(labels, kind, r, seed, classes)[0]


def authors_split(
    labels: ArrayLike, kind: Kind, r: float, seed: int, classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The authors' train and clean validation indices (10 % of each true class), both ascending.

    Their code draws the split from the stream that has just drawn the noise, so the noise is drawn again.
    """
    _, stream = _authors_draws(labels, kind, r, seed, classes)
    true = _checked(labels, classes)
    held_out = np.zeros(len(true), dtype=bool)
    for y in dict.fromkeys(true.tolist()):
        members = np.flatnonzero(true == y)
        held_out[stream.choice(members, int(VALIDATION_SHARE * len(members)), replace=False)] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def instance_dependent(
    features: ArrayLike, labels: ArrayLike, rate: float, seed: int, classes: int
) -> tuple[Labels, Vector]:
    """Part-dependent noise (Xia et al. 2020): the wrong label depends on the example, beyond any matrix T.

    Example x of true class y is flipped with its own probability q ~ N(rate, 0.1^2) cut to [0, 1]; the wrong
    class is drawn from the softmax of x W_y with y left out, W_y standard normal. `features` are what a
    network would see (normalised), of any shape after the first axis. Returns the noisy labels and q.
    """
    true = _checked(labels, classes)
    x = np.asarray(features, dtype=np.float64)
    if x.ndim < 2 or len(x) != len(true):
        raise InputError(f"features need one row for each of the {len(true):,} labels; their shape is {x.shape}.")
    x = x.reshape(len(x), int(np.prod(x.shape[1:])))
    unusable = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if unusable.size:
        raise InputError(f"The features of the example at index {unusable[0]} are not finite.")
    q = _flip_rates(rate, _uniforms(seed, _FLIP_RATE, len(true)))
    u = _uniforms(seed, _LABEL, len(true))
    noisy = true.copy()
    for y in range(classes):
        members = np.flatnonzero(true == y)
        W_y = _generator(seed, _PROJECTION, y).standard_normal((x.shape[1], classes))
        logits = x[members] @ W_y
        logits[:, y] = -np.inf
        probability = q[members, None] * softmax(logits, axis=1)
        probability[:, y] = 1 - q[members]
        noisy[members] = _draw(probability, u[members])
    return noisy, q


def _authors_draws(
    labels: ArrayLike, kind: Kind, r: float, seed: int, classes: int
) -> tuple[Labels, np.random.RandomState]:
    if kind not in get_args(Kind):
        raise InputError(f"The authors' noise is one of {', '.join(get_args(Kind))}; it was {kind!r}.")
    if kind == "structured" and classes != len(CIFAR10_MAP):
        raise InputError(f"The authors' structured noise is CIFAR-10's, with 10 classes; there are {classes}.")
    if not 0 <= r <= 1:
        raise InputError(f"The noise parameter r is a probability from 0 to 1; it was {r}.")
    if not 0 <= seed < 2**32:
        raise InputError(f"A seed of the authors' generator is a whole number from 0 to 2^32 - 1; it was {seed}.")
    stream = np.random.RandomState(seed)
    noisy = _checked(labels, classes).copy()
    for i, y in enumerate(noisy.tolist()):
        if stream.rand() > r:
            continue
        if kind == "uniform":
            noisy[i] = stream.randint(0, classes)
        elif kind == "pairwise":
            noisy[i] = (y + 1) % classes
        else:
            noisy[i] = CIFAR10_MAP[y]
    return noisy, stream


def _generator(seed: int, *purpose: int) -> np.random.Generator:
    number = whole(seed, "seed")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(number, spawn_key=purpose)))


def _uniforms(seed: int, purpose: int, n: int) -> Vector:
    return _generator(seed, purpose).random(n)


def _draw(probability: NDArray[np.float64], u: Vector) -> Labels:
    """Per row, the first class whose cumulative probability exceeds u; one of probability 0 never does."""
    cumulative = probability.cumsum(axis=1)
    cumulative /= cumulative[:, -1:]  # the last is exactly 1 and u below it, so there is always a class
    return (u[:, None] >= cumulative).sum(axis=1).astype(np.int64)


def _largest_remainder(n: int, shares: Vector) -> Labels:
    ideal = np.round(n * shares, 9)  # rounding away float dust keeps ties as ties
    counts = np.floor(ideal).astype(np.int64)
    order = np.argsort(counts - ideal, kind="stable")
    counts[order[: n - counts.sum()]] += 1
    return counts


def _flip_rates(rate: float, u: Vector) -> Vector:
    """N(rate, spread^2) cut to [0, 1], by inversion."""
    if not 0 <= rate <= 1:
        raise InputError(f"rate is a probability from 0 to 1; it was {rate}.")
    low, high = ndtr((0 - rate) / FLIP_RATE_SPREAD), ndtr((1 - rate) / FLIP_RATE_SPREAD)
    return np.clip(rate + FLIP_RATE_SPREAD * ndtri(low + u * (high - low)), 0.0, 1.0)


def _checked(labels: ArrayLike, classes: int) -> Labels:
    codes = np.asarray(labels)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise InputError(
            f"labels must be one row of integer class codes 0 to {classes - 1}; "
            f"these are {codes.dtype} of shape {codes.shape}."
        )
    outside = np.flatnonzero((codes < 0) | (codes >= classes))
    if outside.size:
        raise InputError(
            f"The label at index {outside[0]} is {codes[outside[0]]}; with {classes} classes the codes are "
            f"0 to {classes - 1}."
        )
    return codes.astype(np.int64)
