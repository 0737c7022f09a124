import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from audited import CLASSES, TRAIN, N, answered, rows_of, run_of, write_rows
from smallloss.auditing.run import read_run
from smallloss.auditing.session import audit, read_back
from smallloss.auditing.words import next_run
from smallloss.cli import app
from smallloss.criterion.transition import structured
from smallloss.data.corrections import read_corrections
from smallloss.data.rates import read_rates
from smallloss.errors import InputError
from smallloss.files import write_json
from smallloss.noise.answers import NONE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_of(tmp_path / "run")
    return tmp_path / "run"


def test_the_table_and_the_page_are_written(folder: Path) -> None:
    table, page = audit(folder)
    rows = rows_of(table)
    assert len(rows) == 60
    assert [row["stratum"] for row in rows].count("kept") == 40
    assert {row["answer"] + row["true_label"] for row in rows} == {""}
    assert all(row["id"] == f"'=pictures/{row['index']}.png" for row in rows)
    assert {row["given_label"] for row in rows} <= {"cat", "'=dog", "bird\n2"}
    assert "data:image/png" not in page.read_text(encoding="utf-8")
    assert table.read_bytes() == audit(folder)[0].read_bytes()


def test_the_command_says_how_many_there_are_and_when_they_are_all(folder: Path, tmp_path: Path) -> None:
    def said(*options: str) -> str:
        done = CliRunner().invoke(app, ["audit", str(folder), *options])
        assert done.exit_code == 0, done.output
        return done.output

    selected = read_run(folder).mask
    dropped = int((~selected).sum())
    assert "\n60 questions: 40 kept; 20 dropped.\n" in said()
    every = said("--kept", "0", "--dropped", "500")
    assert f"\n{dropped} questions: {dropped} dropped, all that are left of those trained on.\n" in every
    both = said("--kept", "7", "--dropped", "500")
    assert f"\n{7 + dropped} questions: 7 kept; {dropped} dropped, all that are left of those trained on.\n" in both
    audit(folder, kept=500, dropped=500)
    told = said("--answers", str(answered(folder, tmp_path / "all.csv")))
    assert "would halve" not in told  # nobody is left to be asked about
    labels, index = read_run(folder).labels, read_run(folder).index
    share = f"{100 * (labels[index] != index % 3).mean():.1f} %"
    assert f"Wrong labels among all that were trained on: about {share} ({share} to {share}, 95 % interval)." in told
    assert f"Written: {folder / 'audit' / 'rates.csv'} and {folder / 'audit' / 'corrections.csv'}." in told


def test_the_next_run_is_a_command_for_a_shell() -> None:
    data = {"source": "/my photos/$x.csv", "label": "its label"}
    config = {"data": data, "options": ["--backbone", "mine:make", "--set", "beta=0.1"]}
    line = next_run(config, Path("c.csv"), Path("a b/r.csv"), as_before=False, estimated=True).splitlines()[-1]
    assert shlex.split(line) == [
        *("smallloss", "clean", "/my photos/$x.csv", "--out", "NEW", "--label", "its label"),
        *("--backbone", "mine:make", "--set", "beta=0.1", "--noise-rate", "a b/r.csv", "--corrections", "c.csv"),
    ]
    memory = {"data": {"source": None, "label": None}}
    arrays = next_run(memory, Path("c.csv"), Path("r.csv"), as_before=True, estimated=False)
    assert "smallloss clean DATA --out NEW --noise-rate r.csv --corrections c.csv" in arrays
    assert arrays.startswith("Written: r.csv and c.csv. To clean again with both:")


@pytest.mark.parametrize(
    "noise, given, estimated, as_before, words",
    [
        ({}, [], True, True, ""),
        ({}, [], True, False, "--noise-rate r.csv"),
        ({}, ["--transition", "T.csv"], False, True, "--transition T.csv"),
        ({}, ["--transition", "T.csv"], False, False, "--noise-rate r.csv"),
        ({"drawn": "uniform:0.3"}, [], False, True, "--noise uniform:0.3"),
        ({"drawn": "uniform:0.3"}, [], True, True, "--noise uniform:0.3 --estimate"),
        ({"drawn": "uniform:0.3"}, [], True, False, "--noise uniform:0.3 --noise-rate r.csv"),
        ({"drawn": None}, [], False, True, "--noise-rate r.csv"),
    ],
)
def test_rates_that_stay_come_from_where_they_came_from(noise, given, estimated, as_before, words) -> None:
    config = {"data": {"source": "x", "label": None}, "noise": noise, "given": given}
    said = next_run(config, Path("c.csv"), Path("r.csv"), as_before=as_before, estimated=estimated)
    between = f"{words} " if words else ""
    assert said.splitlines()[-1] == f"smallloss clean x --out NEW {between}--corrections c.csv"


