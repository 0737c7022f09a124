"""Going through the most suspicious labels: what is asked, and that the answers correct labels but are no sample."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from audited import TRAIN, answered, rows_of, run_of, write_rows
from smallloss.audited_run import read_run
from smallloss.auditing import audit, read_back
from smallloss.cli import app
from smallloss.criterion.audit import Answers, most_suspicious, sample_of
from smallloss.data.corrections import read_corrections
from smallloss.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_of(tmp_path / "run")
    return tmp_path / "run"


def truth_of(folder: Path) -> np.ndarray:
    """Which of the training part are wrong."""
    run = read_run(folder)
    return np.asarray(run.labels[run.index] != run.index % 3)


def test_the_worst_of_what_was_not_kept_come_first_and_never_twice(folder: Path, tmp_path: Path) -> None:
    """Held out or not."""
    run = read_run(folder)
    table, page = audit(folder, suspicious=10)
    rows = rows_of(table)
    at = [int(row["index"]) for row in rows]
    dropped = np.flatnonzero(~run.kept & ~np.isnan(run.label_score))
    assert run.label_score[at].tolist() == sorted(run.label_score[dropped])[:10]
    assert not run.kept[at].any()
    assert {row["stratum"] for row in rows} == {"suspicious"}
    assert "the most suspicious first" in page.read_text(encoding="utf-8")
    read_back(folder, answered(folder, tmp_path / "first.csv"))
    again = [int(row["index"]) for row in rows_of(audit(folder, suspicious=1000)[0])]
    assert sorted(at + again) == dropped.tolist()
    read_back(folder, answered(folder, tmp_path / "second.csv"))
    with pytest.raises(InputError, match="No suspicious example is left to check"):
        audit(folder, suspicious=1)


def test_answers_on_them_are_corrections_and_no_sample(folder: Path, tmp_path: Path) -> None:
    audit(folder, suspicious=12)
    result = read_back(folder, answered(folder, tmp_path / "answers.csv"))
    wrong = int(truth_of(folder)[read_run(folder).places(result.pins)].sum())
    assert wrong > 6
    assert result.known == (wrong, 12)
    assert len(result.answers.index) == 0
    assert set(result.rates.source) == {"as before"}
    text = str(result)
    assert f"Known from corrections, or as the most suspicious: 12, {wrong} of them wrong." in text
    assert "only examples drawn at random can tell" in text
    assert "in the whole dataset" not in text
    assert "Answered" not in text
    assert "no kept example was checked by hand" in text
    data = run_of(tmp_path / "same")
    assert read_corrections(folder / "audit" / "corrections.csv", data) == result.pins
    assert all(row["suspicious"] for row in json.loads((folder / "audit" / "result.json").read_text())["answers"])


def test_with_a_sample_before_or_after_the_share_of_wrong_labels_is_the_same(tmp_path: Path) -> None:
    """All are answered in the end, in either order: then it is counted, and what is known is told from the sample."""
    for name, orders in (("a", ({"suspicious": 9}, {})), ("b", ({}, {"suspicious": 9}))):
        folder = tmp_path / name
        run_of(folder)
        for order in orders:
            audit(folder, **({"kept": 500, "dropped": 15} | order))
            result = read_back(folder, answered(folder, tmp_path / "answers.csv"))
        assert result.known[1] >= 9
        run = read_run(folder)
        score = run.label_score[run.index]
        least = max(score[i] for i in result.answers.known)
        assert (score[result.answers.index[~result.answers.kept]] > least).all()
        assert result.noise_rate.low <= truth_of(folder).mean() <= result.noise_rate.high
        assert result.known[1] + len(result.answers.index) == len(result.rows)


def test_the_interval_covers_though_the_suspicious_were_gone_through(tmp_path: Path) -> None:
    """Counted as a sample they would put the share of wrong labels far too high."""
    folder = tmp_path / "run"
    run_of(folder)
    audit(folder, suspicious=20)
    read_back(folder, answered(folder, tmp_path / "answers.csv"))
    covered = []
    for seed in range(10):
        audit(folder, kept=20, dropped=10, seed=seed)
        kept = (folder / "audit" / "result.json").read_text()
        result = read_back(folder, answered(folder, tmp_path / "answers.csv"))
        (folder / "audit" / "result.json").write_text(kept)
        covered.append(result.noise_rate.low <= truth_of(folder).mean() <= result.noise_rate.high)
    assert sum(covered) >= 9


def test_what_was_left_open_or_unsure_is_no_answer(folder: Path, tmp_path: Path) -> None:
    table, _ = audit(folder, suspicious=4)
    rows = rows_of(table)
    rows[0]["answer"], rows[1]["answer"] = "right", "unsure"
    result = read_back(folder, write_rows(tmp_path / "answers.csv", rows))
    assert result.known[1] == 1
    assert len(result.rows) == 2
    assert result.pins.keys() == {int(rows[0]["index"])}


def test_by_hand() -> None:
    """Of five answers the second and third are on the most suspicious; the fourth, drawn, is as suspicious as those."""
    kept, score = np.array([True, False, False, False, False]), np.array([0.1, 0.0, 0.3, 0.2, 0.4])
    answers = Answers(np.arange(5), kept, np.zeros(5, int), np.array([0, 1, -2, 1, 1]), known={9: 1})
    sample = sample_of(answers, np.array([False, True, True, False, False]), score)
    assert sample.index.tolist() == [0, 4]
    assert sample.known == {9: 1, 1: 1, 3: 1}
    assert sample_of(answers, np.zeros(5, bool), score) is answers


def test_none_is_a_sentence(folder: Path) -> None:
    run = read_run(folder)
    with pytest.raises(InputError, match="The 0 most suspicious examples are none"):
        most_suspicious(run.label_score, run.kept, 0)


def test_the_command(folder: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["audit", str(folder), "--suspicious", "5"])
    assert "\n5 questions: 5 that were not kept, the most suspicious first.\n" in done.output
    every = CliRunner().invoke(app, ["audit", str(folder), "--suspicious", str(TRAIN)])
    assert "the most suspicious first, all that are left.\n" in every.output
    told = CliRunner().invoke(app, ["audit", str(folder), "--answers", str(answered(folder, tmp_path / "a.csv"))])
    assert told.exit_code == 0
    assert "Known from corrections, or as the most suspicious" in told.output
