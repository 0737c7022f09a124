"""`sl.select`: what is told of scores, rates, T and prior, checked; what nobody knows, estimated; then selected."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from smallloss.criterion.labels import encode, require_one_order
from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.quota import ClassSize, Gamma, Rounding
from smallloss.criterion.selection import Selection, select_codes
from smallloss.criterion.settings import KAPPA, Criterion
from smallloss.errors import InputError
from smallloss.knobs import to_numpy
from smallloss.noise.answers import found_wrong, pin
from smallloss.noise.estimate import count, matrices_of
from smallloss.noise.model import NoiseModel
from smallloss.noise.verdict import judge


def select(
    score: Any,
    labels: Any,
    noise_rate: Any = None,
    *,
    classes: Any = None,
    upper: Any = None,
    transition: Any = None,
    probabilities: Any = None,
    prior: Any = None,
    known_wrong: Any = None,
    beta: float = 0.2,
    gamma: Gamma = "middle",
    kappa: float = KAPPA,
    weight_max: Literal["selected", "class"] = "selected",
    rounding: Rounding = "safe",
    class_size: ClassSize = "observed",
) -> Selection:
    """RSL's selection (Algorithm 1, lines 8-14, with Eq. 2): the smallest scores of each class.

    selection = select(ledger, labels, noise_rate=0.2) has a vector over the examples for each question: `mask` (safe to
    learn from), `weight`, `is_label_issue` (likely wrong), `label_score`, `reason`; and `table()`, `verdict`, `notes`.

    score: a vector, higher = more suspicious, NaN = never seen; or a ledger, whose mean loss is taken.
    classes: all there are, in the order that vectors and T follow; left out, the sorted labels.
    noise_rate: share of wrong labels among those that carry label k: a number, {label: rate}, or a vector in
    the order of the classes; without it, `transition` (T[i, j] = P(label j | true class i)) gives it.
    upper: the upper ends of the rates' intervals, where they were estimated (see `quotas`).
    prior: distribution of the true classes: a vector, {label: share}, "uniform", or None: taken from
    `transition` and the label counts, and where there is no transition, unknown: then nothing is balanced.
    probabilities: out of sample, a matrix (n, classes) or one from each of several networks, NaN where a network did
    not predict; label_score is then the mean probability of the given label, and noise rates that nobody knows are
    estimated from them.
    known_wrong: a mask of labels that somebody found wrong. They come last in their class and count in its rate, which
    is at least their share: none of them is ever selected.
    weight_max: whether l_max of the weights is over the "selected" (the paper) or the "class" (its code).
    beta: safety, from 0 to 1: how much less than the 1 - noise_rate that should be right is kept.
    gamma: balance: "none" keeps all that is safe of every class, 1 keeps classes in proportion to the prior, "middle"
    (the paper's) lies half-way.
    kappa: the smallest weight is exp(-kappa). rounding, class_size: how whole numbers come about, see `quotas`.
    """
    notes: list[str] = []
    values = _mean_loss(score, notes) if isinstance(score, LossLedger) else np.array(to_numpy(score), np.float64)
    named = classes is not None
    classes, codes = encode(labels, classes)
    if transition is not None and not named:
        require_one_order(classes)
    noise = NoiseModel.given(classes.tolist(), noise_rate, transition, prior, upper)
    matrices = None if probabilities is None else matrices_of(probabilities)
    if matrices is not None and matrices[0].shape != (wanted := (len(codes), len(classes))):
        raise InputError(f"probabilities have shape {matrices[0].shape}: expected {wanted}.")
    if matrices is not None and not noise.is_known:
        found = count(matrices, codes.astype(np.int64), classes.tolist())
        notes += [f"The noise rates are estimated: {found.evidence}"]
        noise = noise.beside(found)
    how = Criterion(
        beta=beta, gamma=gamma, kappa=kappa, weight_max=weight_max, rounding=rounding, class_size=class_size
    )
    chosen = select_by(noise, values, codes, how, classes=classes, known_wrong=known_wrong)
    return replace(
        chosen,
        notes=(*notes, *chosen.notes),
        probability=None if matrices is None else _of_label(matrices, codes),
        verdict=judge(chosen, noise),
    )


def select_by(
    noise: NoiseModel, score: np.ndarray, codes: np.ndarray, how: Criterion, *, classes: np.ndarray,
    known_wrong: Any = None, answers: Mapping[int, int] | None = None,
) -> Selection:  # fmt: skip
    """`select` where labels are codes already. `answers`, row -> its true class by hand, or NONE, are respected."""
    if answers:
        score, known_wrong = pin(score, codes, answers), found_wrong(codes, answers)
    known = noise.of(codes)
    chosen = select_codes(
        score, codes, known.noise_rate, known.prior, known.upper, how, known_wrong=known_wrong, classes=classes
    )
    return replace(
        chosen,
        notes=(*known.notes, *chosen.notes),
        transition=None if noise.is_estimated else noise.transition,
        estimated=noise if noise.is_estimated else None,
    )


def _mean_loss(ledger: LossLedger, notes: list[str]) -> np.ndarray:
    """The mean loss (Algorithm 1, line 7), where there is one to rank by."""
    opened = ledger.has_open_epoch
    if not ledger.count.any():
        what = f"no epoch of its window {ledger.window} was" if ledger.epochs else "no epoch was"
        raise InputError(f"The ledger has nothing to rank by: {what} closed.{' Call end_epoch() first.' * opened}")
    if opened:
        notes.append("The epoch that is still open is not counted; end_epoch() closes it.")
    return ledger.mean_loss


def _of_label(matrices: list[np.ndarray], codes: np.ndarray) -> np.ndarray:
    """Of each example, the mean probability of the label it carries; NaN for one that was never scored."""
    told = np.array([P[np.arange(len(codes)), codes] for P in matrices], np.float64)
    many = (~np.isnan(told)).sum(axis=0)
    return np.minimum(np.nansum(told, axis=0) / np.where(many > 0, many, np.nan), 1)