def test_pictures_are_shown_where_the_data_is_given(folder: Path, tmp_path: Path) -> None:
    data = run_of(tmp_path / "same")
    clean = data.with_labels(np.arange(N) % 3)  # as a benchmark is loaded, before its labels are corrupted
    assert audit(folder, dataset=clean)[1].read_text(encoding="utf-8").count("data:image/png;base64") == 60
    with pytest.raises(InputError, match=r"is not the data that .* was made from"):
        audit(folder, dataset=replace(data, inputs=data.inputs[::-1]))


def test_answers_are_read_back(folder: Path, tmp_path: Path) -> None:
    audit(folder)
    result = read_back(folder, answered(folder, tmp_path / "answers.csv"))
    wrong = sum(row["answer"] == "wrong" for row in rows_of(tmp_path / "answers.csv"))
    assert result.answers.wrong.sum() == wrong > 0
    labels = read_run(folder).labels[read_run(folder).index]
    truth = read_run(folder).index % 3
    assert result.noise_rate.low <= (labels != truth).mean() <= result.noise_rate.high
    assert result.precision.high == 1
    assert result.pair == ("cat", "=dog")
    assert "Answered: 40 kept, 20 dropped; 0 unsure, 0 open." in str(result)
    assert "more answers would halve the interval, preferably for examples labelled 'cat' or '=dog'." in str(result)
    assert all(true == index % 3 for index, true in result.pins.items())
    facts = json.loads((folder / "audit" / "result.json").read_text(encoding="utf-8"))
    assert facts["noise_rate"]["low"] == result.noise_rate.low
    assert facts["classes"] == list(CLASSES)
    corrections = rows_of(folder / "audit" / "corrections.csv")
    assert len(corrections) == 60
    assert {row["true_label"] for row in corrections if row["answer"] == "wrong"} <= {"cat", "'=dog"}


def test_more_answers_add_to_the_earlier_ones(folder: Path, tmp_path: Path) -> None:
    audit(folder, kept=20, dropped=10)
    first = read_back(folder, answered(folder, tmp_path / "first.csv"))
    audit(folder, kept=20, dropped=10)
    second = read_back(folder, answered(folder, tmp_path / "second.csv"))
    indices = [{row["index"] for row in rows_of(tmp_path / name)} for name in ("first.csv", "second.csv")]
    assert not indices[0] & indices[1]
    assert len(first.answers.index) == 30
    assert len(second.answers.index) == 60
    width = first.noise_rate.high - first.noise_rate.low
    assert second.noise_rate.high - second.noise_rate.low < width


def test_a_second_file_takes_no_answer_back_by_leaving_it_open(folder: Path, tmp_path: Path) -> None:
    """The page may be filled in twice, on two machines; only what is answered anew replaces what was said before."""
    audit(folder)
    first = answered(folder, tmp_path / "first.csv")
    everything = rows_of(first)
    open_rows = [row | {"answer": "", "true_label": ""} for row in everything]
    read_back(folder, write_rows(first, everything[:30] + open_rows[30:]))
    second = write_rows(
        tmp_path / "second.csv", [*open_rows[:29], open_rows[29] | {"answer": "none"}, *everything[30:50]]
    )
    result = read_back(folder, second)
    assert len(result.answers.index) == 50
    assert result.answers.empty == 0  # the second file has no row for the ten others
    assert result.pins[int(everything[29]["index"])] == NONE
    assert result.pins[int(everything[0]["index"])] == int(everything[0]["index"]) % 3


def test_answers_in_the_table_itself_are_not_overwritten(folder: Path) -> None:
    table, _ = audit(folder)
    answered(folder, table)
    with pytest.raises(InputError, match="holds answers that were not read back"):
        audit(folder)
    read_back(folder)
    audit(folder)


