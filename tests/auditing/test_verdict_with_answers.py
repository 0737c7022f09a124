"""From noisy digits to a verdict with answers by hand in it, through the command line."""

import csv
import html
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from smallloss.noise.data_verdict import DataVerdict
from smallloss.noise.trust import judge

import smallloss as sl
from smallloss.auditing.run import read_run
from smallloss.auditing.session import audit, read_back
from smallloss.data.npz import read_npz
from smallloss.data.table_files import read_table
from smallloss.exporting import export
from smallloss.noise.estimate import Estimate

COMMAND = [sys.executable, "-c", "from smallloss.cli import main; main()"]


def smallloss(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> None:
    """The command line in this process: importing torch takes seconds."""
    from smallloss.cli import main

    monkeypatch.setattr(sys, "argv", ["smallloss", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code


def filled_in(folder: Path, path: Path) -> Path:
    """The table of the audit, answered from the truth that digits has."""
    truth = read_table(folder / "examples.parquet").column("true_label").to_pylist()
    with (folder / "audit" / "audit.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        true = truth[int(row["index"])]
        row["answer"] = "right" if true == row["given_label"] else "wrong"
        row["true_label"] = true if row["answer"] == "wrong" else ""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module", params=["structured:0.6", "uniform:0.3"])
def digits(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("runs") / "run"
    arguments = ["clean", "digits", "--noise", request.param, "--estimate", "--method", "cross_entropy"]
    with pytest.MonkeyPatch.context() as patch:
        smallloss(patch, *arguments, "--epochs", 6, "--device", "cpu", "--out", folder)
    return request.param, folder


def test_the_verdict_is_drawn_again_with_the_answers_in_it(digits: tuple[str, Path], tmp_path: Path) -> None:
    noise, run = digits
    said = set()
    for seed in range(3):
        folder = tmp_path / str(seed)
        shutil.copytree(run, folder)
        audit(folder, seed=seed)
        result = read_back(folder, filled_in(folder, tmp_path / f"{seed}.csv"))
        assert result.verdict is not None
        said.add(result.verdict.trust)
    assert said == {"trust"} if noise == "uniform:0.3" else "trust" not in said


def test_the_command_says_the_verdict_and_keeps_it(digits: tuple[str, Path], tmp_path: Path) -> None:
    noise, run = digits
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    audit(folder)
    arguments = ["audit", str(folder), "--answers", str(filled_in(folder, tmp_path / "answers.csv"))]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    kept = json.loads((folder / "audit" / "result.json").read_text(encoding="utf-8"))["verdict"]
    assert kept["headline"] in done.stdout
    assert kept["headline"].startswith("Trust the kept examples: ") == (noise == "uniform:0.3")
    assert kept["answers"] == [40, 20, 0]
    rates, corrections = (str(folder / "audit" / name) for name in ("rates.csv", "corrections.csv"))
    said = shlex.split(done.stdout.splitlines()[-1])
    assert said[:5] == ["smallloss", "clean", "digits", "--out", "NEW"]
    options = json.loads((folder / "config.json").read_text("utf-8"))["options"]
    stay = "they stay as they were" in done.stdout  # estimated again then, for the sake of the verdict
    assert stay == (noise == "uniform:0.3")
    given = ["--estimate"] if stay else ["--noise-rate", rates]
    assert said[5:] == [*options, *given, "--corrections", corrections]


def test_without_answers_the_folder_gives_the_verdict_of_the_run(digits: tuple[str, Path]) -> None:
    """What is kept is enough: the page of the run shows the same sentence."""
    run = read_run(digits[1])
    kept = read_npz(run.folder / "out_of_sample.npz")
    assert run.estimate is not None
    verdict = judge(Estimate.from_saved(run.estimate, kept), run, kept["probabilities"], run.classes[run.class_index])
    assert verdict.headline in html.unescape((run.folder / "report.html").read_text("utf-8"))


def test_answers_on_the_suspicious_alone_leave_the_verdict_as_it_was(digits: tuple[str, Path], tmp_path: Path) -> None:
    """They say nothing of the kept examples."""
    folder = tmp_path / "run"
    shutil.copytree(digits[1], folder)
    audit(folder, suspicious=30)
    result = read_back(folder, filled_in(folder, tmp_path / "answers.csv"))
    assert isinstance(result.verdict, DataVerdict)
    assert result.verdict.audited is None
    assert result.known[1] == 30
    assert result.verdict.headline in html.unescape((folder / "report.html").read_text("utf-8"))


def test_what_is_held_out_is_corrected_too_and_is_no_sample(digits: tuple[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(digits[1], folder)
    audit(folder, suspicious=2000)
    result = read_back(folder, filled_in(folder, tmp_path / "answers.csv"))
    run, table = read_run(folder), read_table(folder / "examples.parquet")
    truth = np.array(table.column("true_label").to_pylist())
    held_out = np.setdiff1d(np.arange(len(truth)), run.index)
    asked = np.array(list(result.pins))
    assert set(asked) == set(np.flatnonzero(~run.kept))
    assert len(np.intersect1d(asked, held_out)) > 20
    assert len(result.answers.index) == 0
    assert set(result.answers.known) == set(run.places(result.pins))
    done = export(folder, tmp_path / "clean.csv", "csv")
    given = np.array(table.column("given_label").to_pylist())
    assert done.by_hand == (truth != given)[asked].sum()
    again = audit(folder, kept=5, dropped=0)[0]  # the sample is of the training part alone
    assert {int(row["index"]) for row in read_table(again).to_pylist()} <= set(run.index.tolist())


def test_a_run_of_an_earlier_version_says_why_it_has_no_verdict(digits: tuple[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(digits[1], folder)
    (folder / "out_of_sample.npz").unlink()
    audit(folder)
    result = read_back(folder, filled_in(folder, tmp_path / "answers.csv"))
    assert result.verdict is None
    assert "This run kept no out-of-sample predictions" in str(result)
    assert json.loads((folder / "audit" / "result.json").read_text(encoding="utf-8"))["verdict"] is None


def test_the_command_finds_the_data_where_the_run_found_it(tmp_path, monkeypatch, capsys) -> None:
    table, run = tmp_path / "films.csv", tmp_path / "run"
    words = [["dull", "bright"][k % 2] for k in range(60)]
    table.write_text("text,label\n" + "".join(f"a {word} film of {k} hours,{word}\n" for k, word in enumerate(words)))
    sl.clean(table, run, noise_rate=0.1, epochs=1, progress=False)
    smallloss(monkeypatch, "audit", run)
    assert "a dull film of" in (run / "audit" / "audit.html").read_text(encoding="utf-8")
    assert "--data" not in capsys.readouterr().out
    table.unlink()
    smallloss(monkeypatch, "audit", run)
    assert "a dull film of" not in (run / "audit" / "audit.html").read_text(encoding="utf-8")
    assert "name it with --data" in capsys.readouterr().out
