"""The anytime interval: does it hold at every look, and how many answers does the score save?

On all examples of each real set and on what is kept, ranked by its own label scores: how often the truth is excluded at
any look up to 300 answers; how many answers make the interval .15 wide, with the score and with one score for all.
"""

from collections.abc import Iterator

import numpy as np

from trust_bets import Bets, draw, same_as_the_package
from trust_tools import REAL, Cell, Row

SIMULATIONS, ANSWERS = 2000, 300
LEVEL = 0.95
AT_ONCE, WIDE, WIDTHS, UP_TO = 500, 0.15, 200, 600  # simulations; width asked for, simulations of it, answers at most


def measure(cell: Cell) -> Iterator[Row]:
    if cell.facts["family"] not in REAL:
        return
    for name, rows in (("all", np.arange(len(cell.labels))), ("kept", np.flatnonzero(cell.now.kept))):
        if len(rows) < 60:
            continue
        score, right = cell.now.label_score[rows], ~cell.wrong[rows]
        same_as_the_package(score, right, LEVEL)
        rng = np.random.default_rng([cell.facts["seed"], len(rows)])
        row = cell.named() | {"of": name, "size": len(rows), "right": float(right.mean())}
        row["missed"] = float(np.mean([missed(score, right, rng) for _ in range(SIMULATIONS // AT_ONCE)]))
        if name == "all":
            row["answers"] = until_narrow(score, right, rng)
            row["answers without the score"] = until_narrow(np.full(len(rows), score.mean()), right, rng)
        yield row


def missed(score: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> float:
    """The share of simulations in which the truth is outside at some look."""
    draws = draw(score, AT_ONCE, ANSWERS, rng)
    said, total = draws.of(right.astype(float)), int(right.sum())
    low = Bets(draws, said, LEVEL).refuted(total)
    high = Bets(draws, said, LEVEL, mirrored=True).refuted(len(right) - total)
    return float((low[:, -1] | high[:, -1]).mean())


def until_narrow(score: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> float:
    """The median number of answers after which the interval is .15 wide; all there are, where none is."""
    draws = draw(score, WIDTHS, UP_TO, rng)
    said = draws.of(right.astype(float))
    ends = [_least(Bets(draws, said, LEVEL, mirrored=mirrored)) for mirrored in (False, True)]
    size = len(score)
    narrow = size - ends[1] - ends[0] <= WIDE * size
    asked = np.append(draws.asked, size)
    return float(np.median(asked[np.where(narrow.any(1), narrow.argmax(1), len(asked) - 1)]))


def _least(bets: Bets) -> np.ndarray:
    """[R, T]: the least total that is not refuted by each look, half-way between the steps of a grid of 200."""
    grid = np.linspace(0, bets.size, 201)
    refuted = np.sum([bets.refuted(total) for total in grid], axis=0)
    return np.maximum(refuted - 0.5, 0) * grid[1]
