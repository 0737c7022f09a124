"""Which examples a person is asked about, and in which order."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from smallloss.auditing.page import cost
from smallloss.auditing.rounds import State
from smallloss.auditing.run import Audited
from smallloss.auditing.written import AGAIN, RANDOM
from smallloss.errors import InputError
from smallloss.noise.accuracy import held_out_questions
from smallloss.noise.answers import SUSPICIOUS, UNSURE, most_suspicious
from smallloss.noise.blocks import GROUPS, answers_needed
from smallloss.noise.rates import KEPT, OTHERS
from smallloss.record.examples import HELD_OUT
from smallloss.words import counted

LEAST, MOST = 40, 400  # kept ones to ask about, where nobody says how many
TWICE = 0.05  # of the questions come a second time,
APART = 10  # and so many others at least lie between


class Asked(NamedTuple):
    """Rows with why each is asked, what the page proves by them, and how many of what there are, in words."""

    rows: list[tuple[int, str]]
    check: dict[str, Any] | None
    words: str


def at_random(
    run: Audited, state: State, answers: Mapping[int, int], promise: float, kept: int | None, dropped: int | None
) -> Asked:
    """The next questions of both streams, mixed, so that neither the order nor stopping early betrays anything."""
    blocks, said = state.blocks(KEPT), said_of_kept(run, state, answers)
    options: dict[str, Any] = {"level": state.level, "right_known": state.known, "known": state.known}
    needed = answers_needed(blocks, said, promise, **options)
    if kept is None:
        likely = MOST if needed.if_right is None else max(needed.if_right, needed.at_rate or 0)
        kept = min(max(2 * likely, LEAST), MOST)
    streams = [
        _next(state, KEPT, answers, kept),
        _next(state, OTHERS, answers, kept // 2 if dropped is None else dropped),
    ]
    if not sum(map(len, streams)):
        raise InputError(
            "There is nothing left to ask at random: all that were trained on have an answer, or none were asked for "
            "(--kept, --dropped)."
        )
    rng = np.random.default_rng([state.seed, state.round, *b"order"])
    rows = _mixed(streams[0], streams[1], rng)
    mine = {row: said[row] for block in blocks.rows for row in block.tolist() if row in said}
    check = {
        "blocks": blocks.to_dict(len(mine) + len(streams[0])), "answered": [list(pair) for pair in mine.items()],
        "promise": promise, "if_right": needed.if_right, **options,
    }  # fmt: skip
    asked = _some_twice(rows.tolist(), rng)
    words = (
        f"{len(streams[0]):,} kept and {len(streams[1]):,} other examples, {len(asked) - len(rows):,} of them twice."
    )
    return Asked(asked, check, f"{words} {cost(check, len(asked))}")


def of_suspicious(state: State, answers: Mapping[int, int], count: int) -> Asked:
    """The worst of what is not kept first, held out or not."""
    worst = most_suspicious(state.label_score, state.kept, count, answered=list(answers)).tolist()
    left = ", all that are left" if len(worst) < count else ""
    words = f"{counted(len(worst), 'question')} on what was not kept, the most suspicious first{left}."
    return Asked([(row, SUSPICIOUS) for row in worst], None, words)


def of_held_out(run: Audited, answers: Mapping[int, int], count: int, seed: int) -> Asked:
    """Held-out examples, to learn the accuracy of the classifier by true labels."""
    rows = np.setdiff1d(run.held_out, list(run.known))
    done = np.flatnonzero(np.isin(rows, list(answers)))
    asked = held_out_questions(run.examples.predicted[rows] == run.labels[rows], count, (seed,), done.tolist())
    if not len(asked):
        raise InputError("No held-out example is left to ask about: nothing was held out, or all have an answer.")
    words = f"{counted(len(asked), 'question')} on held-out examples, to learn the accuracy by true labels."
    return Asked([(row, HELD_OUT) for row in rows[asked].tolist()], None, words)


def said_of_kept(run: Audited, state: State, answers: Mapping[int, int]) -> dict[int, bool | None]:
    """Row of the kept that this round asks about -> is its label right? None where the person was unsure.

    An answer of before, such as an unsure one, would count all questions that come before it as left open.
    """
    asked = state.asks_of(KEPT)
    return {
        row: None if true == UNSURE else true == int(run.labels[row]) for row, true in answers.items() if asked[row]
    }


def _next(state: State, stream: int, answers: Mapping[int, int], count: int) -> np.ndarray:
    rows = [row for block in state.blocks(stream).rows for row in block.tolist() if row not in answers]
    return np.array(rows[:count], np.int64)


def _mixed(kept: np.ndarray, others: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Block by block of the kept ones, the others spread evenly among them."""
    turn = np.concatenate([np.arange(len(kept)), np.arange(len(others)) * len(kept) / max(len(others), 1)]) // GROUPS
    rows = np.concatenate([kept, others])
    return rows[np.lexsort((rng.random(len(rows)), turn))]


def _some_twice(rows: list[int], rng: np.random.Generator) -> list[tuple[int, str]]:
    """One of every 1 / TWICE questions comes again later: how often a person agrees with what they said."""
    asked = [(float(place), row, RANDOM) for place, row in enumerate(rows)]
    chunk = round(1 / TWICE)
    for start in range(0, len(rows) - APART, chunk):
        place = start + int(rng.integers(min(chunk, len(rows) - APART - start)))
        asked.append((place + APART * (1 + rng.random()) + 0.5, rows[place], AGAIN))
    return [(row, why) for _, row, why in sorted(asked)]
