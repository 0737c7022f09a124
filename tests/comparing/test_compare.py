"""Several methods under one protocol: each run once, stage 1 once for each seed, and the page says what was found."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smallloss.comparing.compare import compare, require_all
from smallloss.comparing.jobs import Results, claim
from smallloss.comparing.page import difference
from smallloss.data.idx import load_digits
from smallloss.errors import InputError, SmallLossError, TooFewError
from smallloss.methods import rsl
from smallloss.report.compare import paired
from smallloss.run.clean import clean

HOW: dict[str, Any] = {"noise": "uniform:0.4", "epochs": 1, "device": "cpu"}


def small() -> Any:
    return load_digits().take(np.arange(200))


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared") / "out"
    compare(small(), folder, methods="rsl", seeds=2, say=lambda words: None, **HOW)
    return folder


def test_every_method_has_a_line_for_every_seed_and_plain_training_and_cleanlab_s_rule_beside(done: Path):
    assert {(row["method"], row["seed"]) for row in lines(done)} == {
        (method, seed) for method in ("cross_entropy", "rsl", "confident_learning") for seed in (0, 1)
    }


def test_a_method_alone_comes_out_the_same_as_with_the_shared_stage(done: Path, tmp_path: Path):
    clean(small(), tmp_path / "alone", method="rsl", seed=1, ship="method", **HOW)
    for name in ("examples.parquet", "model.safetensors", "ledger.npz"):
        assert (done / "runs" / "rsl-1" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes(), name


def test_stage_1_is_trained_once_and_counted_for_each_that_needs_it(done: Path):
    found = {row["method"]: row for row in lines(done) if row["seed"] == 0}
    assert found["rsl"]["plain_seconds"] == found["cross_entropy"]["seconds"] == found["rsl"]["stage_seconds"]["stage1"]
    assert found["rsl"]["seconds"] == pytest.approx(sum(found["rsl"]["stage_seconds"].values()))
    assert set(found["confident_learning"]["stage_seconds"]) == {"half0", "half1", "confident_learning"}


def test_rates_that_nobody_told_cost_their_half_trainings(tmp_path: Path):
    compare(small(), tmp_path, methods="rsl", seeds=1, say=lambda words: None, **HOW, estimate=True)
    (costs,) = (row["stage_seconds"] for row in lines(tmp_path) if row["method"] == "rsl")
    assert set(costs) == {"stage1", "half0", "half1", "rsl"}


def test_the_precision_is_that_of_what_was_kept(done: Path):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(done / "runs" / "rsl-0" / "examples.parquet").to_pydict()
    kept = [
        given == true
        for given, true, selected, split in zip(
            table["given_label"], table["true_label"], table["selected"], table["split"], strict=True
        )
        if selected and split == "train"
    ]
    (row,) = (row for row in lines(done) if row["method"] == "rsl" and row["seed"] == 0)
    assert (row["kept"], row["selected_precision"]) == (len(kept), pytest.approx(100 * np.mean(kept), abs=1e-3))


def test_the_page_stands_alone_and_names_every_method(done: Path):
    page = (done / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in ("Cross Entropy", "Confident learning", "RSL", "2 seeds"))
    assert page.count("told the noise rate") == 1  # RSL alone
    assert not re.search(r'(?:src|href)="(?!#)', page)


def test_what_is_done_is_not_done_again(done: Path):
    before, said = (done / "cells.jsonl").read_bytes(), list[str]()
    compare(small(), done, methods="rsl", seeds=2, say=said.append, **HOW)
    assert (done / "cells.jsonl").read_bytes() == before
    assert not said


def test_other_settings_are_refused_in_the_same_folder(done: Path):
    with pytest.raises(InputError, match="asked for otherwise: epochs differ"):
        compare(small(), done, methods="rsl", **HOW | {"epochs": 2})


def test_what_failed_is_named_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as broken:
        broken.setattr(rsl, "train", lambda *_: (_ for _ in ()).throw(SmallLossError("The card fell off.")))
        found = compare(small(), tmp_path, methods="rsl", seeds=1, say=lambda words: None, **HOW)
    assert found.failed == {"rsl 0": "The card fell off."}
    assert "The card fell off." in found.page.read_text(encoding="utf-8")
    with pytest.raises(SmallLossError, match=r"rsl 0 failed: The card fell off\. The same command tries again"):
        require_all(found.failed)
    said: list[str] = []
    again = compare(small(), tmp_path, methods="rsl", seeds=1, say=said.append, **HOW)
    assert (again.failed, said) == ({}, ["rsl, seed 0 (it failed before, and is tried again)"])


def test_a_method_that_had_too_few_to_learn_from_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rsl, "train", lambda *_: (_ for _ in ()).throw(TooFewError("Nothing was selected.")))
    found = compare(small(), tmp_path, methods="rsl", seeds=1, beside=(), say=lambda words: None, **HOW)
    assert found.failed == {"rsl 0": "Nothing was selected. The model is that of plain cross entropy."}


def test_no_settings_are_no_others_than_none(tmp_path: Path):
    """On the command line there are always some, if only none."""
    said: list[str] = []
    for settings in (None, {}):
        compare(
            small(), tmp_path, methods="cross_entropy", seeds=1, beside=(), say=said.append, settings=settings, **HOW
        )
    assert said == ["cross_entropy, seed 0"]


def test_two_processes_share_a_folder_and_a_killed_one_loses_nothing(tmp_path: Path):
    words = ["digits", "--noise", "uniform:0.4", "--epochs", "1", "--methods", "rsl", "--seeds", "1", "--device", "cpu"]
    command = [sys.executable, "-m", "smallloss", "compare", *words, "--out", str(tmp_path / "out")]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list((tmp_path / "out").glob("runs/*/config.json")) and killed.poll() is None:
        time.sleep(0.02)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [one.communicate() for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    done = [(row["method"], row["seed"]) for row in lines(tmp_path / "out")]
    assert sorted(done) == [("confident_learning", 0), ("cross_entropy", 0), ("rsl", 0)]


# --- what they stand on --------------------------------------------------------------------------------------


def test_a_claim_is_one_process_s_until_it_ends(tmp_path: Path):
    with claim(tmp_path / "c") as mine, claim(tmp_path / "c") as other:
        assert (mine, other) == (True, False)
    with claim(tmp_path / "c") as again:
        assert again


@pytest.mark.parametrize("line", ["{", "[]", '{"format": 2, "cell": "", "method": "", "seed": 0}', '{"format": 1}'])
def test_a_line_of_another_version_or_damaged_is_named(tmp_path: Path, line: str):
    (tmp_path / "cells.jsonl").write_text(f"{line}\n")
    with pytest.raises(InputError, match=r"Line 1 of .* not written by this version"):
        Results(tmp_path).rows()


def test_the_difference_over_seeds_counts_an_example_once():
    """Four examples under two seeds; the second seed repeats the first: no narrower than the first alone."""
    index, ours, theirs = np.arange(4), np.array([1, 1, 1, 0], bool), np.array([1, 0, 0, 0], bool)
    found = difference({0: (index, ours), 1: (index, ours)}, {0: (index, theirs), 1: (index, theirs)})
    # mean .5; residuals +-.5 of each example, twice: sqrt(4 * 1^2) / 8 = .25
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5 - 1.96 * 0.25, 0.5 + 1.96 * 0.25), abs=1e-4)
    assert difference({3: (index, ours)}, {3: (index, theirs)}) == paired(ours, theirs)


@pytest.mark.parametrize(
    "data, asked, words",
    [
        ("digits", {"methods": "rsl,nothing"}, "no method named 'nothing'"),
        ("digits", {"methods": " , "}, "--methods names none"),
        ("digits", {"colour": "red"}, "no option 'colour'"),
        ("digits", {"out": "full"}, "not empty and not a comparison"),
        ("nothing.csv", {}, "no table at"),
    ],
)
def test_bad_wishes_are_refused(tmp_path: Path, data: str, asked: dict[str, Any], words: str):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    wish: dict[str, Any] = {"methods": "rsl", "out": "out", "say": lambda words: None} | asked
    with pytest.raises(InputError, match=words):
        compare(data, **wish | {"out": tmp_path / wish["out"]})
    assert data == "nothing.csv" or not (tmp_path / "out").exists()
