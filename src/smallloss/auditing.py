"""The audit of a run: a table and a page to fill in, and what the answers say. No torch."""

import csv
import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from smallloss import files
from smallloss.criterion import audit as by_hand
from smallloss.criterion import audit_intervals as proof
from smallloss.criterion.audit import Answers
from smallloss.criterion.data_verdict import DataVerdict
from smallloss.criterion.estimate import Estimate
from smallloss.criterion.known_verdict import KnownVerdict, judge_known
from smallloss.criterion.trust import judge
from smallloss.data.dataset import Dataset
from smallloss.data.npz import read_npz
from smallloss.data.table_files import as_cell, by_spelling, defuse, read_table
from smallloss.errors import InputError
from smallloss.finished import SELECTION, read_estimate, read_finished, require_same_data
from smallloss.report.audit_page import COLUMNS, Question, shown_inputs, write_audit_page
from smallloss.report.audit_result import AuditResult
from smallloss.words import quoted

FOLDER, TABLE, PAGE, RESULT = "audit", "audit.csv", "audit.html", "result.json"
CORRECTIONS, RATES = "corrections.csv", "rates.csv"  # what a later run takes
OUT_OF_SAMPLE = "out_of_sample.npz"  # what the verdict on an estimate needs besides estimate.json
_ANSWER = ("id", "index", "answer", "true_label")
_STRATA = ("dropped", "kept")


@dataclass(frozen=True, eq=False)
class Run:
    """The training part of a finished run, as the audit sees it; vectors have one entry per row of it."""

    folder: Path
    name: str
    key: str  # says in the answers which run they belong to
    fingerprint: str
    classes: np.ndarray
    class_index: np.ndarray
    rank_in_class: np.ndarray
    mask: np.ndarray
    index: np.ndarray  # rows of the dataset
    predicted: list[str | None]
    noise_rate: np.ndarray
    labels: np.ndarray  # of all rows of the dataset, not of the training part only
    ids: list[str]  # of all rows as well
    known: dict[int, int]  # row of the dataset -> its true class by hand, or NONE: the corrections it was made with
    transition: list[list[float]] | None  # T where it was given
    upper: list[float] | None  # of the rates, where they were given with them
    estimate: dict[str, Any] | None

    def __truediv__(self, name: str) -> Path:
        return self.folder / FOLDER / name

    def id(self, i: int) -> str:
        return self.ids[int(self.index[i])]

    def places(self, rows: Iterable[int]) -> list[int]:
        """Where in the training part rows of the dataset are, those that are in it."""
        return np.flatnonzero(np.isin(self.index, list(rows))).tolist()


def audit(
    run_folder: str | Path, *, kept: int = by_hand.KEPT, dropped: int = by_hand.DROPPED, seed: int = 0,
    dataset: Dataset | None = None,
) -> tuple[Path, Path]:  # fmt: skip
    """Write RUN/audit/audit.csv and audit.html: examples to look at, none of which has been answered before.

    Neither in an audit of this run, nor in the corrections it was made with.
    dataset: what the run was made from, to show pictures, texts or rows; without it, examples are shown by id.
    """
    run = read_run(run_folder)
    if dataset is not None:
        require_same_data(dataset, run.ids, run.classes[run.labels].tolist(), run.fingerprint, run.folder)
    _refuse_unread(run)
    answered = run.places([*run.known, *(row["index"] for row in _earlier(run))])
    sample = by_hand.draw(run, kept=kept, dropped=dropped, seed=seed, answered=answered)
    questions = [_question(run, i, dataset) for i in sample.index.tolist()]
    (run / "").mkdir(exist_ok=True)
    names = run.classes.tolist()
    rows = [[q.id, q.index, names[q.given], q.predicted, q.stratum, "", "", run.key] for q in questions]
    table = _write_csv(run / TABLE, COLUMNS, rows)
    return table, write_audit_page(run / PAGE, questions, names, name=run.name, run=run.key)


