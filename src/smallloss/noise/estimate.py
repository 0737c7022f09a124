"""How many labels are wrong, counted from what networks that never saw them predict.

Of each label k: M_k, the share that a network contradicts; both_k, the share that two networks contradict naming the
same class; d_k, the share on which they differ; s_k, the share contradicted among the surest predictions. Where two
networks differ one of them errs, so that d_k / 2 of the contradictions say nothing: the rate lies between both_k and
M_k - d_k / 2. Where wrong labels sit on hard examples it may be M_k. Nothing sees mistakes that networks learn.
"""

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from smallloss.criterion.labels import encode
from smallloss.criterion.selection import SAFETY_LEVEL
from smallloss.errors import InputError
from smallloss.knobs import to_numpy
from smallloss.noise.answers import Interval
from smallloss.noise.model import NoiseModel
from smallloss.words import counted, listed, percent

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

ROW_SUM_TOLERANCE = 0.01  # half-precision softmax still passes
SURE = 0.2  # of the predictions of each class, the most confident ones
CHUNK = 1 << 16  # rows at a time, so that temporaries stay small
CHANCE = 0.001  # how rarely labels dealt out at random may look as if predictions told something of them
LARGEST = 1 - 1e-6  # rates stay below 1


def estimate(probabilities: Any, labels: Any, *, classes: Any = None, level: float = 0.9) -> NoiseModel:
    """η_k is s_k, but at least both_k and at most M_k - d_k / 2; its interval is [min(s_k - d_k / 2, both_k), M_k].

    `probabilities` are out of sample: one (n, c) matrix or several, of networks that each left the example out; a row
    of NaN was not predicted by that network. `labels` are codes, or names, the columns being in their sorted order or
    in that of `classes`. Where nothing was predicted twice, d may be from M - s to M: η_k is the middle of M_k and s_k.
    """
    if not 0 < level < 1:
        raise InputError(f"level is the share of intervals that hold the truth, between 0 and 1; it was {level}.")
    matrices = matrices_of(probabilities)
    return count(matrices, *named(labels, classes, *matrices[0].shape), level)


def count(matrices: Sequence[np.ndarray], codes: Codes, classes: list[Any], level: float = 0.9) -> NoiseModel:
    """`estimate` of what was checked already: labels are codes of the classes, which are the columns."""
    n, c = matrices[0].shape
    predicted, sure = (np.array(each) for each in zip(*map(predictions, matrices), strict=True))
    there = predicted >= 0
    size = _count(np.asarray(there.any(axis=0)), codes, c)
    M, s = (_share(predicted != codes, of, codes, c) for of in (there, sure))
    d, both = _of_pairs(predicted, codes, M)

    d_low, d_high = (M - s, M) if d is None else (d, d)  # they err as often as M exceeds s, or on all of M
    both = M - d_low / 2 if both is None else both
    rate = np.clip(np.maximum(np.minimum(s, M - d_low / 2), both), 0, LARGEST)
    rate[c] = size[:c] @ rate[:c] / size[c]  # that of the labels together
    least = np.minimum(s - d_high / 2, both)
    low = np.where(least > 0, np.minimum(_quantile(np.maximum(least, 0), size, (1 - level) / 2), rate), 0)
    high = np.maximum(_quantile(M, size, (1 + level) / 2), rate)
    high[c] = max(M[c], rate[c])  # exactly what is wrong among these very labels, if no right one is contradicted

    table = np.bincount((predicted * c + codes)[there], minlength=c * c).reshape(c, c) / there.sum()
    joint, nothing = _agreeing(table, size[:c] / size[c], rate[:c]), _is_chance(table, float(size[c]))
    prior = joint.sum(axis=1)
    overall, said = Interval(*map(float, (rate[c], low[c], high[c]))), (float(M[c]), None if d is None else float(d[c]))
    return NoiseModel(
        classes=classes, noise_rate=rate[:c], low=low[:c], high=high[:c],
        upper=np.maximum(_quantile(rate, size, (1 + SAFETY_LEVEL) / 2), rate)[:c],
        transition=joint / prior[:, None], prior=prior, contradicted=M[:c], differ=None if d is None else d[:c],
        sure=s[:c], overall=overall, tells_nothing=nothing,
        evidence=_evidence(len(matrices), *said, *overall[1:]),
        notes=_notes([classes[k] for k in np.flatnonzero(size[:c] == 0)], *said, nothing, int(n - size[c])),
        level=level, source="estimated",
    )  # fmt: skip


