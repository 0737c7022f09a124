"""The audit of a run made without training: what is asked, what answers prove, and what they change."""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smallloss as sl
from audited import CLASSES, RATE, N, answered, run_of, truths
from made import rows_of, write_rows
from smallloss.auditing import session
from smallloss.auditing.result import AuditResult
from smallloss.auditing.rounds import read_state
from smallloss.auditing.run import read_run
from smallloss.auditing.session import ask, audit, read_back
from smallloss.auditing.taught import rates_after
from smallloss.data.table_files import read_table
from smallloss.data.told import read_corrections, read_rates
from smallloss.errors import InputError
from smallloss.files import read_npz, write_npz
from smallloss.noise.accuracy import TrueAccuracy
from smallloss.noise.answers import NONE
from smallloss.noise.blocks import anytime
from smallloss.noise.rates import CONTRADICTED, KEPT
from smallloss.record.run import HELD_OUT, Accuracy, Run
from smallloss.report.facts import class_rows
from smallloss.run import verbs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_of(tmp_path / "run")
    return tmp_path / "run"


def asked_of(folder: Path, table: str = "audit.csv") -> list[int]:
    return [int(row["index"]) for row in rows_of(folder / "audit" / table)]


def columns_of(folder: Path) -> dict[str, np.ndarray]:
    table = read_table(folder / "examples.parquet")
    return {name: np.array(table.column(name).to_pylist()) for name in table.column_names}


def wrong_of(folder: Path) -> np.ndarray:
    """Which of what was trained on are wrong."""
    run = read_run(folder)
    return np.asarray((run.labels != truths())[run.trained_on])


def heard(folder: Path, which: Callable[[int], bool] = lambda place: True, **wish: Any) -> AuditResult:
    """An audit, and what it says once somebody who knows the truth has answered."""
    table = audit(folder, **wish)[0].name
    return read_back(folder, answered(folder, folder.parent / "answers.csv", table, which))


def test_an_audit_begun_before_pages_were_remembered_is_read(folder: Path, tmp_path: Path) -> None:
    run_of(tmp_path / "another")
    expected = heard(tmp_path / "another", kept=40, dropped=20)
    audit(folder, kept=40, dropped=20)
    saved = read_npz(folder / "audit" / "state.npz")
    del saved["asked"]
    write_npz(folder / "audit" / "state.npz", saved)
    found = read_back(folder, answered(folder, tmp_path / "answers.csv"))
    assert found.asked_about.precision == expected.asked_about.precision


def test_what_was_answered_for_a_run_is_said_again_when_it_is_made_again(tiny: Any, tmp_path: Path) -> None:
    """The same command once more leaves the table and the page as the audit left them."""
    how: dict[str, Any] = {"epochs": 2, "net": "mlp", "noise_rate": 0.2}
    assert sl.clean(tiny, tmp_path / "run", **how).answered is None
    table = audit(tmp_path / "run", suspicious=4)[0]
    rows = rows_of(table)
    for row in rows:
        row["answer"] = "right"
    read_back(tmp_path / "run", write_rows(tmp_path / "answers.csv", rows), dataset=tiny)
    before = {
        name: (tmp_path / "run" / name).read_bytes() for name in ("examples.parquet", "result.json", "report.html")
    }
    again = sl.clean(tiny, tmp_path / "run", **how)
    assert again.answered is not None
    assert {name: (tmp_path / "run" / name).read_bytes() for name in before} == before


# --- what is asked ------------------------------------------------------------------------------------------


def test_the_table_asks_blind_in_an_order_of_its_own(folder: Path) -> None:
    table, page = audit(folder, kept=40, dropped=20)
    rows, run = rows_of(table), read_run(folder)
    kept = run.kept[asked_of(folder)]
    assert len(rows) == 60
    assert kept.sum() == 40
    assert kept[:15].sum() == 10  # one other for two kept, wherever one stops
    assert not kept[:10].all()
    assert {row["answer"] + row["true_label"] + row["predicted_label"] for row in rows} == {""}
    assert {row["stratum"] for row in rows} == {"random"}
    assert all(row["id"] == f"'=pictures/{row['index']}.png" for row in rows)
    before = table.read_bytes(), page.read_bytes()
    again = audit(folder, kept=40, dropped=20, seed=7)  # the order was drawn once
    assert (again[0].read_bytes(), again[1].read_bytes()) == before
    run_of(folder.parent / "other")
    audit(folder.parent / "other", kept=40, dropped=20, seed=7)
    assert asked_of(folder.parent / "other") != asked_of(folder)


