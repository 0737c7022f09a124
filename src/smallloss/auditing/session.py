"""The audit of a run: a table and a page of questions, and what the answers say. No torch."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from smallloss import files
from smallloss.auditing.page import Question, audit_page, shown_inputs
from smallloss.auditing.questions import Asked, at_random, of_held_out, of_suspicious, said_of_kept
from smallloss.auditing.result import AuditResult, next_run
from smallloss.auditing.rounds import KNOWN, State, read_state, write_state
from smallloss.auditing.run import CORRECTIONS, FOLDER, RATES, RESULT, Audited, read_run
from smallloss.auditing.taught import ranked_anew, rates_after, set_apart, what_it_teaches
from smallloss.auditing.written import (
    AGAIN,
    ANSWER,
    KINDS,
    RANDOM,
    Heard,
    correction,
    read_answers,
    read_before,
    refuse_unread,
    to_keep,
)
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import write_table
from smallloss.errors import InputError
from smallloss.noise.accuracy import TrueAccuracy, with_answers
from smallloss.noise.answers import COLUMNS, PROMISE, SUSPICIOUS, UNSURE, decided
from smallloss.noise.blocks import Needed, answers_needed, anytime
from smallloss.noise.rates import CONTRADICTED, KEPT
from smallloss.noise.verdict import Checked, Judgement, judge, require_promise
from smallloss.record.examples import HELD_OUT, Part
from smallloss.report.page import write_page


def audit(
    run_folder: str | Path, *, kept: int | None = None, dropped: int | None = None, suspicious: int | None = None,
    held_out: int | None = None, promise: float | None = None, seed: int = 0, dataset: Dataset | None = None,
) -> tuple[Path, Path]:  # fmt: skip
    """Write RUN/audit/audit.csv and audit.html: examples to look at, none of which has been answered before.

    Without a wish, kept and dropped examples are drawn at random: so many kept ones as are likely to settle whether the
    share `promise` of them is right, and half as many others. `seed` is that of their order, once for a run.
    suspicious: instead, so many of the most suspicious, the worst first, in suspicious.csv and .html.
    held_out: instead, so many held-out examples, to learn the accuracy by true labels, in held-out.csv and .html.
    dataset: what the run was made from, to show pictures, texts or rows; without it, examples are shown by id.
    """
    return ask(**locals())[:2]


class Written(NamedTuple):
    table: Path
    page: Path
    words: str  # how many are asked about, and what that may prove


def ask(
    run_folder: str | Path, *, kept: int | None = None, dropped: int | None = None, suspicious: int | None = None,
    held_out: int | None = None, promise: float | None = None, seed: int = 0, dataset: Dataset | None = None,
) -> Written:  # fmt: skip
    """What `audit` does, and what there is to say of it."""
    drawn = _draw(**locals())
    page = files.write_text(drawn.table.with_suffix(".html"), _page(drawn, f"{KINDS[drawn.kind]}-answers.csv"))
    return Written(drawn.table, page, drawn.asked.words)


def page_to_check(run_folder: str | Path, dataset: Dataset | None) -> str:
    """The questions at random, as a page that `smallloss open` serves: it saves the answers in the run folder."""
    drawn = _draw(run_folder, None, None, None, None, None, 0, dataset)
    return _page(drawn, str((drawn.run / f"{KINDS[RANDOM]}-answers.csv").absolute()), served=True)


class _Drawn(NamedTuple):
    run: Audited
    kind: str
    asked: Asked
    questions: list[Question]
    table: Path


def _draw(
    run_folder: str | Path, kept: int | None, dropped: int | None, suspicious: int | None, held_out: int | None,
    promise: float | None, seed: int, dataset: Dataset | None,
) -> _Drawn:  # fmt: skip
    """The next questions, noted as asked, and the table of them."""
    run = read_run(run_folder)
    promise = _promise(run, promise)
    _refuse_counts(kept, dropped, suspicious, held_out)
    if dataset is not None:
        run.require(dataset, run.folder)
    state = read_state(run, seed)
    answers = run.known | read_before(run).answers
    if suspicious is not None:
        kind, asked = SUSPICIOUS, of_suspicious(state, answers, suspicious)
        state = replace(state, suspicion=state.label_score)
    elif held_out is not None:
        kind, asked = HELD_OUT, of_held_out(run, answers, held_out, seed)
    else:
        kind, asked = RANDOM, at_random(run, state, answers, promise, kept, dropped)
        drawn = np.isin(np.arange(len(run.labels)), [row for row, _ in asked.rows])
        state = replace(state, asked=state.asked | drawn)
    refuse_unread(run, kind)
    (run / "").mkdir(exist_ok=True)
    write_state(run, state)
    questions = [_question(run, state, row, why, dataset) for row, why in asked.rows]
    lines = [
        (*one.cells(run.classes.tolist()), "", "", run.key, one.in_words) for one in questions if one.stratum != AGAIN
    ]
    return _Drawn(run, kind, asked, questions, _write_rows(run / f"{KINDS[kind]}.csv", (*COLUMNS, "example"), lines))


def _question(run: Audited, state: State, row: int, why: str, dataset: Dataset | None) -> Question:
    predicted, score = int(run.examples.predicted[row]), float(state.label_score[row])
    return Question(
        id=run.ids[row], index=row, given=int(run.labels[row]), predicted=None if predicted < 0 else predicted,
        score=None if np.isnan(score) else score, stratum=why,
        **({"text": run.ids[row]} if dataset is None else shown_inputs(dataset, row)),
    )  # fmt: skip


def _page(drawn: _Drawn, file: str, *, served: bool = False) -> str:
    run = drawn.run
    return audit_page(
        drawn.questions, run.classes.tolist(), name=run.name, run=run.key, file=file, check=drawn.asked.check,
        command=shlex.join(["smallloss", "audit", str(run.folder.absolute()), "--answers", file]), served=served,
    )  # fmt: skip


def _write_rows(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    return write_table(path, dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))


def read_back(
    run_folder: str | Path, answers_csv: str | Path | None = None, *, promise: float | None = None,
    dataset: Dataset | None = None,
) -> AuditResult:  # fmt: skip
    """What the answers say, earlier ones of this run included, and the verdict with them in it; and what they teach.

    Written anew: the table of the run, its page (where `dataset` is what the run was made from), and in RUN/audit
    result.json, and corrections.csv and rates.csv for the next run.
    """
    run = read_run(run_folder)
    promise = _promise(run, promise)
    if dataset is not None:
        run.require(dataset, run.folder)
    state = read_state(run)
    heard = read_answers(run, run / "audit.csv" if answers_csv is None else Path(answers_csv), state.asked)
    return _said(run, state, heard, promise, dataset)


def heard_again(run_folder: str | Path, dataset: Dataset) -> AuditResult | None:
    """What was answered for this very run before its table and its page were written anew; None where nothing was."""
    if not (Path(run_folder) / FOLDER / RESULT).is_file():
        return None
    run = read_run(run_folder)
    heard = read_before(run)
    return _said(run, read_state(run), heard, _promise(run, None), dataset) if heard.answers else None


def _said(run: Audited, state: State, heard: Heard, promise: float, dataset: Dataset | None) -> AuditResult:
    state = set_apart(state, heard)
    answers = run.known | decided(heard.answers)
    checked = proved(run, state, heard, promise)
    rates, taught = rates_after(run, state, heard), what_it_teaches(run, heard)
    parts = ranked_anew(run, taught.label_score, rates, answers, None)
    anew = state.next_round(run, taught.label_score, _kept(run, parts), answers)
    if checked is not None and _stands(state, anew, heard, checked, promise):
        verdict, void = (asked_about := judged(run, state, checked, promise)), 0
        parts = ranked_anew(run, taught.label_score, rates, answers, state.kept)
        state = replace(state, label_score=taught.label_score, kept=_kept(run, parts))
    else:
        asked_about = judged(run, state, checked and replace(checked, more=0), promise)
        verdict = judge(parts[0].selection, run.noise, promise=promise, learnt_from=len(answers))
        void, state = int((state.asked & ~np.isin(np.arange(len(state.asked)), list(heard.answers))).sum()), anew
    result = AuditResult(
        run=run.key, classes=run.classes, heard=heard, rows=to_keep(run, heard), pins=answers, rates=rates,
        asked_about=asked_about, verdict=verdict, accuracy=_accuracy(run, heard), taught=taught.words,
        left=sum(int((one.selection.is_label_issue & ~np.isin(one.index, list(answers))).sum()) for one in parts),
        corrected=sum(true >= 0 and true != int(run.labels[row]) for row, true in answers.items()),
        void=void, next_run=next_run(run, as_before=not rates.sampled, is_proved=verdict.tone == "green"),
    )  # fmt: skip
    (run / "").mkdir(exist_ok=True)
    files.write_json(run / RESULT, result.to_dict())
    _write_rows(run / CORRECTIONS, ANSWER, [correction(run, row, true) for row, true in answers.items()])
    columns = {"label": run.classes.tolist(), "noise_rate": rates.noise_rate, "upper": rates.upper}
    write_table(run / RATES, columns)
    write_state(run, state)
    _tell(run, result, parts, dataset)
    return result


def _tell(run: Audited, result: AuditResult, parts: Sequence[Part], dataset: Dataset | None) -> None:
    """What the answers changed is written where the run said it: its table, what is said of it, its page."""
    rates = {name: getattr(result.rates, name).tolist() for name in ("noise_rate", "low", "high")}
    has_ends = result.rates.sampled or run.estimate is not None
    told = replace(
        run, examples=run.examples.ranked(parts).answered(result.pins), verdict=result.verdict,
        noise_rate=result.rates.noise_rate, by_hand=result.in_short,
        rates=rates | {"overall": list(result.rates.overall or ())} if has_ends else None,
    )  # fmt: skip
    shipped = told.shipped.method if told.shipped else told.settings.get("method")
    for one in told.accuracies:
        if result.accuracy is not None:  # an estimate beside it would be compared with what is measured
            one.true = result.accuracy if one.method == shipped else None
        elif CONTRADICTED in result.rates.notes:  # it was estimated by these rates
            one.true = None
    told.write_again(run.folder)
    if dataset is not None:
        write_page(told.shown_with(dataset), run.folder / "report.html")


def answered(folder: Path) -> Audited:
    """A run with all that was said of its examples by hand, in the audit of it too."""
    run = read_run(folder)
    for kind in KINDS:
        refuse_unread(run, kind)
    return replace(run, examples=run.examples.answered(decided(read_before(run).answers)))


def proved(run: Audited, state: State, heard: Heard, promise: float) -> Checked | None:
    """What the answers of this round prove of what was kept when it began; None where they prove nothing."""
    blocks, known = state.blocks(KEPT), state.known
    said = _reached(blocks.rows, said_of_kept(run, state, heard.answers), heard)
    precision = anytime(blocks, said, level=state.level, right_known=known, known=known)
    if not said or (precision.low <= known / max(blocks.size + known, 1) and precision.high >= 1):
        return None
    of_class = np.bincount(run.labels[list(said)], minlength=len(run.classes))
    more = _needed(state, said, promise).at_rate or 0
    return Checked(precision, sum(right is True for right in said.values()), len(said), of_class, more)


def judged(run: Audited, state: State, checked: Checked | None, promise: float) -> Judgement:
    """The verdict on what was kept when this round began."""
    stream = state.stream[-1, run.trained_on]
    of_round = SimpleNamespace(
        classes=run.classes, class_index=run.labels[run.trained_on], mask=np.isin(stream, (KEPT, KNOWN))
    )
    return judge(of_round, run.noise, checked=checked, promise=promise)


def _stands(state: State, anew: State, heard: Heard, checked: Checked, promise: float) -> bool:
    """Does what is kept stay, so that answers teach the ranks of the others alone? Where it is proved, soon will be, or
    may be by questions that are still open; not once it is refuted.

    What was answered otherwise is known of the next round: this one would wait for it for ever.
    """
    unasked = (state.stream[-1] == KEPT) & ~state.asked
    if unasked[list(decided(heard.answers))].any():
        return False
    if not checked.precision.low < promise <= checked.precision.high:
        return checked.precision.low >= promise
    is_open = state.asks_of(KEPT)
    is_open[list(heard.answers)] = False
    return bool(is_open.any()) or 0 < checked.more <= (_needed(anew, {}, promise).if_right or 0)


def _reached(blocks: Sequence[np.ndarray], right: Mapping[int, bool | None], heard: Heard) -> dict[int, bool | None]:
    """The answers in the blocks that were asked about. One that was looked at for its looks says nothing of how far the
    questions have come, or all before it would count as left open."""
    drawn = [any(row in right and heard.why.get(row) != SUSPICIOUS for row in rows.tolist()) for rows in blocks]
    asked = blocks[: max((b for b, one in enumerate(drawn, start=1) if one), default=0)]
    return {row: right[row] for rows in asked for row in rows.tolist() if row in right}


def _needed(state: State, said: Mapping[int, bool | None], promise: float) -> Needed:
    known = state.known
    return answers_needed(state.blocks(KEPT), said, promise, level=state.level, right_known=known, known=known)


def _kept(run: Audited, parts: Sequence[Part]) -> np.ndarray:
    kept = np.zeros(len(run.labels), bool)
    for part in parts:
        kept[part.index] = part.selection.mask
    return kept


def _accuracy(run: Audited, heard: Heard) -> TrueAccuracy | None:
    """Of the classifier that the run left behind, by answers that neither chose nor taught it."""
    asked = heard.asked(HELD_OUT)
    if all(true == UNSURE for true in asked.values()):
        return None
    rows = np.setdiff1d(run.held_out, list(run.known))
    place = {row: at for at, row in enumerate(rows.tolist())}
    others = {place[row]: true for row, true in heard.answers.items() if row in place and row not in asked}
    answers = {place[row]: true for row, true in asked.items() if row in place}
    return with_answers(run.labels[rows], run.examples.predicted[rows], answers, others)


def _promise(run: Audited, promise: float | None) -> float:
    found = float(run.settings.get("promise") or PROMISE) if promise is None else promise
    require_promise(found)
    return found


def _refuse_counts(kept: int | None, dropped: int | None, suspicious: int | None, held_out: int | None) -> None:
    if sum(bool(wish) for wish in (kept or dropped, suspicious, held_out)) > 1:
        raise InputError("Questions at random, suspicious ones and held-out ones are asked apart: ask for one of them.")
    wishes = (("kept", kept, 0), ("dropped", dropped, 0), ("suspicious", suspicious, 1), ("held_out", held_out, 1))
    for name, count, least in wishes:
        if count is not None and count < least:
            raise InputError(f"{name} is a number of examples to ask about, {least} or more; it was {count}.")
