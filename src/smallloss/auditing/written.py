"""Answers by hand as a person wrote them, and as a run keeps them. No torch."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.auditing.run import RESULT, Audited
from smallloss.data.table_files import read_table
from smallloss.errors import InputError
from smallloss.noise.answers import NONE, SUSPICIOUS, UNSURE, true_class
from smallloss.record.examples import HELD_OUT
from smallloss.words import listed, quoted

ANSWER = ("id", "index", "answer", "true_label")
# Why it is asked: drawn of what was trained on, one of these a second time, or looks wrong; or HELD_OUT.
RANDOM, AGAIN = "random", "again"
STRATA = RANDOM, AGAIN, SUSPICIOUS, HELD_OUT
KINDS = {RANDOM: "audit", SUSPICIOUS: "suspicious", HELD_OUT: "held-out"}  # each has a table and a page of its own


@dataclass(frozen=True)
class Heard:
    """All answers of a run, by row of the dataset: the true class, NONE or UNSURE; and why each was asked."""

    answers: dict[int, int]
    why: dict[int, str]
    again: dict[int, int]  # the second answers of those asked twice
    left_open: int
    late: int = 0  # of those just read, the questions at random of an earlier round: counted one by one

    def asked(self, why: str) -> dict[int, int]:
        return {row: true for row, true in self.answers.items() if self.why[row] == why}

    @property
    def agreed(self) -> tuple[int, int]:
        """Of the questions that came twice: how many were answered alike, and how many there were."""
        return sum(self.answers.get(row) == true for row, true in self.again.items()), len(self.again)


def read_answers(run: Audited, path: Path, asked: np.ndarray) -> Heard:
    """The answers in a file, and those read back before; only what is answered anew replaces one of these.

    asked: which rows this round asks about at random. Others were drawn of a table that has changed since.
    """
    table = read_table(path)
    missing = [name for name in (*ANSWER, "stratum", "run") if name not in table.column_names]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}; fill in the table or the page that the audit wrote.")
    before = read_before(run)
    answers, why, again = dict(before.answers), dict(before.why), dict(before.again)
    fresh: dict[tuple[int, bool], int] = {}
    left_open = late = 0
    for number, row in enumerate(table.to_pylist(), start=1):
        if not any(row.values()):  # a spreadsheet may leave some at the end
            continue
        what = f"Row {number} of {path.name}"
        i = _position(run, row, what)
        which = i, row["stratum"] == AGAIN
        if which in fresh:
            raise InputError(f"{what} answers for {quoted(run.ids[i])} a second time; keep one answer.")
        said = said_of(run, row)
        left_open += not any(said) and not which[1]
        if not any(said):
            continue
        fresh[which] = _true_class(run, i, *said, f"{what} ({quoted(run.ids[i])})")
        if not which[1] and i not in why:  # what was drawn once stays drawn
            is_late = row["stratum"] == RANDOM and not asked[i]
            why[i], late = "" if is_late else row["stratum"] or "", late + is_late
    if not fresh and not answers:
        raise InputError(f"None of the {left_open:,} examples has an answer yet: write right, wrong, none or unsure.")
    answers |= {i: true for (i, twice), true in fresh.items() if not twice}
    again |= {i: true for (i, twice), true in fresh.items() if twice}
    if all(true == UNSURE for true in answers.values()):
        raise InputError(f"Every answer ({len(answers):,}) is unsure, so nothing follows: check more examples.")
    return Heard(answers, why, again, left_open, late)


def read_before(run: Audited) -> Heard:
    """The answers of this run that were read back before. Those of an older version are counted one by one."""
    saved = json.loads((run / RESULT).read_text(encoding="utf-8")) if (run / RESULT).is_file() else {}
    rows = saved.get("answers", []) if saved.get("run") == run.key else []
    found = Heard({}, {}, {}, 0)
    for row in rows:
        i = int(row["index"])
        true = _true_class(run, i, row["answer"], row["true_label"], f"The earlier answer for {quoted(run.ids[i])}")
        if row.get("stratum") == AGAIN:
            found.again[i] = true
            continue
        found.answers[i] = true
        found.why[i] = row.get("stratum") or (SUSPICIOUS if row.get(SUSPICIOUS) else "")
    return found


def to_keep(run: Audited, heard: Heard) -> list[dict[str, Any]]:
    """All answers by id and in words, so that later ones add to them."""
    rows = [(row, true, heard.why[row]) for row, true in heard.answers.items()]
    rows += [(row, true, AGAIN) for row, true in heard.again.items()]
    return [dict(zip(ANSWER, in_words(run, row, true), strict=True)) | {"stratum": why} for row, true, why in rows]


def correction(run: Audited, row: int, true: int) -> list[Any]:
    """An answer that holds whatever becomes of the label: what was right by the label it had is so by its class."""
    *said, _ = in_words(run, row, true)
    return [*said, "" if true == NONE else run.classes[true]]


def in_words(run: Audited, row: int, true: int) -> list[Any]:
    """An answer in words: id, index, answer, true label."""
    word = {NONE: "none", UNSURE: "unsure"}.get(int(true), "right" if true == run.labels[row] else "wrong")
    return [run.ids[row], int(row), word, run.classes[true] if word == "wrong" else ""]


def refuse_unread(run: Audited, kind: str) -> None:
    """Answers that somebody wrote into the table and that were not read back yet must be neither lost nor passed by."""
    path = run / f"{KINDS[kind]}.csv"
    if not path.is_file():
        return
    before = read_before(run)
    for row in read_table(path).to_pylist():
        if row.get("run") not in (None, run.key) or not any(said := said_of(run, row)):
            continue
        i = _position(run, row, f"A row of {path}")
        if before.answers.get(i) != _true_class(run, i, *said, f"A row of {path}"):
            raise InputError(
                f"{path} holds answers that were not read back; do that first "
                f"(smallloss audit {run.folder} --answers {path}), or move the file away."
            )


def said_of(run: Audited, row: dict[str, Any]) -> tuple[str, str]:
    """An answer and a class as they were written; two empty texts where there is none."""
    label = row.get("true_label") or ""
    return (row.get("answer") or "").strip().lower(), run.spelled_classes.get(label, label.strip())


def _true_class(run: Audited, row: int, word: str, name: str, where: str) -> int:
    code = {str(name): k for k, name in enumerate(run.classes.tolist())}
    return true_class(word, name, int(run.labels[row]), code, where)


def _position(run: Audited, row: dict[str, Any], what: str) -> int:
    """The row of the dataset that a row of answers is about."""
    if row["run"] not in (None, run.key):
        raise InputError(f"{what} belongs to another run ({row['run']}, but this one is {run.key}): name that run.")
    index = row["index"] or ""
    i = int(index) if index.isdecimal() and int(index) < len(run.ids) else None
    if i is None or run.spelled_ids.get(row["id"] or "") != run.ids[i]:
        raise InputError(
            f"{what} has the id {row['id']!r} and the index {row['index']!r}, but no example of {run.folder} has both: "
            "keep them as the audit wrote them."
        )
    given, why, label = row.get("given_label"), row.get("stratum"), str(run.classes[run.labels[i]])
    if given and run.spelled_classes.get(given) != label:
        raise InputError(
            f"{what} has the given_label {given!r}, but {quoted(run.ids[i])} carries {quoted(label)}: keep it as the "
            "audit wrote it, and write a better label into true_label."
        )
    if why and why not in STRATA:
        raise InputError(
            f"{what} has the stratum {why!r}, which no audit writes: keep it as it was ({listed(STRATA)})."
        )
    return i