def read_back(run_folder: str | Path, answers_csv: str | Path | None = None) -> AuditResult:
    """What the answers say, earlier ones of this run included, and the verdict with them in it.

    Written to RUN/audit: result.json, and corrections.csv and rates.csv for the next run.
    """
    run = read_run(run_folder)
    path = run / TABLE if answers_csv is None else Path(answers_csv)
    answers = _read_answers(run, path)
    rows = [_row(run, row, true) for row, true in zip(run.index[answers.index], answers.true, strict=True)]
    pins = run.known | {int(run.index[i]): true for i, true in by_hand.pins(answers).items()}
    found = run.estimate
    joint = None if found is None else np.asarray(found["prior"])[:, None] * np.asarray(found["transition"])
    pair = proof.uncertain_pair(answers, run, joint)
    result = AuditResult(
        run=run.key,
        classes=run.classes,
        answers=answers,
        rows=[dict(zip(_ANSWER, row, strict=True)) for row in rows],
        pins=pins,
        known=answers.known_counts(run.class_index),
        precision=proof.kept_precision(answers),
        noise_rate=proof.noise_rate(answers, run),
        rates=proof.corrected(answers, run, run.noise_rate, *_bounds(run)),
        more=proof.more_to_halve(answers, run),
        pair=None if pair is None else (run.classes[pair[0]], run.classes[pair[1]]),
        verdict=_verdict(run, answers),
    )
    (run / "").mkdir(exist_ok=True)
    files.write_json(run / RESULT, result.to_dict())
    _write_csv(run / CORRECTIONS, _ANSWER, [_correction(run, row, true) for row, true in pins.items()])
    upper = [None if np.isnan(rate) else rate for rate in result.rates.upper.tolist()]
    rates = zip(run.classes.tolist(), result.rates.noise_rate.tolist(), upper, strict=True)
    _write_csv(run / RATES, ("label", "noise_rate", "upper"), [list(row) for row in rates])
    return result


def answered(folder: Path) -> tuple[Run, dict[int, int]] | None:
    """A run and what was said of it: row of the dataset -> its true class by hand, or NONE. None: nobody was asked."""
    if not any((folder / FOLDER / name).is_file() for name in (TABLE, RESULT)):
        return None
    run = read_run(folder)
    _refuse_unread(run)
    names, pins = run.classes.tolist(), {}
    for row in _earlier(run):
        index = int(row["index"])
        if row["answer"] != "unsure":
            told = {"right": int(run.labels[index]), "none": by_hand.NONE}
            pins[index] = told[row["answer"]] if row["answer"] in told else names.index(row["true_label"])
    return run, pins


def _verdict(run: Run, answers: Answers) -> DataVerdict | KnownVerdict | None:
    """Of the estimate as the run left it, or of the noise that was given; None where an old run kept too little."""
    if run.estimate is None:
        return judge_known(run.transition, run.noise_rate, run, answers)
    if not (run.folder / OUT_OF_SAMPLE).is_file():
        return None
    kept = read_npz(run.folder / OUT_OF_SAMPLE)
    estimate = Estimate.from_saved(run.estimate | {"classes": run.classes.tolist()}, kept)
    return judge(estimate, run, kept["probabilities"], run.classes[run.class_index], audit=answers)


def _bounds(run: Run) -> tuple[Any, Any]:
    """Of the noise rates that the run used: their intervals where they were estimated, or given with upper ends."""
    if run.estimate is not None:
        return run.estimate["low"], run.estimate["high"]
    return (None, None) if run.upper is None else proof.bounds_of(run.noise_rate, np.array(run.upper))


def read_run(folder: str | Path) -> Run:
    """What an audit needs of a run folder; only the training part was selected from, so only it is audited."""
    folder = Path(folder)
    config, table = read_finished(folder)
    selected = read_npz(folder / SELECTION)
    table = table.filter(table.column("index").is_valid())  # what could not be read is no row of the dataset
    given = table.column("given_label").to_pylist()
    classes = np.array([as_cell(name) for name in selected["classes"].tolist()], dtype=object)
    position = {name: k for k, name in enumerate(classes.tolist())}
    labels = np.array([position[label] for label in given], np.int64)
    noise = config.get("noise", {})
    content = hashlib.sha256((folder / SELECTION).read_bytes() + config["data"]["fingerprint"].encode())
    return Run(
        folder=folder,
        name=config["data"]["name"],
        key=content.hexdigest()[:16],
        fingerprint=config["data"]["fingerprint"],
        classes=classes,
        class_index=labels[selected["index"]],
        rank_in_class=selected["rank_in_class"],
        mask=selected["selected"],
        index=selected["index"],
        predicted=table.column("predicted_label").take(selected["index"]).to_pylist(),
        noise_rate=selected["noise_rate"],
        labels=labels,
        ids=table.column("id").to_pylist(),
        known={int(row): int(true) for row, true in config.get("corrections", [])},
        transition=noise.get("transition"),
        upper=noise.get("upper"),
        estimate=read_estimate(folder),
    )


