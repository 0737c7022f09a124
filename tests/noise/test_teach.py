"""Answers teach: a classifier of the features, believed as far as answers at random say."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from smallloss.noise.answers import NONE, UNSURE
from smallloss.noise.teach import ENOUGH, teach

N = 600


@pytest.fixture
def data() -> dict[str, np.ndarray]:
    """Features tell the class; 30 % of the labels are wrong; what noisy labels say is hardly better than chance."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 3, N)
    labels = np.where(rng.random(N) < 0.3, (true + 1) % 3, true)
    noisy = np.clip(0.5 + 0.05 * (labels == true) + 0.2 * rng.normal(size=N), 0.01, 0.99)
    return {"X": np.eye(3)[true] + 0.3 * rng.normal(size=(N, 3)), "true": true, "labels": labels, "noisy": noisy}


def found_by(data: dict[str, np.ndarray], score: np.ndarray, left: np.ndarray) -> float:
    wrong = data["labels"] != data["true"]
    return float(average_precision_score(wrong[left], -score[left]))


def test_few_answers_rank_what_was_not_answered(data: dict[str, np.ndarray]) -> None:
    asked = np.random.default_rng(1).permutation(N)[:60].tolist()
    answers = {row: int(data["true"][row]) for row in asked}
    taught = teach(data["X"], data["labels"], data["noisy"], answers, asked, 3)
    left = np.setdiff1d(np.arange(N), asked)
    assert found_by(data, taught.label_score, left) > 0.9 > 0.6 > found_by(data, data["noisy"], left)
    assert taught.answers > taught.evidence
    right = (data["labels"] == data["true"])[left]
    assert abs(taught.label_score[left].mean() - right.mean()) < 0.1  # a probability, by answers at random


def test_features_that_tell_nothing_are_not_believed(data: dict[str, np.ndarray]) -> None:
    rng = np.random.default_rng(2)
    good = np.clip(0.1 + 0.8 * (data["labels"] == data["true"]) + 0.1 * rng.normal(size=N), 0.01, 0.99)
    asked = rng.permutation(N)[:100].tolist()
    answers = {row: int(data["true"][row]) for row in asked}
    taught = teach(rng.normal(size=(N, 3)), data["labels"], good, answers, asked, 3)
    left = np.setdiff1d(np.arange(N), asked)
    assert found_by(data, taught.label_score, left) > found_by(data, good, left) - 0.02


def test_suspicious_answers_train_it_but_have_no_say_in_how_far_it_is_believed(data: dict[str, np.ndarray]) -> None:
    worst = np.argsort(data["noisy"])[:200].tolist()
    answers = {row: int(data["true"][row]) for row in worst}
    taught = teach(data["X"], data["labels"], data["noisy"], answers, [], 3)
    assert (taught.evidence, taught.answers) == (1.0, 0.5)
    assert f"fewer than {ENOUGH} at random" in taught.words
    left = np.setdiff1d(np.arange(N), worst)
    assert found_by(data, taught.label_score, left) > 0.8


def test_without_two_classes_nothing_is_learnt_and_no_class_is_not_one(data: dict[str, np.ndarray]) -> None:
    for answers in ({0: 0, 1: 0}, {0: 0, 1: NONE, 2: UNSURE}, {}):
        taught = teach(data["X"], data["labels"], data["noisy"], answers, list(answers), 3)
        assert taught.label_score.tolist() == data["noisy"].tolist()
        assert "nothing is learnt" in taught.words


def test_of_a_label_that_no_answer_named_nothing_is_said(data: dict[str, np.ndarray]) -> None:
    some = np.flatnonzero((data["true"] < 2) & (data["labels"] < 2))[:20].tolist()
    taught = teach(data["X"], data["labels"], data["noisy"], {row: int(data["true"][row]) for row in some}, [], 3)
    of_third = data["labels"] == 2
    assert taught.label_score[of_third] == pytest.approx(data["noisy"][of_third].clip(0.02, 0.98))
