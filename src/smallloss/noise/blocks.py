"""The check by hand: questions in blocks, and an interval that holds at every look (betting on complete blocks).

A stream of questions is a finite population of N rows, of which nobody knows how many have right labels. A block asks
one row of each of G nearly equally large strata of the frozen score, drawn without replacement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from smallloss.noise.answers import Interval

GROUPS = 5  # questions to a block: the interval waits for the last of them, and more of them do not narrow it
AHEAD = 150  # answers that the bets are the best for: between the 72 that prove .95 at least and the 400 at most
PRIOR = 2  # answers: what the mean score is worth as a first guess of the rate
FIRST, MOST = 0.5, 0.99  # of the largest admissible bet: in the first block, where the score is all there is, and later


@dataclass(frozen=True, eq=False)
class Blocks:
    """The order of questions of one stream. A block that lacks strata (they have run out) comes last."""

    rows: list[np.ndarray]  # per block, one row of each stratum
    prediction: list[np.ndarray]  # their frozen scores
    share: list[np.ndarray]  # w_g = strata x rows left in the stratum / rows left, before the block
    centre: np.ndarray  # per block, the mean score of all rows left before it
    spread: tuple[float, float]  # least and largest score of the population
    size: int

    def to_dict(self, answers: int | None = None) -> dict[str, Any]:
        """What interval.js reads, with the blocks that so many answers need."""
        count = len(self.rows) if answers is None else ceil(answers / max(len(self.rows[0]), 1)) if self.rows else 0
        lists = {name: [x.tolist() for x in getattr(self, name)[:count]] for name in ("rows", "prediction", "share")}
        return lists | {"centre": self.centre[:count].tolist(), "spread": list(self.spread), "size": self.size}


def draw_blocks(rows: Sequence[int] | np.ndarray, score: Any, *, seed: Sequence[int], groups: int = GROUPS) -> Blocks:
    """One random row of each stratum of the score to a block, until all are asked; a function of the seed alone."""
    population, scores = np.asarray(rows, np.int64), np.asarray(score, np.float64)
    key = np.random.Generator(np.random.Philox(np.random.SeedSequence(list(seed)))).permutation(len(population))
    strata = np.array_split(np.lexsort((key, scores)), min(groups, max(len(population), 1)))
    strata = [stratum[np.argsort(key[stratum])] for stratum in strata]  # the larger ones come first
    depth = len(strata[0])
    asked = [np.array([stratum[b] for stratum in strata if b < len(stratum)], np.int64) for b in range(depth)]
    left = [np.array([len(stratum) - b for stratum in strata if b < len(stratum)]) for b in range(depth)]
    sums = np.cumsum([scores[block].sum() for block in reversed(asked)])[::-1] if len(population) else np.zeros(0)
    counts = np.array([n.sum() for n in left], np.float64)
    return Blocks(
        rows=[population[block] for block in asked],
        prediction=[scores[block] for block in asked],
        share=[len(n) * n / n.sum() for n in left],
        centre=sums / counts if len(population) else sums,
        spread=(float(scores.min()), float(scores.max())) if len(population) else (0.0, 1.0),
        size=len(population),
    )


def anytime(
    blocks: Blocks, answers: Mapping[int, bool | None], *, level: float, right_known: int = 0, known: int = 0
) -> Interval:
    """The share of right labels among the population and `known` others, of which `right_known` are right.

    Betting without replacement (Waudby-Smith and Ramdas 2024), with the score as control. Only complete blocks
    count; one that was left for a later one is complete, what is open in it unsure. An unsure answer (None) is wrong
    at the low end, right at the high; the value is a guess of what is left, from the decided ones. As blocks are
    added the ends never move outwards; each errs with probability (1 - level) / 2 at most, over all looks together.
    """
    done = _complete(blocks, answers)
    low = _Bets(blocks, _said(blocks, answers, done, 0.0), level).least()
    high = blocks.size - _Bets(blocks, _said(blocks, answers, done, 1.0), level, mirrored=True).least()
    low, high = min(low, high), max(low, high)  # they pass each other only where one of them errs
    value = float(np.clip(blocks.size * _guess(blocks, answers, done), low, high))
    total = max(blocks.size + known, 1)
    return Interval(*((x + right_known) / total for x in (value, low, high)))


class Needed(NamedTuple):
    """How many more answers settle a promise; None where all that there is to ask does not."""

    if_right: int | None  # until it is proved, where all of them are right
    at_rate: int | None  # until it is proved or refuted, at the rate seen so far; None before there is one


def answers_needed(
    blocks: Blocks, answers: Mapping[int, bool | None], promise: float, *, level: float, right_known: int = 0,
    known: int = 0,
) -> Needed:  # fmt: skip
    """How many more answers settle `promise`: the same bets on imagined answers, those that were left open first."""
    done = _complete(blocks, answers)
    goal = ceil(round(promise * (blocks.size + known) - right_known, 9))  # right ones in the population
    left_open = [np.array([row not in answers for row in rows.tolist()]) for rows in blocks.rows[:done]]
    count = int(sum(block.sum() for block in left_open))
    begun = sum(row in answers for rows in blocks.rows[done : done + 1] for row in rows.tolist())

    def settled(imagined: list[np.ndarray], total: int, mirrored: bool) -> list[int]:
        """With what was left open as it is, unsure; and with it answered, which are so many answers more."""
        given = _said(blocks, answers, done, float(mirrored))
        filled = [np.where(*one) for one in zip(left_open, imagined, given, strict=False)]
        found = []
        for some, more in ((given, 0), (filled, count)):
            n = _Bets(blocks, [*some, *imagined[done:]], level, mirrored).answers_until(total, done)
            found += [] if n is None else [more + n - begun if n else more]
        return found

    right = settled([np.ones(len(f)) for f in blocks.prediction], goal - 1, mirrored=False)
    slope, at, mean = _line(blocks, answers, done)
    seen: list[int] = []
    if not np.isnan(at):
        guess = [np.clip(at + slope * (f - mean), 0, 1) for f in blocks.prediction]
        seen = [*settled(guess, goal - 1, mirrored=False), *settled(guess, blocks.size - goal, mirrored=True)]
    return Needed(min(right, default=None), min(seen, default=None))


# --- what was answered ------------------------------------------------------------------------------------


def _complete(blocks: Blocks, answers: Mapping[int, bool | None]) -> int:
    """How many blocks count: all before the last that has an answer, and that one where it is answered in full."""
    answered = [[row in answers for row in rows.tolist()] for rows in blocks.rows]
    last = max((b for b, block in enumerate(answered) if any(block)), default=-1)
    return last + all(answered[last]) if last >= 0 else 0


def _said(blocks: Blocks, answers: Mapping[int, bool | None], done: int, unsure: float) -> list[np.ndarray]:
    """Per complete block, 1 where the label is right, 0 where it is wrong, else `unsure`, as is what was left open."""
    value = {True: 1.0, False: 0.0, None: unsure}
    return [np.array([value[answers.get(row)] for row in rows.tolist()]) for rows in blocks.rows[:done]]


def _line(blocks: Blocks, answers: Mapping[int, bool | None], done: int) -> tuple[float, float, float]:
    """(slope, mean answer, mean score): the line through the decided answers."""
    said = np.concatenate([np.zeros(0), *_said(blocks, answers, done, np.nan)])
    decided = ~np.isnan(said)
    y, f = said[decided], np.concatenate([np.zeros(0), *blocks.prediction[:done]])[decided]
    n = len(y)
    if not n:
        return 1.0, float("nan"), float("nan")
    line = _Line.of(n, y.sum(), f.sum(), f @ f, f @ y, float(blocks.centre[0]))
    return float(line.slope), float(y.mean()), float(f.mean())


def _guess(blocks: Blocks, answers: Mapping[int, bool | None], done: int) -> float:
    """The share of right labels: the right ones, and the line's height over what is left and over the unsure."""
    if not blocks.size:
        return 0.0
    slope, at, mean = _line(blocks, answers, done)
    said = np.concatenate([np.zeros(0), *_said(blocks, answers, done, np.nan)])
    left, unsure = blocks.size - len(said), int(np.isnan(said).sum())
    rest = left * np.clip(at + slope * (blocks.centre[done] - mean), 0, 1) if left else 0.0
    return float((np.nansum(said) + (unsure * at if unsure else 0.0) + rest) / blocks.size)


