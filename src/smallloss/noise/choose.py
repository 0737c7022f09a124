"""`sl.select`: what is told of scores, rates, T and prior, checked; what nobody knows, estimated; then selected."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from smallloss.criterion.labels import by_class, encode, encode_among, require_one_order
from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.quota import ClassSize, Gamma, Rounding
from smallloss.criterion.selection import KAPPA, Selection, select_codes
from smallloss.criterion.transition import noise_rate as rates_from_transition
from smallloss.criterion.transition import prior_from_labels, validate
from smallloss.errors import InputError
from smallloss.knobs import to_numpy
from smallloss.noise.estimate import estimate
from smallloss.noise.probabilities import matrices_of
from smallloss.noise.verdict import judge

_DIGITS = 12  # of a noise rate


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
    if classes is None:
        classes, class_index = encode(labels)
        if transition is not None:
            require_one_order(classes)
    else:
        classes, class_index = encode_among(labels, classes)
    names = classes.tolist()
    labelled = np.bincount(class_index, minlength=len(classes))
    found = None
    if noise_rate is None and transition is None and probabilities is not None:
        found = estimate(probabilities, classes[class_index], classes=names)
        noise_rate, upper = found.noise_rate, found.upper
        prior = found.prior if prior is None else prior
        notes += [f"The noise rates are estimated: {found.evidence}", *found.notes]
    p = prior_of(prior, transition, labelled, names, notes)
    chosen = select_codes(
        values,
        class_index,
        classes,
        rates_of(noise_rate, transition, p, names, notes),
        p,
        upper=by_class("upper", upper, names, notes),
        known_wrong=known_wrong,
        beta=beta,
        gamma=gamma,
        kappa=kappa,
        weight_max=weight_max,
        rounding=rounding,
        class_size=class_size,
    )
    chosen = replace(
        chosen,
        notes=(*notes, *chosen.notes),
        probability=probability_of_label(probabilities, class_index, len(classes)),
        transition=None if transition is None else validate(transition),
        estimated=found,
    )
    return replace(chosen, verdict=judge(chosen, estimate=found, transition=transition))


def _mean_loss(ledger: LossLedger, notes: list[str]) -> np.ndarray:
    """The mean loss (Algorithm 1, line 7), where there is one to rank by."""
    opened = ledger.has_open_epoch
    if not ledger.count.any():
        what = f"no epoch of its window {ledger.window} was" if ledger.epochs else "no epoch was"
        raise InputError(f"The ledger has nothing to rank by: {what} closed.{' Call end_epoch() first.' * opened}")
    if opened:
        notes.append("The epoch that is still open is not counted; end_epoch() closes it.")
    return ledger.mean_loss


def rates_of(noise_rate: Any, transition: Any, prior: Any, names: list[Any], notes: list[str]) -> Any:
    """eta of each class: as given, or from T and the prior."""
    if noise_rate is not None and transition is not None:
        raise InputError("noise_rate and transition both say how many labels are wrong: give one of them.")
    if noise_rate is not None:
        return by_class("noise_rate", noise_rate, names, notes)
    if transition is not None:
        # A class that T and the counts leave without a right label has rate 1: nothing of it is kept, and that
        # is said, but it must not end the run. Sums of T leave an error in the last digit, which truncation shows: the
        # authors' counts come out without it.
        rates = np.round(rates_from_transition(transition, prior), _DIGITS)
        return np.minimum(rates, np.nextafter(1.0, 0.0))
    raise InputError(
        "The noise rate is not known: give noise_rate= (share of wrong labels), transition=, or out-of-sample "
        "probabilities=, from which it is estimated."
    )


def prior_of(
    prior: Any, transition: Any, labelled: np.ndarray, names: list[Any], notes: list[str]
) -> np.ndarray | None:
    """p of each class: as given, or from T and the label counts; None where nobody knows it."""
    if transition is not None and len(validate(transition)) != len(names):
        raise InputError(f"transition is for {len(transition)} classes, but the labels have {len(names)}.")
    if isinstance(prior, str):
        if prior != "uniform":
            raise InputError(f'prior is {prior!r}: the only word for it is "uniform".')
        return np.full(len(names), 1 / len(names))
    if prior is not None:
        shares = np.asarray(by_class("prior", prior, names, notes), np.float64)
        if hasattr(prior, "items") and shares.sum() > 0:
            # Eq. 2 only knows ratios: the share of a class that no example carries goes to the others
            shares *= sum(share for _, share in prior.items()) / shares.sum()
        return shares
    if transition is not None:
        return prior_from_labels(transition, labelled)
    notes.append("The prior is unknown (how frequent the true classes are), so the classes are not balanced.")
    return None


def probability_of_label(probabilities: Any, class_index: np.ndarray, c: int) -> np.ndarray | None:
    """Of each example, the mean probability of the label it carries; NaN for one that was never scored."""
    if probabilities is None:
        return None
    matrices = matrices_of(probabilities)
    if matrices[0].shape != (len(class_index), c):
        raise InputError(f"probabilities have shape {matrices[0].shape}: expected ({len(class_index)}, {c}).")
    told = np.array([P[np.arange(len(class_index)), class_index] for P in matrices], np.float64)
    many = (~np.isnan(told)).sum(axis=0)
    return np.minimum(np.nansum(told, axis=0) / np.where(many > 0, many, np.nan), 1)