def test_what_the_promise_costs_is_said_and_asked_for(folder: Path) -> None:
    few, many = (ask(folder, promise=promise).words for promise in (0.8, 0.95))
    assert "25 answers on them prove that at least 80 % of the kept labels are right" in few
    assert "answers on them prove that at least 95 % of the kept labels are right" in many
    assert int(many.split(" kept")[0]) > int(few.split(" kept")[0]) >= 40
    with pytest.raises(InputError, match="The promise is 1"):
        ask(folder, promise=1)


def test_the_data_is_shown_where_it_is_given_and_another_is_refused(folder: Path, tmp_path: Path) -> None:
    data = run_of(tmp_path / "same")
    clean = data.with_labels(truths())  # as a benchmark is loaded, before its labels are corrupted
    page = audit(folder, kept=10, dropped=5, dataset=clean)[1].read_text(encoding="utf-8")
    assert page.count("data:image/png;base64") == 16  # one of them comes twice
    with pytest.raises(InputError, match=r"is not the data that .* was made from"):
        audit(folder, dataset=replace(data, inputs=data.inputs[::-1]))


def test_suspicious_and_held_out_questions_have_files_of_their_own(folder: Path, tmp_path: Path) -> None:
    random = audit(folder, kept=10, dropped=5)[0].read_bytes()
    run = read_run(folder)
    audit(folder, suspicious=10)
    audit(folder, held_out=10)
    assert (folder / "audit" / "audit.csv").read_bytes() == random
    worst, held_out = asked_of(folder, "suspicious.csv"), asked_of(folder, "held-out.csv")
    free = np.flatnonzero(~run.kept)
    assert run.label_score[worst].tolist() == sorted(run.label_score[free])[:10]
    assert {row["predicted_label"] for row in rows_of(folder / "audit" / "suspicious.csv")} != {""}
    assert {row["predicted_label"] for row in rows_of(folder / "audit" / "held-out.csv")} == {""}
    assert not np.isin(held_out, run.trained_on).any()
    read_back(folder, answered(folder, tmp_path / "first.csv", "suspicious.csv"))
    audit(folder, suspicious=1000)
    assert not set(worst) & set(asked_of(folder, "suspicious.csv"))
    with pytest.raises(InputError, match="are asked apart"):
        audit(folder, suspicious=3, held_out=3)
    for wish in ({"suspicious": 0}, {"held_out": -1}, {"kept": -1}, {"kept": 0, "dropped": 0}):
        with pytest.raises(InputError, match=r"or more; it was|nothing left to ask"):
            audit(folder, **wish)


# --- what was answered --------------------------------------------------------------------------------------


def test_what_is_proved_is_what_the_page_says_to_the_digit(folder: Path) -> None:
    result = heard(folder, lambda place: place < 60)
    run, state = read_run(folder), read_state(read_run(folder))
    assert state is not None
    said = {
        row: bool(run.labels[row] == truths()[row]) for row in asked_of(folder)[:60] if state.stream[0, row] == KEPT
    }
    assert result.asked_about.precision == anytime(state.blocks(KEPT), said, level=0.95)
    assert result.verdict is result.asked_about
    assert f"({len(said)} of {len(said)} looked at were)" in str(result)
    facts = json.loads((folder / "audit" / "result.json").read_text(encoding="utf-8"))
    assert facts["kept_precision"]["low"] == result.asked_about.precision.low
    assert facts["verdict"]["word"] == "checked"


