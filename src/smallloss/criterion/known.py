"""What a selection is told (scores, rates, T, prior, probabilities), checked and in the order of the classes."""

from typing import Any

import numpy as np

from smallloss.criterion.estimate.inputs import refuse_bad_rows
from smallloss.criterion.labels import by_class
from smallloss.criterion.transition import noise_rate as rates_from_transition
from smallloss.criterion.transition import prior_from_labels, validate
from smallloss.errors import InputError
from smallloss.values import to_numpy

_DIGITS = 12  # of a noise rate


def check_scores(score: np.ndarray, class_index: np.ndarray, kappa: float, weight_max: str) -> None:
    """One finite or missing score for each label, and options that exist."""
    if score.shape != class_index.shape:
        hint = " Take the mean over the epochs first." if score.ndim == 2 else ""
        raise InputError(f"score has shape {score.shape}, but there are {len(class_index):,} labels.{hint}")
    infinite = np.isinf(score)
    if infinite.any():
        raise InputError(f"The score of index {infinite.argmax()} is infinite: a missing one is NaN.")
    if not 0 <= kappa < np.inf:
        raise InputError(f"kappa is {kappa!r}: it must be finite and at least 0 (equal weights).")
    if weight_max not in ("selected", "class"):
        raise InputError(f'weight_max is {weight_max!r}: use "selected" or "class".')


def known_last(
    score: np.ndarray, class_index: np.ndarray, known_wrong: Any, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scores to rank by, the labels found wrong beyond all others of their class, and their share of its n."""
    least = np.zeros(len(n))
    if known_wrong is None:
        return score, least
    score = score.copy()
    wrong = to_numpy(known_wrong)
    if wrong.shape != score.shape or wrong.dtype != bool:
        raise InputError(f"known_wrong is {wrong.dtype} of shape {wrong.shape}: give true or false for each label.")
    seen = ~np.isnan(score)
    for k in np.unique(class_index[wrong & seen]):
        found = wrong & seen & (class_index == k)
        score[found] = np.nextafter(score[seen & (class_index == k)].max(), np.inf)
        least[k] = np.count_nonzero(found) / n[k]
    return score, np.minimum(least, np.nextafter(1.0, 0.0))


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
    """Of each example, the probability of the label it carries; NaN for one that was never scored, a row of NaN."""
    if probabilities is None:
        return None
    table = to_numpy(probabilities)
    if table.shape != (len(class_index), c):
        raise InputError(f"probabilities have shape {table.shape}: expected ({len(class_index)}, {c}).")
    refuse_bad_rows(table, table.sum(axis=1, dtype=np.float64))
    return np.minimum(table[np.arange(len(class_index)), class_index], 1)