# --- betting -----------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """Least squares of the answers on the score from the sums of n answers; the slope leans on 1, as one answer would.

    A slope of 1 takes the score at its word, 0 does not believe it: it stays between them. `rest` is the share of the
    answers' variance that it leaves.
    """

    slope: Any
    rest: Any

    @classmethod
    def of(cls, n: Any, y: Any, f: Any, ff: Any, fy: Any, mean: float) -> "_Line":
        n, worth = np.maximum(n, 1), mean * (1 - mean) + 1e-9
        ff, fy, yy = ff - f * f / n, fy - f * y / n, y - y * y / n
        slope = np.clip((fy + worth) / (ff + worth), 0, 1)
        return cls(slope, 1 - np.clip((2 * fy - slope * ff) * slope / (yy + PRIOR * worth), 0, 0.9))


class _Bets:
    """What somebody has who bets, block by block, that more than M of the population are right (mirrored: wrong).

    With M right in all, m = (M - right so far) / rows left, F = the mean score of the rows left, and any slope s and
    bet b fixed before the block, row g multiplies the capital by 1 + b w_g (y - m - s (f - F)). Given the past the
    rows of a block are independent, and the expected factors have the mean 1 + b sum_g w_g (mu_g - m - ...) / G = 1:
    by AM-GM their product is at most 1, however the strata differ, so the capital is a supermartingale (Ville 1939).
    Every factor falls with M (the bet is a constant, or a fraction of the largest admissible one): bisection is exact.
    """

    def __init__(self, blocks: Blocks, said: Sequence[np.ndarray], level: float, mirrored: bool = False) -> None:
        count = len(said)
        groups = len(blocks.rows[0]) if blocks.rows else 1

        def table(lists: Sequence[np.ndarray]) -> np.ndarray:
            return np.array([np.pad(x, (0, groups - len(x))) for x in lists[:count]]).reshape(count, groups)

        y, f, w = table(said), table(blocks.prediction), table(blocks.share)
        centre, (least, largest) = blocks.centre[:count], blocks.spread
        first = float(blocks.centre[0]) if blocks.size else 0.5
        if mirrored:
            y, f, centre, largest = np.where(w > 0, 1 - y, 0), np.where(w > 0, 1 - f, 0), 1 - centre, 1 - least
        self.log_reward = float(np.log(2 / (1 - level)))
        self.size, self.y, self.w = blocks.size, y, w
        asked = (w > 0).sum(1)
        self.asked, self.right = np.cumsum(asked), np.cumsum(y.sum(1))
        sums = (asked, y.sum(1), f.sum(1), (f * f).sum(1), (f * y).sum(1))
        n, right, f1, f2, fy = (np.cumsum(x) - x for x in sums)
        self.before, self.left = right, blocks.size - n
        mean = 1 - first if mirrored else first
        slope, rest = _Line.of(n, right, f1, f2, fy, mean)
        self.offset = slope[:, None] * (f - centre[:, None])
        self.top = slope * (largest - centre)
        # Kelly's bet if the end is where AHEAD answers at this rate would have it (Wilson 1927, z^2 = 2 log_reward)
        rate = (right + PRIOR * mean) / (n + PRIOR)
        z2 = 2 * self.log_reward / AHEAD * rest
        gap = rate - (rate + z2 / 2 - np.sqrt(z2 * (rate * (1 - rate) + z2 / 4))) / (1 + z2)
        self.bet = z2 / rest / gap
        self.most = np.where(n == 0, FIRST, MOST)

    def log_capital(self, total: int) -> np.ndarray:
        """After each block, if `total` of the population are right; infinite once more than these are."""
        m = np.clip((total - self.before) / self.left, 0, 1)
        largest = self.w.max(1, initial=0) * np.maximum(m + self.top, 0)
        bet = (np.minimum(self.bet * largest, self.most) / np.maximum(largest, 1e-300))[:, None] * self.w
        p = m[:, None] + self.offset
        factors = self.y * np.log1p(bet * (1 - p)) + (1 - self.y) * np.log1p(-bet * p)
        return np.where(self.right <= total, factors.sum(1).cumsum(), np.inf)

    def least(self) -> int:
        """The smallest number of right ones that the bets have not refuted at any look."""
        if not len(self.y):
            return 0
        low, high = round(self.right[-1]), self.size - self.asked[-1] + round(self.right[-1])
        while low < high:
            middle = (low + high) // 2
            refuted = self.log_capital(middle).max() >= self.log_reward
            low, high = (middle + 1, high) if refuted else (low, middle)
        return int(low)

    def answers_until(self, total: int, done: int) -> int | None:
        """How many answers after `done` blocks refute that no more than `total` are right, for all they can be."""
        given = self.asked[done - 1] if done else 0
        refuted = self.log_capital(total) >= self.log_reward
        return max(0, int(self.asked[refuted.argmax()] - given)) if refuted.any() else None
