"""audit.html: the examples to look at, one by one, answered from the keyboard and saved without a server."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss import files
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import defuse
from smallloss.data.tabular import Rows
from smallloss.report.pictures import embedded, thumbnail
from smallloss.report.summary import shortened
from smallloss.report.templates import environment

COLUMNS = ("id", "index", "given_label", "predicted_label", "stratum", "answer", "true_label", "run")
SUSPICIOUS = "suspicious"  # the stratum of what was not drawn, but asked about because it looks wrong
LONGEST_SIDE = 384
VALUES_SHOWN = 64
WORDS_SHOWN = 1000  # characters of a text in the table

_TEMPLATE = "page.html.jinja"


@dataclass(frozen=True)
class Question:
    """One example to look at: a row of the table, and what the page shows of it."""

    id: str
    index: int
    given: int  # position among the classes
    predicted: str
    stratum: str
    picture: str | None = None  # as a data address
    row: Sequence[tuple[str, str]] = ()  # of a table: (column, cell)
    text: str = ""
    prose: bool = False  # the text is one to read, not a line of values

    @property
    def in_words(self) -> str:
        """What a table can show of it: its text or its row; of a picture, nothing."""
        shown = self.text if self.prose else ", ".join(f"{name} = {cell}" for name, cell in self.row)
        return shortened(shown, WORDS_SHOWN)


def write_audit_page(
    path: str | Path, questions: Sequence[Question], classes: Sequence[str], *, name: str, run: str
) -> Path:
    """The page; the same questions give the same bytes."""
    return files.write_text(path, audit_page(questions, classes, name=name, run=run))


def audit_page(questions: Sequence[Question], classes: Sequence[str], *, name: str, run: str) -> str:
    """The page as a text. What the run thinks of an example stays in the table: it would lead the one who answers.

    Only where labels are corrected, not measured, is its suggestion shown: of the most suspicious.
    """
    suspicious = any(one.stratum == SUSPICIOUS for one in questions)
    data = {
        "run": run,
        "columns": COLUMNS,
        "classes": classes,
        "cells": [defuse(text) for text in classes],  # as a spreadsheet may read them
        "questions": [_shown(one, classes) for one in questions],
    }
    template = environment(Path(__file__).parent).get_template(_TEMPLATE)
    return str(template.render(name=name, data=data, count=len(questions), suspicious=suspicious))


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


def _shown(one: Question, classes: Sequence[str]) -> dict[str, Any]:
    cells = [defuse(one.id), str(one.index), defuse(classes[one.given]), defuse(one.predicted), one.stratum]
    seen = {name: getattr(one, name) for name in ("id", "given", "picture", "row", "text", "prose")}
    return seen | {"cells": cells, "suggested": _suggested(one, classes)}


def _suggested(one: Question, classes: Sequence[str]) -> int | None:
    """Of a suspicious one, what the run takes it for, where that is another class than its label."""
    suggested = one.stratum == SUSPICIOUS and one.predicted not in ("", classes[one.given])
    return list(classes).index(one.predicted) if suggested else None
