"""Answers by hand as a person wrote them, and as a run keeps them. No torch."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.auditing.page import SUSPICIOUS
from smallloss.auditing.run import RESULT, TABLE, Run
from smallloss.data.table_files import by_spelling, read_table
from smallloss.errors import InputError
from smallloss.noise import answers as by_hand
from smallloss.noise.answers import Answers
from smallloss.words import quoted

ANSWER = ("id", "index", "answer", "true_label")


@dataclass(frozen=True, eq=False)
class Heard:
    """All answers of a run, by row of the dataset, which of them are on the most suspicious, and those that are a
    sample, by place in the training part."""

    answers: Answers
    suspicious: np.ndarray
    sample: Answers


def read_answers(run: Run, path: Path) -> Heard:
    """The answers in a file, and those read back before; only what is answered anew replaces one of these."""
    table = read_table(path)
    missing = [name for name in (*ANSWER, "stratum", "run") if name not in table.column_names]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}; fill in the table or the page that the audit wrote.")
    spelled, ids = by_spelling(run.classes.tolist()), by_spelling(run.ids)
    before = {int(row["index"]): row for row in earlier(run)}
    found: dict[int, tuple[str, str, str]] = {}
    suspicious = {i for i, row in before.items() if row.get(SUSPICIOUS)}
    for number, row in enumerate(table.to_pylist(), start=1):
        if not any(row.values()):  # a spreadsheet may leave some at the end
            continue
        what = f"Row {number} of {path.name}"
        i = _position(run, row | {"id": ids.get(row["id"] or "", row["id"])}, what)
        if i in found:
            raise InputError(f"{what} answers for {quoted(run.ids[i])} a second time; keep one answer.")
        found[i] = (*_said(row["answer"], row["true_label"], spelled), what)
        if row["stratum"] == SUSPICIOUS and i not in before:  # what was drawn once stays drawn
            suspicious.add(i)
    for i, row in before.items():
        if not any(found.get(i, ("", ""))[:2]):
            found[i] = (row["answer"], row["true_label"], "The earlier answer")
    where = [f"{what} ({quoted(run.ids[i])})" for i, (_, _, what) in found.items()]
    answer, true_label = ([row[column] for row in found.values()] for column in (0, 1))
    answers = by_hand.read_answers(run.all_rows, list(found), answer, true_label, where)
    asked = np.isin(answers.index, list(suspicious))
    return Heard(answers, asked, _sample(run, answers, asked))


def _sample(run: Run, answers: Answers, suspicious: np.ndarray) -> Answers:
    """The answers on the training part that are a sample of it, with what is known besides."""
    place = {row: i for i, row in enumerate(run.index.tolist())}
    trained = np.isin(answers.index, run.index)
    columns = {name: getattr(answers, name)[trained] for name in ("kept", "label", "true")}
    columns["index"] = np.array([place[row] for row in answers.index[trained].tolist()], np.int64)
    known = {place[row]: true for row, true in run.known.items() if row in place and row not in answers.index}
    here = replace(answers, known=known, **columns)
    return by_hand.sample_of(here, suspicious[trained], run, run.label_score[run.index])


def earlier(run: Run) -> list[dict[str, Any]]:
    """The answers of this run that were read back before."""
    if not (run / RESULT).is_file():
        return []
    result = json.loads((run / RESULT).read_text(encoding="utf-8"))
    return result["answers"] if result.get("run") == run.key else []


def refuse_unread(run: Run) -> None:
    """Answers that somebody wrote into the table and that were not read back yet must be neither lost nor passed by."""
    if not (run / TABLE).is_file():
        return
    known = {str(row["index"]): (row["answer"], row["true_label"]) for row in earlier(run)}
    spelled = by_spelling(run.classes.tolist())
    for row in read_table(run / TABLE).to_pylist():
        said = _said(row.get("answer"), row.get("true_label"), spelled)
        if said[0] == "right" and said[1] == spelled.get(row.get("given_label") or ""):
            said = ("right", "")
        if any(said) and known.get(row.get("index")) != said and row.get("run") in (None, run.key):
            raise InputError(
                f"{run / TABLE} holds answers that were not read back; do that first "
                f"(smallloss audit {run.folder} --answers {run / TABLE}), or move the file away."
            )


def to_keep(run: Run, heard: Heard) -> list[dict[str, Any]]:
    """All answers by id and in words, so that later ones add to them."""
    rows = zip(heard.answers.index.tolist(), heard.answers.true, heard.suspicious.tolist(), strict=True)
    return [
        dict(zip(ANSWER, _row(run, row, true), strict=True)) | ({SUSPICIOUS: True} if suspicious else {})
        for row, true, suspicious in rows
    ]


def correction(run: Run, row: int, true: int) -> list[Any]:
    """An answer that holds whatever becomes of the label: what was right by the label it had is so by its class."""
    *said, _ = _row(run, row, true)
    return [*said, "" if true == by_hand.NONE else run.classes[true]]


def _row(run: Run, row: int, true: int) -> list[Any]:
    """An answer in words: id, index, answer, true label."""
    words = {by_hand.NONE: "none", by_hand.UNSURE: "unsure"}
    word = words.get(int(true), "right" if true == run.labels[row] else "wrong")
    return [run.ids[row], int(row), word, run.classes[true] if word == "wrong" else ""]


def _said(answer: str | None, true_label: str | None, spelled: dict[str, str]) -> tuple[str, str]:
    """An answer as `earlier` has it; two empty texts where there is none."""
    label = true_label or ""
    return (answer or "").strip().lower(), spelled.get(label, label.strip())


def _position(run: Run, row: dict[str, Any], what: str) -> int:
    """The row of the dataset that a row of answers is about."""
    if row["run"] not in (None, run.key):
        raise InputError(f"{what} belongs to another run ({row['run']}, but this one is {run.key}): name that run.")
    index = row["index"] or ""
    i = int(index) if index.isdecimal() and int(index) < len(run.ids) else None
    if i is None or row["id"] != run.ids[i]:
        raise InputError(
            f"{what} has the id {row['id']!r} and the index {row['index']!r}, but no example of {run.folder} has both: "
            "keep them as the audit wrote them."
        )
    return i
