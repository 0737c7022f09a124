"""What was measured: one JSON line for each finished run, in one file that several processes add to."""

import fcntl
import json
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import smallloss
from smallloss.errors import InputError
from smallloss.files import write_text

FORMAT = 1  # of a line
KEY = ("method", "seed")  # two lines that agree in these are of the same run


@contextmanager
def claim(place: Path, *, wait: bool = False) -> Iterator[bool]:
    """Is this ours now? The kernel frees it however a process ends: another takes over what a dead one began."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


class Results:
    """The lines of a folder. A key that is there is done, and never measured again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "cells.jsonl"

    def rows(self) -> list[dict[str, Any]]:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return [self._row(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]

    def done(self) -> set[tuple[Any, ...]]:
        return {tuple(row[name] for name in KEY) for row in self.rows()}

    def add(self, row: dict[str, Any]) -> None:
        """The file is replaced as a whole: where the disk is full, the lines before are still there."""
        line = json.dumps({"format": FORMAT, **row, **made_by()}, allow_nan=False)
        with claim(self.folder / ".claims" / "results", wait=True):
            before = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
            write_text(self.path, f"{before}{line}\n")

    def _row(self, number: int, line: str) -> dict[str, Any]:
        try:
            row = json.loads(line)
            if row["format"] == FORMAT and all(name in row for name in KEY):
                return dict(row)
        except (json.JSONDecodeError, KeyError, TypeError):
            pass
        raise InputError(
            f"Line {number} of {self.path} was not written by this version of smallloss, or is damaged; name another "
            "folder, or delete the line to have it measured again."
        )


def made_by() -> dict[str, str]:
    """Where a line comes from: version, commit where there is one, hardware."""
    import torch

    where = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"]
    try:
        commit = subprocess.run(where, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no git here
        commit = ""
    on = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{platform.machine()} CPU"
    return {"version": smallloss.__version__, "commit": commit, "hardware": f"{on}, torch {torch.__version__}"}