def _count(of: Flags, codes: Codes, c: int) -> Vector:
    """How many carry each label and, last, how many there are."""
    found = np.bincount(np.broadcast_to(codes, of.shape)[of], minlength=c)
    return np.append(found, found.sum()).astype(np.float64)


def _share(of: Flags, among: Flags, codes: Codes, c: int) -> Vector:
    """For each label and, last, for all together.

    That of a label is drawn to that of all, a, as the minimax estimator of a share is to 1/2:
    (n a_k + √n a) / (n + √n).
    """
    size = _count(among, codes, c)
    alone, root = _count(of & among, codes, c) / np.maximum(size, 1), np.sqrt(size)
    return alone[c] + root / (root + 1) * (alone - alone[c])


def _of_pairs(predicted: Codes, codes: Codes, M: Vector) -> tuple[Vector, Vector] | tuple[None, None]:
    """d and both, from every two networks that predicted the same example."""
    first, c = np.tile(predicted, (len(predicted) - 1, 1)), len(M) - 1
    second = np.array([np.roll(predicted, k, axis=0) for k in range(1, len(predicted))], np.int64).reshape(first.shape)
    together = (first >= 0) & (second >= 0)
    if not together.any():
        return None, None
    # of what one of two contradicts, the share to which the other gives the same class
    agreed = _share(first == second, together & (first != codes), codes, c)
    return _share(first != second, together, codes, c), agreed * M


def _is_chance(table: Matrix, n: float) -> bool:
    """Would n shuffled labels be agreed with as often? By the variance of Cohen's kappa under no agreement."""
    p, q = table.sum(axis=1), table.sum(axis=0)
    variance = (p @ q + (p @ q) ** 2 - (p * q) @ (p + q)) / max(n - 1, 1)
    return bool(np.trace(table) - p @ q <= norm.isf(CHANCE) * sqrt(max(variance, 0)) + 1e-9)


def _quantile(share: Vector, size: Vector, at: float) -> Vector:
    """Of a share counted among so many (Jeffreys' beta)."""
    return np.minimum(beta.ppf(at, share * size + 0.5, (1 - share) * size + 0.5), LARGEST)


def _agreeing(table: Matrix, q: Vector, rate: Vector) -> Matrix:
    """P(true i, label k) with exactly these rates: the wrong ones spread over classes as what contradicts the label.

    table: the share of predictions of class i (row) for label k.
    """
    wrong = table + 1e-9 * (table.sum(axis=1, keepdims=True) + 1)  # where nothing contradicts it, as all predictions
    np.fill_diagonal(wrong, 0)
    joint = wrong / wrong.sum(axis=0) * (q * rate)
    np.fill_diagonal(joint, np.maximum(q * (1 - rate), np.finfo(float).tiny))  # no true class is impossible
    return joint


def _evidence(networks: int, M: float, d: float | None, low: float, high: float) -> str:
    """The counts as a sentence, and what they mean."""
    wrong = f"{percent(low, 0).removesuffix(' %')} to {percent(high, 0)} are wrong; only answers can tell."
    if d is None:
        found = f"A network that never saw them contradicts {percent(M, 0)} of the labels."
        return f"{found} If it has not learnt the mistakes itself, {wrong}"
    found = f"{'Two' if networks == 2 else networks} networks contradict {percent(M, 0)} of the labels"
    return (
        f"{found} and differ from each other on {percent(d, 0)}. If they neither learnt the mistakes nor err alike, "
        f"{wrong}"
    )


def _notes(nobody: list[Any], M: float, d: float | None, nothing: bool, unseen: int) -> list[str]:
    """What the reader should know before believing the numbers."""
    said = {
        "The predictions agree with the labels no more often than chance would: they tell nothing of them.": nothing,
        f"Hardly any label is contradicted ({percent(M)}). If the predictions are of networks that had seen these "
        "labels, that says nothing: each must be of one that had not.": M < 0.005,
        "No two networks differ anywhere. If they are one and the same, its own mistakes count as wrong labels.": d
        == 0,
        f"No example is labelled {listed(nobody)}.": bool(nobody),
        f"Left out: {counted(unseen, 'example')} without out-of-sample probabilities.": unseen > 0,
    }
    return [note for note, holds in said.items() if holds]