def test_a_true_label_that_was_changed_in_the_table_is_not_lost(folder: Path) -> None:
    table, _ = audit(folder)
    rows = rows_of(answered(folder, table))
    read_back(folder)
    wrong = next(row for row in rows if row["answer"] == "wrong")
    other = next(name for name in CLASSES if name not in (wrong["true_label"], wrong["given_label"].lstrip("'")))
    for change in ({"true_label": other}, {"answer": "", "true_label": other}):
        write_rows(table, [row | change if row is wrong else row for row in rows])
        with pytest.raises(InputError, match="holds answers that were not read back"):
            audit(folder)
    right = [row | {"true_label": row["given_label"]} if row["answer"] == "right" else row for row in rows]
    write_rows(table, right)  # which says nothing new
    audit(folder)


def test_open_rows_none_and_unsure(folder: Path, tmp_path: Path) -> None:
    rows = rows_of(audit(folder)[0])
    rows[0]["answer"], rows[1]["answer"], rows[2]["answer"] = "none", "unsure", "right"
    result = read_back(folder, write_rows(tmp_path / "a.csv", rows))
    assert result.answers.empty == 57
    assert sorted(result.pins.values())[0] == NONE
    assert len(result.pins) == 2


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"run": "0123456789abcdef"}, "Row 1 of a.csv belongs to another run"),
        ({"id": "other.png"}, "Row 1 of a.csv has the id 'other.png'"),
        ({"index": "100000"}, "Row 1 of a.csv has the id .* and the index '100000'"),
        ({"id": ""}, "Row 1 of a.csv has the id None"),
        ({"answer": "perhaps"}, r"Row 1 of a.csv \('=pictures/.*'\) is 'perhaps'"),
        ({"answer": "wrong", "true_label": "cow"}, "names 'cow', which is none of the classes"),
        ({"answer": "unsure"}, r"Every answer \(1\) is unsure"),
        ({"answer": ""}, "None of the 60 examples has an answer"),
    ],
)
def test_bad_answers_are_sentences(folder: Path, tmp_path: Path, change: dict[str, str], sentence: str) -> None:
    rows = rows_of(audit(folder)[0])
    rows[0] |= {"answer": "right", **change}
    with pytest.raises(InputError, match=sentence):
        read_back(folder, write_rows(tmp_path / "a.csv", rows))
    assert not (folder / "audit" / "result.json").exists()


def test_bad_tables_and_folders_are_sentences(folder: Path, tmp_path: Path) -> None:
    rows = rows_of(audit(folder)[0])
    with pytest.raises(InputError, match="a second time"):
        read_back(folder, write_rows(tmp_path / "a.csv", [rows[0] | {"answer": "right"}] * 2))
    with pytest.raises(InputError, match="no column 'answer'"):
        read_back(folder, write_rows(tmp_path / "b.csv", [{"id": "x", "index": 1}]))
    with pytest.raises(InputError, match="There is no table"):
        read_back(folder, tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="not a run folder"):
        audit(tmp_path)
    (folder / "selection.npz").unlink()
    with pytest.raises(InputError, match="the run did not finish"):
        audit(folder)


def test_the_answers_of_another_run_of_the_same_data_are_refused(folder: Path, tmp_path: Path) -> None:
    run_of(tmp_path / "other", seed=1)
    audit(folder)
    answers = answered(folder, tmp_path / "answers.csv")
    with pytest.raises(InputError, match="belongs to another run"):
        read_back(tmp_path / "other", answers)


def test_an_estimate_in_the_run_brings_its_intervals(folder: Path, tmp_path: Path) -> None:
    estimate = {"low": [0.25, 0.25, 0.0], "high": [0.35, 0.35, 0.05], "prior": [1 / 3] * 3}
    write_json(folder / "estimate.json", estimate | {"transition": structured(0.3, [1, 0, 2]).tolist()})
    audit(folder)
    rates = read_back(folder, answered(folder, tmp_path / "answers.csv")).rates
    kept = [k for k in range(3) if rates.source[k] == "as before"]
    assert kept
    assert rates.low[kept] == pytest.approx(np.array(estimate["low"])[kept])