def test_what_is_proved_stands_and_the_answers_teach_the_ranks_of_the_rest(folder: Path) -> None:
    before = columns_of(folder)
    result = heard(folder)
    after, wrong = columns_of(folder), truths() != read_run(folder).labels
    assert (result.verdict.word, result.verdict.tone) == ("checked", "green")
    assert (after["selected"] == before["selected"]).all()
    assert (after["label_score"] != before["label_score"]).any()
    by_hand = after["reason"] == "corrected by hand"
    answers = rows_of(folder.parent / "answers.csv")
    assert result.corrected == by_hand.sum() == sum(row["answer"] == "wrong" for row in answers) > 0
    assert (after["audited_label"][by_hand] == np.array(CLASSES)[truths()[by_hand]]).all()
    likely = after["reason"] == "likely wrong"
    assert likely.sum() == result.left
    assert wrong[likely].mean() > 0.9
    assert f"{result.corrected} labels corrected, {result.left} left that are likely wrong." in str(result)
    assert result.rates.overall.low <= wrong_of(folder).mean() <= result.rates.overall.high
    # a page written anew says the same
    rows = class_rows(Run.read(folder))
    assert [row.noise_rate for row in rows] == result.rates.noise_rate.tolist()
    assert all(row.interval is not None and row.interval[0] <= row.noise_rate <= row.interval[1] for row in rows)
    # the next run can read its rates, their upper ends too; a name that a spreadsheet would run has an apostrophe
    assert "'=dog" in (folder / "audit" / "rates.csv").read_text(encoding="utf-8")
    rates, upper = read_rates(folder / "audit" / "rates.csv", CLASSES)
    assert rates == dict(zip(CLASSES, result.rates.noise_rate.tolist(), strict=True))
    assert upper == pytest.approx(result.rates.upper.tolist())
    assert (np.array(upper) > list(rates.values())).all()


def test_what_is_refuted_is_chosen_anew_and_asked_about_anew(tmp_path: Path) -> None:
    """Scores that tell nothing: a fifth of the kept is wrong. What taught the new table does not judge it."""
    folder = tmp_path / "run"
    run_of(folder, blind=True)
    result, first = heard(folder), asked_of(folder)
    after, wrong = columns_of(folder), truths() != read_run(folder).labels
    assert result.asked_about.word == "do not trust"
    assert result.verdict.word == "unchecked"
    assert "What is kept was chosen anew by the answers. Unchecked:" in str(result)
    assert wrong[after["selected"]].mean() < 0.02 < wrong[read_run(folder).kept].mean()
    second = heard(folder)
    state = read_state(read_run(folder))
    assert state is not None
    assert state.level == 0.975
    assert not set(first) & set(asked_of(folder))
    assert second.verdict.tone == "green"
    assert second.verdict.precision is not None
    assert second.verdict.precision.low <= 1 - wrong[after["selected"]].mean()
    assert second.rates.overall.low <= wrong_of(folder).mean() <= second.rates.overall.high


def test_reading_back_early_costs_nothing(tmp_path: Path) -> None:
    """Scores that tell nothing would have it chosen anew; but there are open questions on the page."""
    folder = tmp_path / "run"
    run_of(tmp_path / "at once", blind=True)
    run_of(folder, blind=True)
    kept, right = columns_of(folder)["selected"], truths() == read_run(folder).labels
    audit(folder, kept=60, dropped=30)
    for most in (8, 20):
        early = read_back(folder, answered(folder, tmp_path / "a.csv", which=lambda place, most=most: place < most))
        assert early.verdict.tone == "amber"
        found_wrong = np.isin(np.arange(N), list(early.pins)) & ~right
        assert (columns_of(folder)["selected"] == (kept & ~found_wrong)).all()
        assert early.next_run.endswith(shlex.join(["smallloss", "audit", str(folder)]))
    late = read_back(folder, answered(folder, tmp_path / "a.csv"))
    once = heard(tmp_path / "at once", kept=60, dropped=30)
    assert late.asked_about == once.asked_about
    assert late.rates.overall == once.rates.overall
    assert late.verdict.headline == once.verdict.headline
    assert "more answers would settle it" not in str(late)  # it is chosen anew: these are no longer to be had


def test_answers_to_questions_of_a_table_that_has_changed_judge_nothing(folder: Path, tmp_path: Path) -> None:
    table = audit(folder, kept=60, dropped=30)[0]
    rows = rows_of(answered(folder, tmp_path / "late.csv", table.name))
    result = heard(folder, suspicious=40)
    assert re.search(r"[78]\d questions left open on the page would come too late now: ask anew\.", str(result))
    result = read_back(folder, write_rows(tmp_path / "late.csv", rows))
    assert "answers to questions drawn before the table changed: counted one by one, they judge nothing." in str(result)
    assert result.rates.sampled == 0
    assert result.verdict.word == "unchecked"
    fresh = heard(folder)  # and they do not stand in the way of those that judge
    assert fresh.verdict.tone == "green"
    assert fresh.rates.overall.low <= wrong_of(folder).mean() <= fresh.rates.overall.high


