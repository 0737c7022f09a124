"""Many simulated audits at once: the bets of smallloss.noise.blocks for a whole stack of draws, the same to the digit.

`same_as_the_package` holds the two against each other; every part of trust.py that simulates asks it first.
"""

from dataclasses import dataclass

import numpy as np

from smallloss.noise import blocks as package

GROUPS = package.GROUPS


@dataclass(frozen=True, eq=False)
class Draws:
    """R audits of one population: [R, T, G] rows asked, -1 where a stratum has run out."""

    rows: np.ndarray
    score: np.ndarray  # of the population
    share: np.ndarray  # [T, G], 0 where a stratum has run out

    @property
    def asked(self) -> np.ndarray:
        """[T], answers after each block."""
        return np.cumsum((self.share > 0).sum(1))

    def of(self, values: np.ndarray) -> np.ndarray:
        """[R, T, G], of the rows asked; 0 where nothing is."""
        return np.where(self.rows >= 0, values[self.rows], 0.0)


def draw(score: np.ndarray, audits: int, answers: int, rng: np.random.Generator, groups: int = GROUPS) -> Draws:
    """As `draw_blocks` does, for so many audits; as many blocks as so many answers fill."""
    n, groups = len(score), min(groups, len(score))
    ties = rng.random((audits, n))
    order = np.lexsort((ties, np.broadcast_to(score, ties.shape)), axis=-1)
    sizes = np.array([len(part) for part in np.array_split(np.arange(n), groups)])
    depth = min(-(-answers // groups), sizes[0])
    rows = np.full((audits, depth, groups), -1)
    for g, (stop, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
        picked = rng.random((audits, size)).argsort(axis=1)[:, :depth]
        rows[:, : picked.shape[1], g] = np.take_along_axis(order[:, stop - size : stop], picked, 1)
    left = np.maximum(sizes - np.arange(depth)[:, None], 0)
    share = (left > 0).sum(1, keepdims=True) * left / left.sum(1, keepdims=True)
    return Draws(rows, score, share)


class Bets:
    """`_Bets` of the package with a first axis of audits. right: [R, T, G], 1 or 0 as an answer counts at this end."""

    def __init__(self, draws: Draws, right: np.ndarray, level: float, *, mirrored: bool = False) -> None:
        score, w = draws.score, draws.share
        there = w > 0
        y, f, size = right, draws.of(score), len(score)
        asked = there.sum(1)
        n = np.cumsum(asked) - asked
        centre = (score.sum() - (np.cumsum(f.sum(2), axis=1) - f.sum(2))) / (size - n)
        least, largest = score.min(), score.max()
        if mirrored:
            y, f, centre, largest = np.where(there, 1 - y, 0), np.where(there, 1 - f, 0), 1 - centre, 1 - least
        self.log_reward = float(np.log(2 / (1 - level)))
        self.size, self.y, self.w = size, y, w
        self.asked, self.right = np.cumsum(asked), np.cumsum(y.sum(2), axis=1)
        sums = [np.cumsum(x, axis=1) - x for x in (y.sum(2), f.sum(2), (f * f).sum(2), (f * y).sum(2))]
        self.before, self.left = sums[0], size - n
        mean = float(score.mean())
        mean = 1 - mean if mirrored else mean
        slope, rest = package._Line.of(n, sums[0], sums[1], sums[2], sums[3], mean)
        self.offset = slope[:, :, None] * (f - centre[:, :, None])
        self.top = slope * (largest - centre)
        rate = (self.before + package.PRIOR * mean) / (n + package.PRIOR)
        z2 = 2 * self.log_reward / package.AHEAD * rest
        gap = rate - (rate + z2 / 2 - np.sqrt(z2 * (rate * (1 - rate) + z2 / 4))) / (1 + z2)
        self.bet = z2 / rest / gap
        self.most = np.where(n == 0, package.FIRST, package.MOST)

    def refuted(self, total: float | np.ndarray) -> np.ndarray:
        """[R, T]: by each look, have the bets refuted that no more than `total` of the population are right?"""
        total = np.asarray(total, float).reshape(-1, 1)
        m = np.clip((total - self.before) / self.left, 0, 1)
        largest = np.maximum(self.w.max(1) * (m + self.top), 0)
        bet = (np.minimum(self.bet * largest, self.most) / np.maximum(largest, 1e-300))[:, :, None] * self.w
        p = m[:, :, None] + self.offset
        factors = np.log1p(np.where(self.y > 0, bet * (1 - p), -bet * p))
        capital = np.where(self.right <= total, factors.sum(2).cumsum(1), np.inf)
        return np.maximum.accumulate(capital, axis=1) >= self.log_reward


def same_as_the_package(score: np.ndarray, right: np.ndarray, level: float) -> None:
    """The ends of one audit, by `anytime` and by these bets: an error where they are not the same."""
    blocks = package.draw_blocks(np.arange(len(score)), score, seed=(1, 2))
    depth = min(12, len(blocks.rows))
    groups = len(blocks.rows[0])
    pad = [np.pad(rows, (0, groups - len(rows)), constant_values=-1) for rows in blocks.rows[:depth]]
    share = [np.pad(w, (0, groups - len(w))) for w in blocks.share[:depth]]
    one = Draws(np.array(pad)[None], score, np.array(share))
    answers = {int(row): bool(right[row]) for rows in blocks.rows[:depth] for row in rows}
    found = package.anytime(blocks, answers, level=level)
    low, high = round(found.low * len(score)), round(found.high * len(score))
    proved, excluded = (Bets(one, one.of(right.astype(float)), level, mirrored=m) for m in (False, True))
    ends = [proved.refuted(total)[0, -1] for total in (low - 1, low)]
    ends += [excluded.refuted(len(score) - total)[0, -1] for total in (high + 1, high)]
    if ends != [True, False, True, False] and 0 < low < high < len(score):
        raise AssertionError(f"The simulated bets are not those of the package: {low}, {high}, {ends}.")
