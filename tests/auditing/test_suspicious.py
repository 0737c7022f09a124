"""Going through the most suspicious labels: what is asked, and that the answers correct labels but are no sample."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv
from typer.testing import CliRunner

from audited import TRAIN, answered, rows_of, run_of, write_rows
from smallloss.auditing.run import read_run
from smallloss.auditing.session import audit, read_back
from smallloss.cli import app
from smallloss.data.corrections import read_corrections
from smallloss.errors import InputError
from smallloss.noise.answers import UNSURE, Answers, most_suspicious, sample_of
from smallloss.noise.intervals import believed, noise_rate, sizes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_of(tmp_path / "run")
    return tmp_path / "run"


def truth_of(folder: Path) -> np.ndarray:
    """Which of the training part are wrong."""
    run = read_run(folder)
    return np.asarray(run.labels[run.index] != run.index % 3)


def test_the_worst_of_what_was_not_kept_come_first_and_never_twice(folder: Path, tmp_path: Path) -> None:
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
    assert f"Known from corrections, or as the most suspicious, held out or not: 12, {wrong} of them wrong." in text
    assert "only examples drawn at random can tell" in text
    assert "Wrong labels among all" not in text
    assert "Answered: 0 unsure, 0 open." in text
    assert "No label was drawn at random and decided on, so the noise rates stay as they were." in text
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
    """Dropped are 1 to 6, from the most suspicious on; 1 and 4 were asked about as such, 2 and 5 and the kept 0 drawn.

    Down to 4 all is apart: 1 and 2 are wrong, 4 is undecided, 3 was passed over. 5 is a sample of 5 and 6.
    """
    score, kept = np.array([0.9, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5]), np.arange(7) == 0
    selection: Any = SimpleNamespace(mask=kept, rank_in_class=np.arange(1, 8), class_index=np.zeros(7, int))
    at = np.array([0, 1, 4, 2, 5])
    answers = Answers(at, kept[at], np.zeros(5, int), np.array([0, 1, UNSURE, 1, 1]), known={3: 0})
    sample = sample_of(answers, np.array([False, True, True, False, False]), selection, score)
    assert sample.index.tolist() == [0, 5]
    assert sample.known == {1: 1, 2: 1, 3: 0, 4: UNSURE}
    passed = sample_of(replace(answers, known={}), np.array([False, True, True, False, False]), selection, score)
    assert passed.known == {1: 1, 2: 1, 3: UNSURE, 4: UNSURE}
    assert passed.known_counts(np.zeros(7, int)) == (2, 2, 4)
    assert sizes(selection, known=passed.known).tolist() == [1, 2]
    assert sample_of(answers, np.zeros(5, bool), selection, score) is answers
    # 2 of 7 are wrong for certain, two may be, and of the two left one was found wrong.
    rate = noise_rate(passed, selection)
    assert rate.low >= 3 / 7
    assert rate.high <= 6 / 7


def test_what_nobody_could_decide_on_leaves_the_rates_uncertain() -> None:
    """Of 200, the 100 kept were found right, and of the 100 others 40 wrong; nobody knows of 60."""
    kept = np.arange(200) < 100
    selection: Any = SimpleNamespace(
        mask=kept, rank_in_class=np.ones(200, int), class_index=np.zeros(200, int), classes=np.array(["a"])
    )
    known = {i: (1 if i < 140 else UNSURE) for i in range(100, 200)}
    at = np.arange(100)
    answers = Answers(at, kept[at], np.zeros(100, int), np.zeros(100, int), known=known)
    assert noise_rate(answers, selection) == pytest.approx((0.35, 0.2, 0.5))
    wrong, right = believed(answers, selection, 0)
    low, high = betaincinv(wrong, right, [0.05, 0.95])
    assert low < 0.25
    assert high > 0.45


def test_all_that_was_not_kept_may_be_gone_through_and_the_rates_stay_believable(tmp_path: Path) -> None:
    """Nothing was drawn, so of the kept nothing is known: rates move no farther than the count proves."""
    folder = tmp_path / "run"
    run_of(folder)
    audit(folder, suspicious=1000)
    result = read_back(folder, answered(folder, tmp_path / "answers.csv"))
    run = read_run(folder)
    found = truth_of(folder)[run.places(result.pins)].sum() / len(run.index)
    assert result.rates.contradicted
    weight = np.bincount(run.class_index) / len(run.index)
    assert weight @ result.rates.noise_rate == pytest.approx(found, abs=1e-4)
    assert (result.rates.high < 0.5).all()


def test_everything_known_is_read_back_all_the_same(tmp_path: Path) -> None:
    run_of(tmp_path / "first")
    first = read_run(tmp_path / "first")
    kept = {int(row): int(row) % 3 for row in first.index[first.mask]}
    run_of(tmp_path / "run", known=kept)
    rest = audit(tmp_path / "run", suspicious=1000)[0]
    assert len(rows_of(rest)) + len(kept) == TRAIN
    result = read_back(tmp_path / "run", answered(tmp_path / "run", tmp_path / "answers.csv"))
    assert result.noise_rate == pytest.approx([truth_of(tmp_path / "run").mean()] * 3)


def test_what_was_drawn_once_stays_drawn(folder: Path, tmp_path: Path) -> None:
    """A page of each kind is open; the drawn one is read back first, and little is answered on the other."""
    audit(folder, kept=10, dropped=20)
    drawn = answered(folder, tmp_path / "drawn.csv")
    (folder / "audit" / "audit.csv").unlink()
    rows = rows_of(audit(folder, suspicious=40)[0])
    before = read_back(folder, drawn)
    rows = [row | {"answer": "right" if k == 39 else ""} for k, row in enumerate(rows)]
    after = read_back(folder, write_rows(tmp_path / "suspicious.csv", rows))
    assert len(before.answers.index) == 30
    flagged = [row for row in after.rows if row.get("suspicious")]
    assert len(flagged) <= 1
    assert len(after.rows) == 30 + len(flagged)
    assert before.answers.counts()[1][0] == after.answers.counts()[1][0] == 10


def test_a_table_must_say_how_its_examples_were_chosen(folder: Path, tmp_path: Path) -> None:
    audit(folder, suspicious=5)
    rows = rows_of(answered(folder, tmp_path / "answers.csv"))
    lost = [{name: cell for name, cell in row.items() if name != "stratum"} for row in rows]
    with pytest.raises(InputError, match="has no column 'stratum'"):
        read_back(folder, write_rows(tmp_path / "lost.csv", lost))


@pytest.mark.parametrize("order", ["drawn first", "drawn last"])
@pytest.mark.parametrize("left", ["nothing", "some", "half unsure", "all but the last"])
def test_the_interval_holds_the_truth_however_carelessly_they_were_gone_through(left: str, order: str) -> None:
    """Most of the noise is among the most suspicious; others are drawn at random, before these or after."""
    rng, n = np.random.default_rng(0), 1000
    kept, covered = np.arange(n) >= 300, []
    selection: Any = SimpleNamespace(mask=kept, rank_in_class=np.ones(n, int), class_index=np.zeros(n, int))
    score = np.linspace(0, 1, n)
    for _ in range(60):
        wrong = rng.random(n) < np.where(np.arange(n) < 150, 0.9, np.where(kept, 0.03, 0.1))
        worst = np.arange(150)
        chosen = {"nothing": worst > -1, "some": rng.random(150) > 0.1, "half unsure": worst > -1}
        looked = worst[chosen.get(left, worst == 149)]
        free = np.arange(300) if order == "drawn first" else np.setdiff1d(np.arange(300), looked)
        drawn = np.concatenate([rng.permutation(free)[:20], 300 + rng.permutation(700)[:40]])
        looked = np.setdiff1d(looked, drawn)
        at = np.concatenate([looked, drawn])
        true = wrong[at].astype(int)
        if left == "half unsure":
            true[: len(looked) : 2] = UNSURE
        answers = Answers(at, kept[at], np.zeros(len(at), int), true)
        rate = noise_rate(sample_of(answers, np.arange(len(at)) < len(looked), selection, score), selection)
        covered.append(rate.low <= wrong.mean() <= rate.high)
    assert np.mean(covered) >= 0.93


def test_empty_rows_of_a_spreadsheet_are_no_rows(folder: Path, tmp_path: Path) -> None:
    audit(folder, suspicious=5)
    path = answered(folder, tmp_path / "answers.csv")
    path.write_text(path.read_text(encoding="utf-8") + ",,,,,,,,\n,,,,,,,,\n", encoding="utf-8")
    assert len(read_back(folder, path).rows) == 5


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