# --- what networks predict --------------------------------------------------------------------------------------------


def matrices_of(probabilities: Any) -> list[np.ndarray]:
    """One (n, c) matrix for each network, of one or of several; a row of NaN was not predicted by that network."""
    several = [to_numpy(one) for one in (probabilities if isinstance(probabilities, list | tuple) else [probabilities])]
    if any(P.ndim != 2 for P in several):  # the rows of one matrix, or matrices in one array
        whole = to_numpy(probabilities)
        several = list(whole) if whole.ndim == 3 else [whole]
    if len({P.shape for P in several}) > 1 or any(
        P.ndim != 2 or P.shape[1] < 2 or P.dtype.kind not in "fiu" for P in several
    ):
        raise InputError(
            "probabilities must be a table of numbers, a row for each example and a column for each of two or more "
            "classes, or one such table of the same examples for each network; they are "
            f"{listed([f'{P.dtype} of shape {P.shape}' for P in several], say=str)}."
        )
    if all(np.isnan(P).all() for P in several):
        raise InputError("No example has out-of-sample probabilities: every row is NaN, so there is nothing to count.")
    for start, rows in (chunk for P in several for chunk in _chunks(P)):
        sums = rows.sum(axis=1)
        good = (rows >= 0).all(axis=1) & (np.abs(sums - 1) <= ROW_SUM_TOLERANCE) | np.isnan(rows).all(axis=1)
        if not good.all():
            raise InputError(
                f"The probabilities of the example at index {start + good.argmin()} are not shares that sum to 1 (they "
                f"sum to {sums[good.argmin()]:g}): pass the softmax of the logits, and for an example that was never "
                "scored a row of NaN."
            )
    return several


def named(labels: Any, classes: Any, n: int, c: int) -> tuple[Codes, list[Any]]:
    """A code for each of n labels, which may be codes already, and the names of the c columns."""
    array, found = to_numpy(labels), encode(labels)[0].tolist()
    if array.shape != (n,):
        raise InputError(f"There are {n:,} rows of probabilities but labels of shape {array.shape}; give one for each.")
    are_codes = array.dtype.kind in "iu" and found[0] >= 0 and found[-1] < c
    if classes is not None:
        names = to_numpy(classes).tolist()
        are_codes = are_codes and not all(isinstance(name, int) for name in names)
    else:
        names = list(range(c)) if are_codes else found
    if len(names) != c:
        raise InputError(
            f"The probabilities have {c} columns, and there are {len(names)} classes ({listed(names)}); name the "
            "classes in the order of the columns (classes=)."
        )
    return (array if are_codes else encode(labels, names)[1]).astype(np.int64), names


def predictions(P: np.ndarray) -> tuple[Codes, Flags]:
    """Of each example the class argmax_j p_j / t_j, -1 for none, and whether it is among the SURE ones of its class.

    t_j = sum p_j^2 / sum p_j is what a network gives class j where it gives it; one example of the mean over all
    classes counts with it, for a class hardly seen. Where most of a class carry another's label, its own is never far
    above 1/2: plain argmax would name the other. (Confident learning takes the mean p_j of the examples labelled j.)
    """
    predicted, confidence = np.full(len(P), -1, np.int64), np.zeros(len(P))
    total, squares = (sum(np.nansum(rows**power, axis=0) for _, rows in _chunks(P)) for power in (1, 2))
    usual = np.maximum((squares + squares.sum() / max(total.sum(), 1)) / (total + 1), np.finfo(float).tiny)
    for start, rows in _chunks(P):
        seen = np.flatnonzero(~np.isnan(rows[:, 0]))
        scaled = rows[seen] / usual
        predicted[start + seen], confidence[start + seen] = (
            scaled.argmax(axis=1),
            scaled.max(axis=1) / scaled.sum(axis=1),
        )
    size = np.bincount(predicted + 1, minlength=P.shape[1] + 1)
    last = np.cumsum(size) - size + np.ceil(SURE * size - 1e-9).astype(np.int64) - 1
    least = confidence[np.lexsort((-confidence, predicted))[last]]  # of the sure ones of each class; ties are sure too
    return predicted, (predicted >= 0) & (confidence >= least[predicted + 1])


def _chunks(P: np.ndarray) -> Iterator[tuple[int, Matrix]]:
    return ((start, P[start : start + CHUNK].astype(np.float64)) for start in range(0, len(P), CHUNK))
