"""Answers teach: a small classifier of the run's features, fitted to nothing but answers, ranks everything anew.

How far it is believed beside what noisy labels said follows from answers at random, of each by a classifier that had
not learnt it. Answers that were asked for because they look wrong train it, but have no say in that.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from smallloss.noise.answers import UNSURE

Codes = NDArray[np.int64]
Vector = NDArray[np.float64]

ENOUGH = 30  # answers at random, from which on they decide how far each kind of evidence is believed
FIXED = (1.0, 0.5)  # fewer do not: the noisy labels whole, the answers by half
FOLDS = 10
_NOTHING = 0.01  # weights below it leave all probabilities about equal
_SCORE, _SHARE = 0.02, 0.001  # how near to 0 and 1 a score and a probability come, before their odds are taken


class Taught(NamedTuple):
    label_score: Vector  # low is suspicious; where enough was answered at random, the probability that a label is right
    evidence: float  # weights, on the scale of log odds: what noisy labels said,
    answers: float  # and what the answers say
    words: str


def teach(
    features: NDArray[np.floating], labels: Codes, label_score: Vector, answers: Mapping[int, int],
    sampled: Collection[int], classes: int,
) -> Taught:  # fmt: skip
    """log odds that a label is right = a x those of the run's label score + b x those of the classifier + d.

    answers: row -> true class, NONE or UNSURE; sampled: which of these rows were drawn at random. Nothing is said of a
    label that no answer named.
    """
    X, noisy = np.asarray(features, np.float64), logit(np.clip(np.nan_to_num(label_score, nan=0.5), _SCORE, 1 - _SCORE))
    decided = {row: true for row, true in answers.items() if true != UNSURE}
    rows = np.array([row for row, true in decided.items() if true >= 0], np.int64)
    true = np.array([decided[row] for row in rows.tolist()], np.int64)
    if len(np.unique(true)) < 2:
        score = np.array(label_score, np.float64)
        return Taught(score, 1.0, 0.0, "No two classes were answered, so nothing is learnt.")
    return _taught(X, labels, noisy, rows, true, [row for row in decided if row in set(sampled)], decided, classes)


def _taught(
    X: Vector, labels: Codes, noisy: Vector, rows: Codes, true: Codes, sampled: list[int], decided: Mapping[int, int],
    classes: int,
) -> Taught:  # fmt: skip
    named = np.isin(labels, true)
    by_answers = np.where(named, _odds(X[rows], true, X, labels, classes), 0)
    if len(sampled) < ENOUGH:
        a, b, d = *FIXED, 0.0
        words = (
            f"The ranking learnt from {len(decided):,} answers. With fewer than {ENOUGH} at random, they weigh half as "
            "much as the noisy labels."
        )
    else:
        unseen = _unseen(X, labels, rows, true, sampled, classes)
        right = np.array([decided[row] == labels[row] for row in sampled])
        a, b, d = _believed(noisy[sampled], np.where(named[sampled], unseen, 0), right)
        words = f"The ranking learnt from {len(decided):,} answers. By those at random, {_followed(a, b)}."
    return Taught(expit(np.where(named, a * noisy + b * by_answers, noisy) + d), a, b, words)


def _followed(evidence: float, answers: float) -> str:
    """What decides the ranking now; a weight below a tenth of the other decides nothing that a reader would see."""
    more, less = max(evidence, answers), min(evidence, answers)
    if more < _NOTHING:
        return "neither they nor the noisy labels tell which labels are right, so do not rely on its order"
    first = "the answers" if answers == more else "the noisy labels"
    return f"it now follows {first} alone" if less < more / 10 else f"it now follows both, {first} more"


def _odds(X: Vector, true: Codes, at: Vector, labels: Codes, classes: int) -> Vector:
    """Log odds of each label by a logistic regression on what was answered; 0 where that is of one class alone."""
    if len(np.unique(true)) < 2:
        return np.zeros(len(labels))
    least = _SHARE + 0.5 / (len(true) * classes)
    P = np.full((len(labels), classes), least)
    model = LogisticRegression(max_iter=1000).fit(X, true)
    P[:, model.classes_] = np.maximum(model.predict_proba(at), least)
    share = P[np.arange(len(labels)), labels] / P.sum(axis=1)
    return logit(np.clip(share, _SHARE, 1 - _SHARE))


def _unseen(X: Vector, labels: Codes, rows: Codes, true: Codes, sampled: list[int], classes: int) -> Vector:
    """Of the answers at random, the same by classifiers that had not learnt them, dealt out in turn."""
    found, at = np.zeros(len(sampled)), np.array(sampled)
    for fold in range(FOLDS):
        asked = at[fold::FOLDS]
        rest = ~np.isin(rows, asked)
        found[fold::FOLDS] = _odds(X[rows[rest]], true[rest], X[asked], labels[asked], classes)
    return found


def _believed(noisy: Vector, by_answers: Vector, right: NDArray[np.bool_]) -> tuple[float, float, float]:
    """(a, b, d) of the likeliest log odds, before which a is 0 and b is 1, give or take 1: what noisy labels say must
    show its worth. Neither is turned round."""
    Z, sign, before = np.stack([noisy, by_answers], axis=1), np.where(right, 1, -1), np.array([0.0, 1.0])

    def loss(w: Vector) -> tuple[float, Vector]:
        miss = -sign * expit(-sign * (Z @ w[:2] + w[2]))
        value = np.logaddexp(0, -sign * (Z @ w[:2] + w[2])).sum() + ((w[:2] - before) ** 2).sum() / 2
        return float(value), np.append(Z.T @ miss + w[:2] - before, miss.sum())

    found = minimize(loss, np.append(before, 0.0), jac=True, bounds=[(0, None), (0, None), (-10, 10)])
    a, b, d = found.x.tolist()
    return a, b, d
