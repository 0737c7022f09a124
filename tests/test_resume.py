"""A run that is killed (SIGKILL, so nothing can be tidied up) ends byte-equal to one that was left alone."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-c", "from smallloss.cli import main; main()"]
EPOCHS = 5
SAME = ("ledger.npz", "selection.npz", "examples.parquet", "examples.csv", "model.safetensors", "config.json")


def start(out: Path, method: str) -> subprocess.Popen[str]:
    arguments = ["clean", "digits", "--out", str(out), "--epochs", str(EPOCHS), "--method", method, "--device", "cpu"]
    settings = ["--set", "mixmatch.steps_per_epoch=10", "--set", "mixmatch.rounds=2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*COMMAND, *arguments, *settings],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors


def lines(out: Path) -> list[str]:
    path = out / "metrics.jsonl"
    return [line for line in path.read_text().splitlines() if line.endswith("}")] if path.exists() else []


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(out)]


def kill_after(process: subprocess.Popen[str], out: Path, stage: str, epochs: int) -> list[str]:
    """SIGKILL once `epochs` epochs of `stage` are on record; the lines that were there."""
    deadline = time.monotonic() + 240
    while sum(row["stage"] == stage for row in rows(out)) < epochs:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (out / "report.html").exists()
    return lines(out)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method, kills", [("rsl", [("stage1", 2), ("rsl", 2)]), ("rsl_wm", [("rsl_wm", 3)])], ids=["rsl", "rsl_wm"]
)
def test_a_killed_run_goes_on_with_the_same_command(method, kills, tmp_path):
    """The last kill of RSL_WM lies after its second look, so that a new selection must have been kept."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    finish(start(whole, method))

    before: list[str] = []
    for stage, epochs in kills:
        after = kill_after(start(killed, method), killed, stage, epochs)
        assert after[: len(before)] == before  # seconds and all: a finished epoch was never trained twice
        before = after
    finish(start(killed, method))

    for name in SAME:
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    assert lines(killed)[: len(before)] == before
    done = [(row["stage"], row["epoch"]) for row in rows(killed)]
    assert done == [(stage, epoch) for stage in ("stage1", method) for epoch in range(EPOCHS)]
    times = {"seconds", "train_seconds", "score_seconds"}
    curves = [[{k: v for k, v in row.items() if k not in times} for row in rows(out)] for out in (whole, killed)]
    assert curves[0] == curves[1]
