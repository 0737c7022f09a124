"""Answers teach: how well the label score ranks wrong labels after answers, on what was not answered.

60 and 200 answers at random, 60 and 200 suspicious ones, 200 suspicious alone; beside the untaught score and a logistic
regression on the answers alone. Then rounds: answers teach, the new kept set is asked about anew, and a promise .01
above what is true of it must not turn green.
"""

from collections.abc import Iterator, Mapping
from math import ceil

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from smallloss.engine.last_layer import Components
from smallloss.noise.teach import teach
from trust_bets import Bets, draw
from trust_tools import REAL, Cell, Row

WAYS = {"60": (60, 0), "200": (200, 0), "60 + 200 suspicious": (60, 200), "200 suspicious": (0, 200)}
DRAWS, DRAWS_OF_MADE = 5, 2
ROUNDS, LOOPS, PER_ROUND, ASKED = 3, 15, 60, 400


def measure(cell: Cell) -> Iterator[Row]:
    """Of real sets all seeds, of made ones the first."""
    is_real = cell.facts["family"] in REAL
    if cell.facts["kind"] in ("clean", "shuffled") or not (is_real or cell.facts["seed"] == 0):
        return
    X, row = features_of(cell), cell.named()
    for draw_ in range(DRAWS if is_real else DRAWS_OF_MADE):
        for way, (sampled, suspicious) in WAYS.items():
            if sampled + suspicious < len(cell.labels) / 2:
                found = taught(cell, X, sampled, suspicious, np.random.default_rng([draw_, cell.facts["seed"]]))
                row.setdefault(way, []).append(found)
    if is_real:
        row["rounds"] = rounds(cell, X)
    yield row


def features_of(cell: Cell) -> np.ndarray:
    """What a run keeps: components of the last layer's inputs and of the network's together."""
    both = np.concatenate([cell.features, cell.seen], axis=1).astype(np.float64)
    return Components(both).of(both)


def taught(cell: Cell, X: np.ndarray, sampled: int, suspicious: int, rng: np.random.Generator) -> Row:
    untaught = cell.now.label_score
    at_random = rng.permutation(len(cell.labels))[:sampled]
    rest = np.setdiff1d(np.arange(len(cell.labels)), at_random)
    rows = np.concatenate([at_random, rest[np.argsort(untaught[rest], kind="stable")[:suspicious]]])
    answers = {int(row): int(cell.true[row]) for row in rows}
    found = teach(X, cell.labels, untaught, answers, at_random.tolist(), cell.c)
    left = np.setdiff1d(np.arange(len(cell.labels)), rows)
    scores = {"taught": found.label_score, "untaught": untaught, "answers alone": alone(cell, X, answers)}
    if not cell.wrong[left].any():
        return dict.fromkeys(scores, 1.0)
    return {name: float(average_precision_score(cell.wrong[left], -of[left])) for name, of in scores.items()}


def alone(cell: Cell, X: np.ndarray, answers: Mapping[int, int]) -> np.ndarray:
    """P(given label) by a logistic regression as it comes, fitted to the answers."""
    rows = np.array(list(answers))
    if len(np.unique(cell.true[rows])) < 2:
        return np.zeros(len(cell.labels))
    model = LogisticRegression(max_iter=1000).fit(X[rows].astype(np.float64), cell.true[rows])
    P = np.zeros((len(cell.labels), cell.c))
    P[:, model.classes_] = model.predict_proba(X.astype(np.float64))
    return P[np.arange(len(P)), cell.labels]


def rounds(cell: Cell, X: np.ndarray) -> list[float]:
    """For each round, the share of audits of what is newly kept that end in a green that is a mistake."""
    found = [list(_loop(cell, X, np.random.default_rng([loop, cell.facts["seed"]]))) for loop in range(LOOPS)]
    return np.mean(found, axis=0).tolist()


def _loop(cell: Cell, X: np.ndarray, rng: np.random.Generator) -> Iterator[bool]:
    """Round r asks up to 400 fresh questions at level .05 / 2^r; what was answered before is counted exactly.

    So that the next round has something to learn from, and to leave unanswered, it goes on with the first 60.
    """
    answers: dict[int, int] = {}
    chosen = cell.now
    for r in range(1, ROUNDS + 1):
        more = rng.permutation(np.setdiff1d(np.arange(len(cell.labels)), list(answers)))[:PER_ROUND]
        answers |= {int(row): int(cell.true[row]) for row in more}
        found = teach(X, cell.labels, cell.now.label_score, answers, list(answers), cell.c)
        chosen = cell.again(found.label_score, answers)
        known = np.isin(np.arange(len(cell.labels)), list(answers))
        fresh = np.flatnonzero(chosen.kept & ~known)
        right = ~cell.wrong
        promise = right[chosen.kept].mean() + 0.01
        if not len(fresh) or promise >= 1:
            yield False
            continue
        draws = draw(found.label_score[fresh], 1, ASKED, rng)
        bets = Bets(draws, draws.of(right[fresh].astype(float)), 1 - 0.05 / 2**r)
        goal = ceil(round(promise * chosen.kept.sum() - right[chosen.kept & known].sum(), 9))
        yield bool(bets.refuted(goal - 1)[0, -1])