def test_the_files_for_the_next_run_can_be_read_by_it(folder: Path, tmp_path: Path) -> None:
    """Names that a spreadsheet would run stand there with an apostrophe; the upper ends of the rates come along."""
    estimate = {"low": [0.25, 0.25, 0.0], "high": [0.35, 0.35, 0.05], "prior": [1 / 3] * 3}
    write_json(folder / "estimate.json", estimate | {"transition": structured(0.3, [1, 0, 2]).tolist()})
    audit(folder)
    result = read_back(folder, answered(folder, tmp_path / "answers.csv"))
    assert "'=dog" in (folder / "audit" / "rates.csv").read_text(encoding="utf-8")
    rates, upper = read_rates(folder / "audit" / "rates.csv", CLASSES)
    assert rates == dict(zip(CLASSES, result.rates.noise_rate.tolist(), strict=True))
    assert upper is not None
    assert (upper > list(rates.values())).all()
    assert (upper < result.rates.high).all()
    data = run_of(tmp_path / "same")
    assert read_corrections(folder / "audit" / "corrections.csv", data) == result.pins


def test_a_table_without_rows_is_a_sentence(folder: Path, tmp_path: Path) -> None:
    audit(folder)
    header = (folder / "audit" / "audit.csv").read_text(encoding="utf-8").splitlines()[0]
    empty = tmp_path / "empty.csv"
    empty.write_text(header + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="None of the 0 examples has an answer"):
        read_back(folder, empty)


def test_noise_that_was_given_has_a_verdict_too(folder: Path, tmp_path: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    audit(folder)
    answers = answered(folder, tmp_path / "answers.csv")
    silent = read_back(folder, answers)
    assert silent.verdict is not None
    assert silent.verdict.trust == "caution"
    assert "the theory says nothing" in str(silent)
    for r, trust in ((0.3, "trust"), (0.6, "do not trust")):
        T = structured(r, [1, 0, 2]).tolist()
        write_json(folder / "config.json", config | {"noise": {"transition": T}})
        known = read_back(folder, answers).verdict
        assert known is not None
        assert known.trust == trust


def test_what_the_corrections_say_is_not_asked_again_and_counts_in_the_whole(folder: Path, tmp_path: Path) -> None:
    """The second of two runs: the wrong ones are no longer ranked, but they are wrong labels of the dataset still."""
    labels = read_run(folder).labels
    held_out = next(row for row in range(N) if row not in read_run(folder).index)
    known = {int(row): int(row) % 3 for row in read_run(folder).index[:80]} | {held_out: NONE}
    run_of(tmp_path / "again", known=known)
    table, _ = audit(tmp_path / "again", kept=1000, dropped=1000)
    assert not {int(row["index"]) for row in rows_of(table)} & known.keys()
    assert len(rows_of(table)) == TRAIN - 80
    result = read_back(tmp_path / "again", answered(tmp_path / "again", tmp_path / "answers.csv"))
    train = read_run(folder).index
    assert result.noise_rate.value == pytest.approx(float((labels[train] != train % 3).mean()))  # all are answered
    wrong = sum(labels[row] != true for row, true in known.items())
    assert f"Known from corrections, or as the most suspicious, held out or not: 81, {wrong} of them wrong." in str(
        result
    )
    data = run_of(tmp_path / "same")
    corrections = read_corrections(tmp_path / "again" / "audit" / "corrections.csv", data)  # of both audits
    assert corrections == result.pins == known | {int(row): int(row) % 3 for row in train}


def test_upper_ends_that_were_given_with_the_rates_stay(tmp_path: Path) -> None:
    """A run that took the rates.csv of an audit says so in config.json alone: it has no estimate."""
    run_of(tmp_path / "run", upper=[0.35, 0.3, 0.04])
    audit(tmp_path / "run", kept=6, dropped=4)
    result = read_back(tmp_path / "run", answered(tmp_path / "run", tmp_path / "answers.csv"))
    assert set(result.rates.source) == {"as before"}
    rates, upper = read_rates(tmp_path / "run" / "audit" / "rates.csv", CLASSES)
    assert list(rates.values()) == pytest.approx([0.3, 0.3, 0.0])
    assert upper == pytest.approx([0.35, 0.3, 0.04])
    assert '"=dog",0.3,""' in (tmp_path / "run" / "audit" / "rates.csv").read_text("utf-8").replace("'", "")
