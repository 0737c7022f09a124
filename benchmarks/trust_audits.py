"""Simulated audits of what is kept, stopped at the first green or red: how often, after how many answers, at a promise.

A person who knows, and one of whose answers 5 % are wrong and 10 % unsure. Four promises: .95; the truth + .001, where
green is a mistake; the truth - .05, where .95 or more are right; the truth + .10.
"""

from collections.abc import Iterator
from math import ceil

import numpy as np

from trust_bets import Bets, Draws, draw, same_as_the_package
from trust_tools import Cell, Row

AUDITS, ANSWERS = 400, 400
LEVEL = 0.95
PERSONS = {"knows": (0.0, 0.0), "slips": (0.05, 0.1)}  # shares of answers that are wrong, and unsure


def measure(cell: Cell) -> Iterator[Row]:
    kept = np.flatnonzero(cell.now.kept)
    if not len(kept):
        return
    score, right = cell.now.label_score[kept], ~cell.wrong[kept]
    same_as_the_package(score, right, LEVEL)
    truth, rng = float(right.mean()), np.random.default_rng([cell.facts["seed"], len(kept)])
    draws = draw(score, AUDITS, ANSWERS, rng)
    row = cell.named() | {"kept": len(kept), "precision": truth, "audits": AUDITS}
    for person, (slips, unsure) in PERSONS.items():
        bets = answered(draws, draws.of(right.astype(float)), slips, unsure, cell.c, rng)
        row[person] = {name: ended(*bets, promise) for name, promise in promises(truth).items()}
    yield row


def promises(truth: float) -> dict[str, float]:
    found = {".95": 0.95, "truth + .001": truth + 0.001, "truth - .05": truth - 0.05, "truth + .10": truth + 0.1}
    if truth < 0.95:
        del found["truth - .05"]
    return {name: promise for name, promise in found.items() if 0 < promise < 1}


def answered(
    draws: Draws, right: np.ndarray, slips: float, unsure: float, classes: int, rng: np.random.Generator
) -> tuple[Bets, Bets]:
    """Bets on the low end and on the high one: an unsure answer is wrong at the one, and right at the other.

    A slip names any other class than the true one: of a wrong label it is the given one in 1 of c - 1.
    """
    asked = draws.rows >= 0
    chance = np.where(right > 0, slips, slips / (classes - 1))
    given = np.where(asked & (rng.random(right.shape) < chance), 1 - right, right)
    doubted = asked & (rng.random(right.shape) < unsure)
    return (
        Bets(draws, np.where(doubted, 0, given), LEVEL),
        Bets(draws, np.where(doubted, 1, given), LEVEL, mirrored=True),
    )


def ended(low: Bets, high: Bets, promise: float) -> Row:
    """Which share of the audits ends in green and in red, and after how many answers."""
    goal = ceil(round(promise * low.size, 9))  # right ones that keep the promise
    proved, refuted = low.refuted(goal - 1), high.refuted(low.size - goal)
    first = [np.where(one.any(1), one.argmax(1), len(low.asked)) for one in (proved, refuted)]
    green, red = first[0] < np.minimum(first[1], len(low.asked)), first[1] < first[0]
    when = low.asked[np.minimum(np.minimum(*first), len(low.asked) - 1)]
    decided = when[green | red]
    return {
        "promise": promise,
        "green": float(green.mean()),
        "red": float(red.mean()),
        "red within 200": float((red & (when <= 200)).mean()),
        "answers": [float(x) for x in np.quantile(decided, (0.5, 0.9))] if len(decided) else None,
        "undecided": float(1 - (green | red).mean()),
    }
