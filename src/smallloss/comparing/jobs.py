"""Methods by seeds, each run once, by as many processes as share the folder; those of one seed share stage 1.

What was measured is one JSON line for each finished run, in one file that all of them add to.
"""

import fcntl
import json
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import smallloss
from smallloss.comparing.facts import facts_of
from smallloss.errors import InputError, SmallLossError
from smallloss.files import write_text
from smallloss.knobs import usual
from smallloss.report.compare import REFERENCE
from smallloss.run.clean import clean

_AGAIN_SECONDS = 1.0  # between two looks at what another process has in hand
FORMAT = 1  # of a line
KEY = ("method", "seed")  # two lines that agree in these are of the same run


class Job(NamedTuple):
    method: str
    seed: int

    @property
    def base(self) -> "Job":
        """Plain training on the same: its stage 1 is everybody's."""
        return Job(REFERENCE, self.seed)

    @property
    def name(self) -> str:
        return f"{self.method} {self.seed}"


def run_of(folder: Path, method: str, seed: int) -> Path:
    return folder / "runs" / f"{method}-{seed}"


@dataclass(frozen=True)
class Grid:
    """Jobs on a folder: cells.jsonl, a run folder for each, claims, and why some failed."""

    folder: Path
    options: dict[str, Any]  # of `clean`

    @property
    def results(self) -> "Results":
        return Results(self.folder)

    def run_of(self, method: str, seed: int) -> Path:
        return run_of(self.folder, method, seed)

    def work(self, jobs: Sequence[Job], say: Callable[[str], None]) -> dict[str, str]:
        """Every job once, whatever other processes do here at the same time. Name -> why, of those that failed.

        Plain training comes first: without it nothing can be compared, nor begin.
        """
        needed = {*jobs, *(job.base for job in jobs)} - self.results.done()
        left, failed = sorted(needed, key=lambda job: (job != job.base, job.seed, job.method)), dict[str, str]()
        while left:
            busy = [job for job in left if not self._settled(job, failed, say)]
            if len(busy) == len(left):
                time.sleep(_AGAIN_SECONDS)
            left = busy
        return failed

    def _settled(self, job: Job, failed: dict[str, str], say: Callable[[str], None]) -> bool:
        """Done or failed by now? No: somebody else has it, or the plain training that it needs."""
        with claim(self.folder / ".claims" / self.run_of(*job).name) as ours:
            if not ours:
                return False
            done = self.results.done()
            if job in done:
                return True
            if job != job.base and job.base not in done:
                if job.base.name in failed:
                    failed[job.name] = f"the plain training beside it failed ({failed[job.base.name]})"
                return job.name in failed
            self._attempt(job, failed, say)
            return True

    def _attempt(self, job: Job, failed: dict[str, str], say: Callable[[str], None]) -> None:
        note = self.folder / "failed" / f"{self.run_of(*job).name}.txt"
        say(f"{job.method}, seed {job.seed}{' (it failed before, and is tried again)' if note.exists() else ''}")
        try:
            self.results.add(job._asdict() | self._measured(job))
        except SmallLossError as error:
            if isinstance(error, InputError) and job == job.base:  # what was asked is wrong for every method
                raise
            failed[job.name] = str(error)
            note.parent.mkdir(exist_ok=True)
            write_text(note, f"{error}\n")
        else:
            note.unlink(missing_ok=True)

    def _measured(self, job: Job) -> dict[str, Any]:
        """Of a run from the stages that plain training on the same has left."""
        from smallloss.run.pipeline import start

        own = {"out": self.run_of(*job), "method": job.method, "seed": job.seed, "ship": "method", "progress": False}
        data = self.options["data"]
        own["data"] = data(job.seed) if callable(data) else data
        run = start(usual(clean) | self.options | own | {"stages_of": self.run_of(*job.base)})
        if run.learned.method != job.method:  # too few examples were left to learn from
            raise SmallLossError(run.result.notes[0])
        return facts_of(run)


# --- what they share ----------------------------------------------------------------------------------------------


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
