"""What is asked: streams of questions, kept and not kept, whose order and scores are frozen before anybody looks.

A round begins with the table of the run, and another one whenever answers have chosen anew what is kept: what taught a
table never judges it. Round r is judged at the level .05 / 2^r.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from smallloss.auditing.run import Audited
from smallloss.files import read_npz, write_npz
from smallloss.noise.answers import UNSURE
from smallloss.noise.blocks import Blocks, draw_blocks
from smallloss.noise.rates import KEPT, OTHERS

STATE = "state.npz"
NEITHER, KNOWN = -1, 2  # beside KEPT and OTHERS: no draw speaks for the row; it is kept, since a person called it right
ERRS = 0.05


@dataclass(frozen=True, eq=False)
class State:
    """Where the audit of a run stands. [R, n]: one row of them for each round; [n]: as it is now."""

    score: np.ndarray  # [R, n], label scores, frozen
    stream: np.ndarray  # [R, n]
    seed: int  # of the order of the questions
    label_score: np.ndarray  # [n], low is suspicious, by all that was answered
    kept: np.ndarray  # [n]
    suspicion: np.ndarray  # [n], the label scores by which suspicious questions were last chosen
    apart: np.ndarray  # [n], which are as suspicious as one that was asked about for that
    asked: np.ndarray  # [n], which a page of this round asks about, drawn at random

    @property
    def round(self) -> int:
        return len(self.score) - 1

    def blocks(self, which: int) -> Blocks:
        """The questions of a stream of this round."""
        return _blocks(self, which)

    def asks_of(self, which: int) -> np.ndarray:
        """Which rows of a stream this round's pages ask about."""
        return np.asarray((self.stream[-1] == which) & self.asked)

    @property
    def level(self) -> float:
        """Of this round's interval."""
        return float(1 - ERRS / 2**self.round)

    @property
    def known(self) -> int:
        """How many of this round's kept ones were right by answers that came before it."""
        return int((self.stream[-1] == KNOWN).sum())

    def next_round(self, run: Audited, label_score: np.ndarray, kept: np.ndarray, answers: dict[int, int]) -> "State":
        """The table is another one. A round that nobody has looked at yet is forgotten."""
        frozen = np.flatnonzero(np.isin(self.stream[-1], (KEPT, OTHERS)))
        looked = any(row in answers for row in frozen.tolist() if self.stream[-1, row] == KEPT)
        past = slice(None, None if looked else -1)
        stream = _streams(run, kept, label_score, answers)
        return replace(
            self, score=np.vstack([self.score[past], label_score]), stream=np.vstack([self.stream[past], stream]),
            label_score=label_score, kept=kept, asked=np.zeros(len(kept), bool),
        )  # fmt: skip


def read_state(run: Audited, seed: int = 0) -> State:
    """As it was left; before anybody answered for this run, the table of the run."""
    if (run / STATE).is_file():
        any_of_them = {"asked": np.ones(len(run.labels), bool)}  # an audit that was begun before this was written
        saved = any_of_them | read_npz(run / STATE)
        return State(seed=int(saved.pop("seed")), **saved)
    stream = _streams(run, run.kept, run.label_score, run.known)
    score = run.label_score[None].astype(np.float64)
    nothing = np.zeros(len(run.labels), bool)
    return State(score, stream[None], seed, run.label_score, run.kept, run.label_score, nothing, nothing)


def write_state(run: Audited, state: State) -> None:
    write_npz(run / STATE, {name: np.asarray(value) for name, value in vars(state).items()})


@lru_cache(maxsize=4)
def _blocks(state: State, which: int) -> Blocks:
    rows = np.flatnonzero(state.stream[-1] == which)
    return draw_blocks(rows, state.score[-1, rows], seed=(state.seed, state.round, which))


def _streams(run: Audited, kept: np.ndarray, label_score: np.ndarray, answers: dict[int, int]) -> np.ndarray:
    """Of what was trained on and nobody has decided on yet: is it kept?"""
    stream = np.full(len(run.labels), NEITHER, np.int8)
    stream[run.trained_on] = np.where(kept[run.trained_on], KEPT, OTHERS)
    stream[np.isnan(label_score)] = NEITHER
    for row, true in answers.items():
        if stream[row] != NEITHER and true != UNSURE:
            stream[row] = KNOWN if stream[row] == KEPT and true == run.labels[row] else NEITHER
    return stream
