"""The audit of a run: a table and a page to fill in, and what the answers say. No torch."""

import csv
import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss import files
from smallloss.criterion import audit as by_hand
from smallloss.criterion.audit import Answers, Interval, Rates
from smallloss.criterion.verdict import quoted
from smallloss.data.dataset import Dataset
from smallloss.data.npz import read_npz
from smallloss.data.tables import defuse, read_table
from smallloss.errors import InputError
from smallloss.report.audit_page import COLUMNS, Question, shown_inputs, write_audit_page
from smallloss.run_folder import read_config

FOLDER, TABLE, PAGE, RESULT = "audit", "audit.csv", "audit.html", "result.json"
CORRECTIONS, RATES = "corrections.csv", "rates.csv"  # what a later run takes
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
    id: list[str]
    index: np.ndarray  # rows of the dataset
    predicted: list[str | None]
    noise_rate: np.ndarray
    labels: np.ndarray  # of all rows of the dataset, not of the training part only
    estimate: dict[str, Any] | None

    def __truediv__(self, name: str) -> Path:
        return self.folder / FOLDER / name


@dataclass(frozen=True, eq=False)
class AuditResult:
    """What the answers say of a run."""

    run: Run
    answers: Answers
    precision: Interval  # of the kept set, 95 %
    noise_rate: Interval  # of the whole dataset, 95 %
    rates: Rates  # per class, to select with next
    more: int  # answers that would halve the interval of the noise rate
    pair: tuple[str, str] | None  # of classes, from which they should come

    @property
    def pins(self) -> dict[int, int]:
        """Row of the dataset -> its true class by hand, or `audit.NONE`."""
        return {int(self.run.index[i]): true for i, true in by_hand.pins(self.answers).items()}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values; the answers too, so that later ones add to them."""
        names = self.run.classes.tolist()
        return {
            "run": self.run.key,
            "words": str(self).splitlines(),
            "kept_precision": _plain(self.precision),
            "noise_rate": _plain(self.noise_rate),
            "classes": names,
            "rates": {name: getattr(self.rates, name).tolist() for name in ("noise_rate", "low", "high")},
            "source": list(self.rates.source),
            "more_to_halve": self.more,
            "pair": None if self.pair is None else list(self.pair),
            "answers": [
                dict(zip(("id", "index", "answer", "true_label"), row, strict=True))
                for row in _rows(self.run, self.answers)
            ],
        }

    def __str__(self) -> str:
        wrong, answered = self.answers.counts()
        unsure = int((~self.answers.decided).sum())
        lines = [f"Answered: {answered[0]} kept, {answered[1]} dropped; {unsure} unsure, {self.answers.empty} open."]
        if answered[0]:
            p = self.precision
            lines.append(
                f"Kept labels: {answered[0] - wrong[0]} of {answered[0]} right; of all the kept, "
                f"{p.low:.1%} to {p.high:.1%} are (95 %)."
            )
        n = self.noise_rate
        lines.append(f"Wrong labels in the whole dataset: about {n.value:.1%} ({n.low:.1%} to {n.high:.1%}, 95 %).")
        moved = [k for k, source in enumerate(self.rates.source) if source != "as before"]
        if not moved:
            lines.append("The answers agree with the noise rates that the run used; they stay as they were.")
        elif any(source == "shifted with all" for source in self.rates.source):
            lines.append("The answers do not agree with the noise rates that the run used; all are shifted together.")
        lines += [
            f"Label {quoted(str(self.run.classes[k]))}: {self.rates.noise_rate[k]:.1%} wrong "
            f"({self.rates.low[k]:.1%} to {self.rates.high[k]:.1%}, 90 %), from its own answers."
            for k in moved
            if self.rates.source[k] == "its own answers"
        ]
        where = "" if self.pair is None else f", best of {quoted(self.pair[0])} and {quoted(self.pair[1])}"
        lines.append(f"About {self.more} more answers would halve the interval{where}.")
        return "\n".join(lines)


def audit(
    run_folder: str | Path, *, kept: int = by_hand.KEPT, dropped: int = by_hand.DROPPED, seed: int = 0,
    dataset: Dataset | None = None,
) -> tuple[Path, Path]:  # fmt: skip
    """Write RUN/audit/audit.csv and audit.html: examples to look at, none of which has been answered before.

    dataset: what the run was made from, to show pictures or values; without it, examples are shown by id.
    """
    run = read_run(run_folder)
    if dataset is not None:
        _refuse_other_data(dataset, run)
    _refuse_to_overwrite(run)
    earlier = [row["index"] for row in _earlier(run)]
    sample = by_hand.draw(
        run, kept=kept, dropped=dropped, seed=seed, answered=np.flatnonzero(np.isin(run.index, earlier)).tolist()
    )
    questions = [_question(run, i, dataset) for i in sample.index.tolist()]
    (run / "").mkdir(exist_ok=True)
    names = run.classes.tolist()
    rows = [[q.id, q.index, names[q.given], q.predicted, q.stratum, "", "", run.key] for q in questions]
    table = _write_csv(run / TABLE, COLUMNS, rows)
    return table, write_audit_page(run / PAGE, questions, names, name=run.name, run=run.key)


def read_back(run_folder: str | Path, answers_csv: str | Path | None = None) -> AuditResult:
    """What the answers say, earlier ones of this run included; written to RUN/audit/result.json, corrections.csv."""
    run = read_run(run_folder)
    path = run / TABLE if answers_csv is None else Path(answers_csv)
    answers = _read_answers(run, path)
    joint = None
    low = high = None
    if run.estimate is not None:
        joint = np.asarray(run.estimate["prior"])[:, None] * np.asarray(run.estimate["transition"])
        low, high = run.estimate["low"], run.estimate["high"]
    pair = by_hand.uncertain_pair(answers, run, joint)
    names = [str(name) for name in run.classes.tolist()]
    result = AuditResult(
        run=run,
        answers=answers,
        precision=by_hand.kept_precision(answers),
        noise_rate=by_hand.noise_rate(answers, run),
        rates=by_hand.corrected(answers, run, run.noise_rate, low, high),
        more=by_hand.more_to_halve(answers, run),
        pair=None if pair is None else (names[pair[0]], names[pair[1]]),
    )
    (run / "").mkdir(exist_ok=True)
    files.write_json(run / RESULT, result.to_dict())
    decided = [row for row in _rows(run, answers) if row[2] != "unsure"]
    _write_csv(run / CORRECTIONS, ("id", "index", "answer", "true_label"), decided)
    rates = zip(run.classes.tolist(), result.rates.noise_rate.tolist(), strict=True)
    _write_csv(run / RATES, ("label", "noise_rate"), [list(row) for row in rates])
    return result


def read_run(folder: str | Path) -> Run:
    """What an audit needs of a run folder; only the training part was selected from, so only it is audited."""
    folder = Path(folder)
    config = read_config(folder)
    for name in ("examples.parquet", "selection.npz"):
        if not (folder / name).is_file():
            raise InputError(f"{folder} has no {name}: the run did not finish; the command that began it goes on.")
    selected = read_npz(folder / "selection.npz")
    table = read_table(folder / "examples.parquet")
    given = table.column("given_label").to_pylist()
    table = table.take(selected["index"])
    classes = np.array([_text(name) for name in selected["classes"].tolist()], dtype=object)
    position = {name: k for k, name in enumerate(classes.tolist())}
    labels = np.array([position[label] for label in given], np.int64)
    estimate = folder / "estimate.json"
    content = hashlib.sha256((folder / "selection.npz").read_bytes() + config["data"]["fingerprint"].encode())
    return Run(
        folder=folder,
        name=config["data"]["name"],
        key=content.hexdigest()[:16],
        fingerprint=config["data"]["fingerprint"],
        classes=classes,
        class_index=labels[selected["index"]],
        rank_in_class=selected["rank_in_class"],
        mask=selected["selected"],
        id=table.column("id").to_pylist(),
        index=selected["index"],
        predicted=table.column("predicted_label").to_pylist(),
        noise_rate=selected["noise_rate"],
        labels=labels,
        estimate=json.loads(estimate.read_text(encoding="utf-8")) if estimate.is_file() else None,
    )


def _refuse_other_data(dataset: Dataset, run: Run) -> None:
    """The labels are taken from the run: those of a benchmark were corrupted after it was loaded."""
    if len(dataset) != len(run.labels) or dataset.with_labels(run.labels).fingerprint() != run.fingerprint:
        raise InputError(f"{dataset.name} is not the data that {run.folder} was made from; give that to show it.")


def _question(run: Run, i: int, dataset: Dataset | None) -> Question:
    return Question(
        id=run.id[i],
        index=int(run.index[i]),
        given=int(run.class_index[i]),
        predicted=run.predicted[i] or "",
        stratum=_STRATA[int(run.mask[i])],
        **({"text": run.id[i]} if dataset is None else shown_inputs(dataset, int(run.index[i]))),
    )


def _refuse_to_overwrite(run: Run) -> None:
    """Answers that somebody wrote into the table and that were not read back yet."""
    if not (run / TABLE).is_file():
        return
    known = {str(row["index"]) for row in _earlier(run)}
    rows = read_table(run / TABLE).to_pylist()
    if any((row.get("answer") or "").strip() and row.get("index") not in known for row in rows):
        raise InputError(f"{run / TABLE} holds answers that were not read back; do that first, or move the file away.")


def _earlier(run: Run) -> list[dict[str, Any]]:
    """The answers of this run that were read back before."""
    if not (run / RESULT).is_file():
        return []
    result = json.loads((run / RESULT).read_text(encoding="utf-8"))
    return result["answers"] if result.get("run") == run.key else []


def _read_answers(run: Run, path: Path) -> Answers:
    table = read_table(path)
    missing = [name for name in ("id", "index", "answer", "true_label", "run") if name not in table.column_names]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}; fill in the table or the page that the audit wrote.")
    place = {str(index): i for i, index in enumerate(run.index.tolist())}
    spelled = {spelling: name for name in run.classes.tolist() for spelling in (defuse(name), name)}
    found: dict[int, tuple[str | None, str | None, str]] = {}
    for number, row in enumerate(table.to_pylist(), start=1):
        what = f"Row {number} of {path.name}"
        i = _position(run, place, row, what)
        if i in found:
            raise InputError(f"{what} answers for {quoted(run.id[i])} a second time; keep one of the two.")
        found[i] = (row["answer"], spelled.get(row["true_label"] or "", row["true_label"]), what)
    for row in _earlier(run):  # what is answered anew replaces what was said before
        found.setdefault(place[str(row["index"])], (row["answer"], row["true_label"], "The earlier answer"))
    where = [f"{what} ({quoted(run.id[i])})" for i, (_, _, what) in found.items()]
    answer, true_label = ([row[column] for row in found.values()] for column in (0, 1))
    return by_hand.read_answers(run, list(found), answer, true_label, where)


def _position(run: Run, place: dict[str, int], row: dict[str, Any], what: str) -> int:
    """Where in the training part the example of a row is."""
    if row["run"] not in (None, run.key):
        raise InputError(f"{what} belongs to another run ({row['run']}; this one is {run.key}): name that one.")
    i = place.get(row["index"] or "")
    if i is None or row["id"] not in (run.id[i], defuse(run.id[i])):
        raise InputError(
            f"{what} has the id {row['id']!r} and the index {row['index']!r}, which no training example of "
            f"{run.folder} has together: keep both as the audit wrote them."
        )
    return i


def _rows(run: Run, answers: Answers) -> list[list[Any]]:
    words = {by_hand.NONE: "none", by_hand.UNSURE: "unsure"}
    rows = []
    for i, label, true in zip(answers.index.tolist(), answers.label.tolist(), answers.true.tolist(), strict=True):
        word = words.get(true, "right" if true == label else "wrong")
        rows.append([run.id[i], int(run.index[i]), word, run.classes[true] if word == "wrong" else ""])
    return rows


def _write_csv(path: Path, header: Any, rows: list[list[Any]]) -> Path:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([defuse(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return files.write_text(path, text.getvalue())


def _plain(interval: Interval) -> dict[str, float | None]:
    return {name: value if np.isfinite(value) else None for name, value in interval._asdict().items()}


def _text(name: str) -> str:
    """As the examples table spells it: a file name need not be valid Unicode, a table cell must be."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
