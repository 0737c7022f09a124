"""The overall rate after answers: does its 90 % interval hold the truth after 60 answers at random, 200 suspicious too?

As an audit asks: of what was trained on, 40 kept and 20 of the others, a random one of each stratum of the label score.
"""

from collections.abc import Iterator

import numpy as np

from smallloss.noise.answers import NONE
from smallloss.noise.rates import rates_from
from trust_bets import draw
from trust_tools import Cell, Row

KEPT, OTHERS, SUSPICIOUS = 40, 20, 200
AUDITS = 134  # of each seed: 400 of a set


def measure(cell: Cell) -> Iterator[Row]:
    rows = cell.train
    kept, score = cell.now.kept[rows], cell.now.label_score[rows]
    rng = np.random.default_rng(cell.facts["seed"])
    drawn = [
        np.flatnonzero(stream)[draw(score[stream], AUDITS, count, rng).rows.reshape(AUDITS, -1)]
        for stream, count in ((kept, KEPT), (~kept, OTHERS))
        if stream.any()
    ]
    sampled = [np.unique(one) for one in np.concatenate(drawn, axis=1)]
    row = cell.named() | {"audits": AUDITS}
    for name, more in (("60", 0), ("60 + 200 suspicious", SUSPICIOUS)):
        found = [after(cell, rows, kept, score, one, more) for one in sampled]
        low, high = np.array(found).T
        truth = float(cell.wrong[rows].mean())
        row[name] = {
            "holds": float(((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean()),
            "width": float((high - low).mean()),
        }
    yield row


def after(
    cell: Cell, rows: np.ndarray, kept: np.ndarray, score: np.ndarray, sampled: np.ndarray, more: int
) -> tuple[float, float]:
    """The interval after these answers and so many of the most suspicious others."""
    wrong = cell.wrong[rows]
    stream = np.where(kept, 0, 1)
    rest = np.setdiff1d(np.flatnonzero(~kept), sampled)
    suspicious = rest[np.argsort(score[rest], kind="stable")[:more]]
    if len(suspicious):  # no draw speaks for what is as suspicious as these
        stream[~kept & (score <= score[suspicious].max())] = -1
    # All under one label: the interval of the overall rate is the same, and that of each label costs the most.
    answers = {int(at): NONE if wrong[at] else 0 for at in [*sampled, *suspicious]}
    one_label, rate = np.zeros(len(rows), np.int64), np.array([cell.found.overall[0]])
    found = rates_from(one_label, answers, sampled.tolist(), stream, rate)
    return found.overall.low, found.overall.high
