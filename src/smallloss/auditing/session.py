"""The audit of a run: a table and a page to fill in, and what the answers say. No torch."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from smallloss import files
from smallloss.auditing.page import COLUMNS, SUSPICIOUS, Question, shown_inputs, write_audit_page
from smallloss.auditing.result import AuditResult
from smallloss.auditing.run import FOLDER, PAGE, RESULT, TABLE, Run, read_run
from smallloss.auditing.written import ANSWER, correction, earlier, read_answers, refuse_unread, to_keep
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import defuse
from smallloss.finished import require_same_data
from smallloss.noise import answers as by_hand
from smallloss.noise import intervals as proof
from smallloss.noise.answers import Answers
from smallloss.noise.estimate import Estimate
from smallloss.noise.verdict import Checked, Judgement, judge

CORRECTIONS, RATES = "corrections.csv", "rates.csv"  # what a later run takes
_STRATA = ("dropped", "kept")


def audit(
    run_folder: str | Path, *, kept: int = by_hand.KEPT, dropped: int = by_hand.DROPPED, suspicious: int | None = None,
    seed: int = 0, dataset: Dataset | None = None,
) -> tuple[Path, Path]:  # fmt: skip
    """Write RUN/audit/audit.csv and audit.html: examples to look at, none of which has been answered before.

    Neither in an audit of this run, nor in the corrections it was made with.
    suspicious: ask about so many of the most suspicious, held out or not, the worst first, instead of a random sample
    of `kept` and `dropped` examples.
    dataset: what the run was made from, to show pictures, texts or rows; without it, examples are shown by id.
    """
    run = read_run(run_folder)
    if dataset is not None:
        require_same_data(dataset, run.ids, run.classes[run.labels].tolist(), run.fingerprint, run.folder)
    refuse_unread(run)
    answered = [*run.known, *(int(row["index"]) for row in earlier(run))]
    if suspicious is None:
        sample = by_hand.draw(run, kept=kept, dropped=dropped, seed=seed, answered=run.places(answered))
        asked = {int(run.index[i]): _STRATA[int(run.mask[i])] for i in sample.index}
    else:
        worst = by_hand.most_suspicious(run.label_score, run.kept, suspicious, answered=answered)
        asked = dict.fromkeys(worst.tolist(), SUSPICIOUS)
    questions = [_question(run, row, stratum, dataset) for row, stratum in asked.items()]
    (run / "").mkdir(exist_ok=True)
    names = run.classes.tolist()
    rows = [[q.id, q.index, names[q.given], q.predicted, q.stratum, "", "", run.key, q.in_words] for q in questions]
    table = _write_csv(run / TABLE, (*COLUMNS, "example"), rows)
    return table, write_audit_page(run / PAGE, questions, names, name=run.name, run=run.key)


def read_back(run_folder: str | Path, answers_csv: str | Path | None = None) -> AuditResult:
    """What the answers say, earlier ones of this run included, and the verdict with them in it.

    Written to RUN/audit: result.json, and corrections.csv and rates.csv for the next run.
    """
    run = read_run(run_folder)
    heard = read_answers(run, run / TABLE if answers_csv is None else Path(answers_csv))
    answers = heard.sample
    pins = run.known | by_hand.pins(heard.answers)
    found = run.estimate
    joint = None if found is None else np.asarray(found["prior"])[:, None] * np.asarray(found["transition"])
    pair = proof.uncertain_pair(answers, run, joint)
    result = AuditResult(
        run=run.key,
        classes=run.classes,
        answers=answers,
        rows=to_keep(run, heard),
        pins=pins,
        known=_beside(run, answers, pins),
        precision=proof.kept_precision(answers),
        noise_rate=proof.noise_rate(answers, run),
        rates=proof.corrected(answers, run, run.noise_rate, *_bounds(run)),
        more=proof.more_to_halve(answers, run),
        pair=None if pair is None else (run.classes[pair[0]], run.classes[pair[1]]),
        verdict=_verdict(run, answers),
    )
    (run / "").mkdir(exist_ok=True)
    files.write_json(run / RESULT, result.to_dict())
    _write_csv(run / CORRECTIONS, ANSWER, [correction(run, row, true) for row, true in pins.items()])
    upper = [None if np.isnan(rate) else rate for rate in result.rates.upper.tolist()]
    rates = zip(run.classes.tolist(), result.rates.noise_rate.tolist(), upper, strict=True)
    _write_csv(run / RATES, ("label", "noise_rate", "upper"), [list(row) for row in rates])
    return result


def answered(folder: Path) -> tuple[Run, dict[int, int]] | None:
    """A run and what was said of it: row of the dataset -> its true class by hand, or NONE. None: nobody was asked."""
    if not any((folder / FOLDER / name).is_file() for name in (TABLE, RESULT)):
        return None
    run = read_run(folder)
    refuse_unread(run)
    names, pins = run.classes.tolist(), {}
    for row in earlier(run):
        index = int(row["index"])
        if row["answer"] != "unsure":
            told = {"right": int(run.labels[index]), "none": by_hand.NONE}
            pins[index] = told[row["answer"]] if row["answer"] in told else names.index(row["true_label"])
    return run, pins


def _beside(run: Run, answers: Answers, pins: dict[int, int]) -> tuple[int, int]:
    """Wrong labels and all among what is known and no sample, held out or not."""
    sampled = set(run.index[answers.index].tolist())
    beside = [true != run.labels[row] for row, true in pins.items() if row not in sampled]
    return sum(beside), len(beside)


def _verdict(run: Run, answers: Answers) -> Judgement:
    """With the answers on kept examples in it."""
    wrong, answered = answers.counts()
    of_class = np.bincount(answers.label[answers.decided & answers.kept], minlength=len(run.classes))
    checked = Checked(proof.kept_precision(answers), int(answered[0] - wrong[0]), int(answered[0]), of_class)
    estimate = None if run.estimate is None else Estimate.from_saved(run.estimate | {"classes": run.classes.tolist()})
    return judge(run, estimate=estimate, transition=run.transition, checked=checked)


def _bounds(run: Run) -> tuple[Any, Any]:
    """Of the noise rates that the run used: their intervals where they were estimated, or given with upper ends."""
    if run.estimate is not None:
        return run.estimate["low"], run.estimate["high"]
    return (None, None) if run.upper is None else proof.bounds_of(run.noise_rate, np.array(run.upper))


def _question(run: Run, row: int, stratum: str, dataset: Dataset | None) -> Question:
    return Question(
        id=run.ids[row],
        index=row,
        given=int(run.labels[row]),
        predicted=run.predicted[row] or "",
        stratum=stratum,
        **({"text": run.ids[row]} if dataset is None else shown_inputs(dataset, row)),
    )


def _write_csv(path: Path, header: Any, rows: list[list[Any]]) -> Path:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([defuse(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return files.write_text(path, text.getvalue())