def _question(run: Run, i: int, dataset: Dataset | None) -> Question:
    return Question(
        id=run.id(i),
        index=int(run.index[i]),
        given=int(run.class_index[i]),
        predicted=run.predicted[i] or "",
        stratum=_STRATA[int(run.mask[i])],
        **({"text": run.id(i)} if dataset is None else shown_inputs(dataset, int(run.index[i]))),
    )


def _refuse_unread(run: Run) -> None:
    """Answers that somebody wrote into the table and that were not read back yet must be neither lost nor passed by."""
    if not (run / TABLE).is_file():
        return
    known = {str(row["index"]): (row["answer"], row["true_label"]) for row in _earlier(run)}
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


def _said(answer: str | None, true_label: str | None, spelled: dict[str, str]) -> tuple[str, str]:
    """An answer as `_earlier` has it; two empty texts where there is none."""
    label = true_label or ""
    return (answer or "").strip().lower(), spelled.get(label, label.strip())


def _earlier(run: Run) -> list[dict[str, Any]]:
    """The answers of this run that were read back before."""
    if not (run / RESULT).is_file():
        return []
    result = json.loads((run / RESULT).read_text(encoding="utf-8"))
    return result["answers"] if result.get("run") == run.key else []


def _read_answers(run: Run, path: Path) -> Answers:
    table = read_table(path)
    missing = [name for name in (*_ANSWER, "run") if name not in table.column_names]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}; fill in the table or the page that the audit wrote.")
    place = {str(index): i for i, index in enumerate(run.index.tolist())}
    spelled, ids = by_spelling(run.classes.tolist()), by_spelling(run.ids)
    found: dict[int, tuple[str, str, str]] = {}
    for number, row in enumerate(table.to_pylist(), start=1):
        what = f"Row {number} of {path.name}"
        i = _position(run, place, row | {"id": ids.get(row["id"] or "", row["id"])}, what)
        if i in found:
            raise InputError(f"{what} answers for {quoted(run.id(i))} a second time; keep one answer.")
        found[i] = (*_said(row["answer"], row["true_label"], spelled), what)
    for row in _earlier(run):  # only what is answered anew replaces what was said before
        i = place[str(row["index"])]
        if not any(found.get(i, ("", ""))[:2]):
            found[i] = (row["answer"], row["true_label"], "The earlier answer")
    where = [f"{what} ({quoted(run.id(i))})" for i, (_, _, what) in found.items()]
    answer, true_label = ([row[column] for row in found.values()] for column in (0, 1))
    answers = by_hand.read_answers(run, list(found), answer, true_label, where)
    known = {i: run.known[int(run.index[i])] for i in run.places(run.known) if i not in answers.index}
    return replace(answers, known=known)


def _position(run: Run, place: dict[str, int], row: dict[str, Any], what: str) -> int:
    """Where in the training part the example of a row is."""
    if row["run"] not in (None, run.key):
        raise InputError(f"{what} belongs to another run ({row['run']}, but this one is {run.key}): name that run.")
    i = place.get(row["index"] or "")
    if i is None or row["id"] != run.id(i):
        raise InputError(
            f"{what} has the id {row['id']!r} and the index {row['index']!r}, but no training example of "
            f"{run.folder} has both: keep them as the audit wrote them."
        )
    return i


def _row(run: Run, row: int, true: int) -> list[Any]:
    """An answer in words: id, index, answer, true label."""
    words = {by_hand.NONE: "none", by_hand.UNSURE: "unsure"}
    word = words.get(int(true), "right" if true == run.labels[row] else "wrong")
    return [run.ids[row], int(row), word, run.classes[true] if word == "wrong" else ""]


def _correction(run: Run, row: int, true: int) -> list[Any]:
    """An answer that holds whatever becomes of the label: what was right by the label it had is so by its class."""
    *said, _ = _row(run, row, true)
    return [*said, "" if true == by_hand.NONE else run.classes[true]]


def _write_csv(path: Path, header: Any, rows: list[list[Any]]) -> Path:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([defuse(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return files.write_text(path, text.getvalue())
