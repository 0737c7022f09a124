"""The command as a user gives it: in this process, where torch is loaded already, or in one of its own."""

import io
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import pytest

from smallloss.cli import app

PROGRAM = [sys.executable, "-m", "smallloss"]


class Said(NamedTuple):
    out: str
    err: str


def smallloss(*words: Any, status: int = 0) -> Said:
    """What it says, with that exit status."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stopped:
        app([*map(str, words)], prog_name="smallloss")
    assert (stopped.value.code or 0) == status, out.getvalue() + err.getvalue()
    return Said(out.getvalue(), err.getvalue())


def sentence(*words: Any, status: int = 2) -> str:
    """What is said when something is refused: one line, and before that nothing."""
    said = smallloss(*words, status=status)
    assert not said.out
    assert said.err.startswith("smallloss: ")
    assert said.err.count("\n") == 1
    return said.err


def process(*words: Any, status: int = 0, program: Iterable[str] = PROGRAM) -> Said:
    """In a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1"}
    environment.pop("SMALLLOSS_DEBUG", None)
    command = [*program, *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return Said(done.stdout, done.stderr)