def test_what_one_was_unsure_of_does_not_make_the_next_round_wait(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_of(folder, blind=True)
    audit(folder)
    rows = rows_of(answered(folder, tmp_path / "a.csv"))
    for row in rows[::6]:
        row |= {"answer": "unsure", "true_label": ""}
    assert read_back(folder, write_rows(tmp_path / "a.csv", rows)).verdict.word == "unchecked"
    result = heard(folder, kept=100, dropped=0)
    assert result.verdict.precision is not None
    assert result.verdict.precision.low > 0.85


@pytest.mark.parametrize("blind", [True, False])
def test_the_same_answers_twice_say_the_same_twice(tmp_path: Path, blind: bool) -> None:
    folder = tmp_path / "run"
    run_of(folder, blind=blind)
    heard(folder)
    files = ("examples.parquet", "audit/corrections.csv", "audit/rates.csv")
    before = [(folder / file).read_bytes() for file in files]
    read_back(folder, tmp_path / "answers.csv")
    assert [(folder / file).read_bytes() for file in files] == before


def test_suspicious_answers_correct_and_teach_but_measure_nothing(folder: Path) -> None:
    result = heard(folder, suspicious=40)
    assert result.corrected > 30
    assert result.rates.sampled == 0
    assert "only answers at random can tell" in str(result)
    assert result.asked_about.word == "unchecked"
    result, state = heard(folder), read_state(read_run(folder))
    assert state is not None
    assert state.level == 0.95  # nobody had looked at what is kept
    assert result.rates.overall.low <= wrong_of(folder).mean() <= result.rates.overall.high


def test_a_few_answers_move_no_rate(folder: Path) -> None:
    """Fewer than the classes, or than 30: half a wrong one among two would double what is called likely wrong."""
    before = columns_of(folder)
    result = heard(folder, lambda place: place < 2)
    assert result.rates.noise_rate == pytest.approx(RATE, abs=0.01)
    assert "at least 30; 2 given so far" in str(result)
    assert (columns_of(folder)["selected"] != before["selected"]).mean() < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_in_whatever_order_kinds_are_asked_the_interval_of_the_rate_holds(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "run"
    run_of(folder, seed, blind=seed % 2 == 1)
    wishes: list[dict[str, Any]] = [{"kept": 40, "dropped": 20}, {"suspicious": 60}, {"kept": 20, "dropped": 20}]
    results = [heard(folder, **wish, seed=seed) for wish in (wishes, wishes[::-1])[seed // 2]]
    assert results[-1].rates.overall.low <= wrong_of(folder).mean() <= results[-1].rates.overall.high


def test_answers_on_held_out_examples_tell_the_accuracy_and_no_rate(folder: Path) -> None:
    run, guess = Run.read(folder), TrueAccuracy(0.9, 0.8, 1.0)
    for method in ("cross_entropy", "rsl"):
        run.accuracies.append(Accuracy(method, None, 0.7, 1.0, np.ones(3, bool), "mlp", true=guess, called=method))
    run.write_again(folder)
    result, run = heard(folder, held_out=60), read_run(folder)
    assert result.accuracy is not None
    assert result.accuracy.answered == len(result.heard.asked(HELD_OUT)) == 60
    assert result.accuracy.low <= (run.examples.predicted == truths())[run.held_out].mean() <= result.accuracy.high
    assert result.rates.sampled == 0
    assert "Accuracy of the classifier:" in str(result)
    # what is measured stands alone: an estimate for another method would be compared with it
    assert [one.true for one in Run.read(folder).accuracies] == [None, result.accuracy]


@pytest.mark.parametrize("notes", [(), (CONTRADICTED,)])
def test_an_accuracy_by_rates_that_answers_contradict_is_told_no_more(
    folder: Path, notes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, guess = Run.read(folder), TrueAccuracy(0.9, 0.8, 1.0)
    run.accuracies.append(Accuracy("rsl", None, 0.7, 1.0, np.ones(3, bool), "mlp", true=guess, called="rsl"))
    run.write_again(folder)
    monkeypatch.setattr(session, "rates_after", lambda *given: replace(rates_after(*given), notes=notes))
    heard(folder, kept=20, dropped=10)
    assert [one.true for one in Run.read(folder).accuracies] == [None if notes else guess]


def test_questions_that_came_twice_say_how_often_a_person_agrees(folder: Path, tmp_path: Path) -> None:
    audit(folder, kept=40, dropped=20)
    rows = rows_of(answered(folder, tmp_path / "a.csv"))
    same, other = rows[0] | {"stratum": "again"}, rows[1] | {"stratum": "again", "answer": "none", "true_label": ""}
    result = read_back(folder, write_rows(tmp_path / "a.csv", [*rows, same, other]))
    assert "You agreed with yourself in 1 of 2 questions that came twice." in str(result)
    assert len(result.pins) == 60
    assert result.pins[int(rows[1]["index"])] != NONE  # the first answer counts


def test_answers_add_up_and_an_open_row_takes_nothing_back(folder: Path, tmp_path: Path) -> None:
    audit(folder, kept=40, dropped=20)
    first = read_back(folder, answered(folder, tmp_path / "a.csv", which=lambda place: place < 30))
    second = rows_of(answered(folder, tmp_path / "b.csv", which=lambda place: place >= 40))
    second[0]["answer"], second[1]["answer"] = "none", "unsure"
    both = read_back(folder, write_rows(tmp_path / "b.csv", second))
    assert len(first.pins) == 30
    assert len(both.pins) == 49  # unsure withdraws one
    assert both.pins[int(second[0]["index"])] == NONE
    assert both.heard.left_open == 38


def test_what_was_left_open_is_asked_first(folder: Path, tmp_path: Path) -> None:
    audit(folder, kept=100, dropped=50)
    first = asked_of(folder)
    read_back(folder, answered(folder, tmp_path / "a.csv", which=lambda place: 10 <= place < 120))
    audit(folder, kept=40, dropped=20)
    assert set(first[:10] + first[120:]) <= set(asked_of(folder)[:45])


def test_what_the_corrections_say_is_not_asked_again_and_is_counted_exactly(tmp_path: Path) -> None:
    run_of(tmp_path / "run")
    first = read_run(tmp_path / "run")
    known = {int(row): int(truths()[row]) for row in first.trained_on[:200]}
    run_of(tmp_path / "again", known=known)
    audit(tmp_path / "again", kept=1000, dropped=1000)
    assert sorted(asked_of(tmp_path / "again")) == first.trained_on[200:].tolist()
    result = read_back(tmp_path / "again", answered(tmp_path / "again", tmp_path / "a.csv"))
    truth = wrong_of(tmp_path / "again").mean()
    assert result.rates.overall == pytest.approx([truth] * 3)
    assert result.verdict.precision == pytest.approx([1, 1, 1])
    data = run_of(tmp_path / "same")
    assert read_corrections(tmp_path / "again" / "audit" / "corrections.csv", data) == result.pins
    assert result.pins.keys() == set(first.trained_on.tolist())


def test_answers_in_the_table_itself_are_not_overwritten(folder: Path) -> None:
    table, _ = audit(folder, kept=10, dropped=5)
    rows = rows_of(answered(folder, table))
    with pytest.raises(InputError, match="holds answers that were not read back"):
        audit(folder)
    audit(folder, suspicious=5)  # another file
    read_back(folder)
    audit(folder, kept=10, dropped=5)
    rows[0] |= {"answer": "none", "true_label": ""}
    write_rows(table, rows)
    with pytest.raises(InputError, match="holds answers that were not read back"):
        audit(folder)


def test_a_run_of_an_older_version_is_read_back_too(folder: Path, tmp_path: Path) -> None:
    """It kept no features, and its answers say `kept` or `dropped`: they are counted one by one."""
    (folder / "features.npz").unlink()
    run = read_run(folder)
    old = [
        {"id": run.ids[row], "index": row, "answer": "right", "true_label": ""}
        for row in run.trained_on[run.kept[run.trained_on]][:20].tolist()
    ]
    (folder / "audit").mkdir()
    (folder / "audit" / "result.json").write_text(json.dumps({"run": run.key, "answers": old}))
    audit(folder)
    result = read_back(folder, answered(folder, tmp_path / "a.csv", which=lambda place: place < 60))
    assert len(result.pins) == 80
    assert result.rates.sampled == 60
    assert "The run kept no features of its examples" in str(result)


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"run": "0123456789abcdef"}, "Row 1 of a.csv belongs to another run"),
        ({"id": "other.png"}, "Row 1 of a.csv has the id 'other.png'"),
        ({"index": "100000"}, "Row 1 of a.csv has the id .* and the index '100000'"),
        ({"id": ""}, "Row 1 of a.csv has the id None"),
        ({"given_label": "cow"}, "Row 1 of a.csv has the given_label 'cow', but '=pictures/.*' carries '.*': keep it"),
        ({"stratum": "kept"}, "Row 1 of a.csv has the stratum 'kept', which no audit writes: keep it as it was"),
        ({"answer": "perhaps"}, r"Row 1 of a.csv \('=pictures/.*'\) is 'perhaps'"),
        ({"answer": "wrong", "true_label": "cow"}, "names 'cow', which is none of the classes"),
        ({"answer": "unsure"}, r"Every answer \(1\) is unsure"),
        ({"answer": ""}, "None of the 15 examples has an answer"),
    ],
)
def test_bad_answers_are_sentences(folder: Path, tmp_path: Path, change: dict[str, str], sentence: str) -> None:
    rows = rows_of(audit(folder, kept=10, dropped=5)[0])
    before = (folder / "examples.csv").read_bytes()
    rows[0] |= {"answer": "right", **change}
    with pytest.raises(InputError, match=sentence):
        read_back(folder, write_rows(tmp_path / "a.csv", rows))
    assert not (folder / "audit" / "result.json").exists()
    assert (folder / "examples.csv").read_bytes() == before


def test_bad_tables_and_folders_are_sentences(folder: Path, tmp_path: Path) -> None:
    rows = rows_of(audit(folder, kept=10, dropped=5)[0])
    twice = write_rows(tmp_path / "a.csv", [rows[0] | {"answer": "right"}] * 2)
    other = write_rows(tmp_path / "b.csv", [{"id": "x", "index": 1}])
    run_of(tmp_path / "other", seed=1)
    foreign = answered(folder, tmp_path / "c.csv")
    refusals: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
        (read_back, (folder, twice), "a second time"),
        (read_back, (folder, other), "no column 'answer'"),
        (read_back, (folder, tmp_path / "nothing.csv"), "There is no table"),
        (audit, (tmp_path,), "not a run folder"),
        (verbs.audit, (tmp_path,), "not a run folder"),
        (verbs.audit, (folder,), "is not where the run found it, so there is nothing to show: give --data"),
        (read_back, (tmp_path / "other", foreign), "belongs to another run"),
    ]
    for door, arguments, sentence in refusals:
        with pytest.raises(InputError, match=sentence):
            door(*arguments)
    (folder / "selection.npz").unlink()
    with pytest.raises(InputError, match="the run did not finish"):
        audit(folder)


def test_when_all_is_answered_there_is_nothing_to_ask(folder: Path) -> None:
    heard(folder, kept=N, dropped=N)
    with pytest.raises(InputError, match="nothing left to ask at random"):
        audit(folder)
    heard(folder, suspicious=N)
    with pytest.raises(InputError, match="No suspicious example is left"):
        audit(folder, suspicious=1)


def test_what_was_decided_for_its_looks_moves_no_interval_of_random_answers(folder: Path) -> None:
    """Kept ones too, as on a map: in a block that nobody was asked about they would leave open all before it."""
    before = heard(folder, lambda place: place < 60, kept=40, dropped=20).asked_about.precision
    assert before.low > 0.5
    run = read_run(folder)
    rest = np.setdiff1d(np.flatnonzero(run.kept), asked_of(folder))[:30]
    lines = [
        {"id": run.ids[row], "index": row, "given_label": CLASSES[run.labels[row]], "predicted_label": "",
         "stratum": "suspicious", "answer": "none", "true_label": "", "run": run.key}
        for row in rest.tolist()
    ]  # fmt: skip
    assert read_back(folder, write_rows(folder.parent / "decisions.csv", lines)).asked_about.precision == before
