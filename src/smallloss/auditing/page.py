"""audit.html: the examples to look at, one by one, answered from the keyboard and saved without a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.auditing.written import AGAIN, RANDOM
from smallloss.data.columns import Rows
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import defuse
from smallloss.noise.answers import COLUMNS, SUSPICIOUS
from smallloss.record.examples import HELD_OUT
from smallloss.report.facts import shortened
from smallloss.report.script import SHARED, joined
from smallloss.report.sheets import embedded, thumbnail
from smallloss.report.templates import environment
from smallloss.words import counted

LONGEST_SIDE = 384
VALUES_SHOWN = 64
WORDS_SHOWN = 1000  # characters of a text in the table

_TEMPLATE = "page.html.jinja"
_MODULES = (  # each after those it imports
    "make", "interval", "csv", "answers", "example", "find", "proved", "server", "page",
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """One example to look at: a row of the table, and what the page shows of it."""

    id: str
    index: int
    given: int  # position among the classes
    predicted: int | None
    score: float | None  # the label score
    stratum: str  # RANDOM, AGAIN, SUSPICIOUS or HELD_OUT
    picture: str | None = None  # as a data address
    row: Sequence[tuple[str, str]] = ()  # of a table: (column, cell)
    text: str = ""
    prose: bool = False  # the text is one to read, not a line of values

    @property
    def in_words(self) -> str:
        """What a table can show of it: its text or its row; of a picture, nothing."""
        shown = self.text if self.prose else ", ".join(f"{name} = {cell}" for name, cell in self.row)
        return shortened(shown, WORDS_SHOWN)

    def cells(self, classes: Sequence[str]) -> tuple[str, int, str, str, str]:
        """The first of COLUMNS. The prediction is that of the suspicious only: no file betrays another."""
        seen = "" if self.predicted is None or self.stratum != SUSPICIOUS else classes[self.predicted]
        return self.id, self.index, classes[self.given], seen, self.stratum


def audit_page(
    questions: Sequence[Question], classes: Sequence[str], *, name: str, run: str, command: str, file: str,
    check: Mapping[str, Any] | None = None, served: bool = False,
) -> str:  # fmt: skip
    """The page as a text. What the run thinks of an example would lead the one who answers: it comes with the answer.

    Only where labels are corrected, not measured, is its suggestion shown: of the most suspicious.
    command: what to run with the answers once they are saved as `file`.
    check: what the answers on kept labels prove is shown with it: `blocks` (`Blocks.to_dict`), `answered` (rows with
    True, False or None, from before), `level`, `promise`, `right_known`, `known`, and `if_right`, the answers that
    prove the promise if all are right. served: by `smallloss open`, which saves the answers.
    """
    from markupsafe import Markup

    kind = _kind(questions)
    data = {
        "run": run, "kind": kind, "file": file, "columns": COLUMNS, "classes": classes, "check": check,
        "served": served,
        "cells": [defuse(text) for text in classes],  # as a spreadsheet may read them
        "questions": [
            vars(one) | {"again": one.stratum == AGAIN, "cells": [defuse(str(cell)) for cell in one.cells(classes)]}
            for one in questions
        ],
    }  # fmt: skip
    folder = Path(__file__).parent
    intro = [_about(kind, len(questions)), *([] if check is None else [cost(check, len(questions))])]
    facts = {"name": name, "data": data, "intro": intro, "command": command, "served": served}
    return str(
        environment(folder).get_template(_TEMPLATE).render(script=Markup(joined((folder, SHARED), *_MODULES)), **facts)
    )


def shown_inputs(data: Dataset, index: int) -> dict[str, Any]:
    """What a person can judge an example by, whatever the network sees of it: its picture, its text or its row.

    Only of features that came as such there is nothing but their values to show.
    """
    picture = thumbnail(data, index, LONGEST_SIDE)
    if picture is not None:
        return {"picture": embedded(picture)}
    if isinstance(data.shown, Rows):
        return {"row": data.shown.cells(index)}
    if data.shown is not None:
        return {"text": data.shown[index], "prose": True}
    row = np.asarray(data.as_they_came[index])
    more = f" … and {len(row) - VALUES_SHOWN:,} more" if len(row) > VALUES_SHOWN else ""
    return {"text": "  ".join(f"{value:g}" for value in row[:VALUES_SHOWN].tolist()) + more}


def _kind(questions: Sequence[Question]) -> str:
    kinds = {RANDOM if one.stratum == AGAIN else one.stratum for one in questions}
    if len(kinds) != 1:
        raise ValueError(f"A page has one kind of questions, not {', '.join(sorted(kinds)) or 'none'}.")
    return kinds.pop()


def _about(kind: str, count: int) -> str:
    """What the questions are."""
    if kind == SUSPICIOUS:
        return (
            f"{counted(count, 'label')} that look wrong, the most suspicious first, with what the run suggests "
            "instead. It errs too: look before you take its word, and stop whenever you like."
        )
    drawn = "held-out examples, to learn how often the classifier is right," if kind == HELD_OUT else "examples"
    return (
        f"{count:,} {drawn} drawn at random. So as not to influence you, what the run thinks comes after your answer."
    )


def cost(check: Mapping[str, Any], count: int) -> str:
    """How many answers the promise costs at best."""
    needed, promised = check["if_right"], f"at least {100 * check['promise']:g} % of the kept labels are right"
    if needed is None:
        return f"Even if all kept labels that you look at are right, that does not prove that {promised}."
    if not needed:
        return f"The answers given before prove that {promised}; more make it narrower."
    answers = counted(needed, "more answer" if check["answered"] else "answer")
    prove = "proves" if needed == 1 else "prove"
    return (
        f"If all kept labels that you look at are right, {answers} on them {prove} that {promised} "
        f"(of {counted(count, 'question')} here)."
    )
