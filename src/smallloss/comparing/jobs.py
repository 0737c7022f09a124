"""Many runs, each done once, by as many processes as share the folder; those of one cell and seed share stage 1."""

import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from smallloss.comparing.facts import facts_of
from smallloss.comparing.results import KEY, Results, claim
from smallloss.errors import InputError, SmallLossError
from smallloss.files import write_text
from smallloss.knobs import usual
from smallloss.report.compare import REFERENCE
from smallloss.run.clean import CleanRun, clean

_AGAIN_SECONDS = 1.0  # between two looks at what another process has in hand


@dataclass(frozen=True)
class Job:
    """One method on one cell with one seed. `changed` is what only its later stages are told: beta=0.1."""

    cell: str
    method: str
    seed: int
    recipe: str
    changed: tuple[tuple[str, Any], ...] = ()

    @property
    def said(self) -> dict[str, Any]:
        changed = ", ".join(f"{name}={value}" for name, value in self.changed)
        return dict(zip(KEY, (self.cell, self.method, self.seed, self.recipe, changed), strict=True))

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(self.said.values())

    @property
    def base(self) -> "Job":
        """Plain training on the same: its stage 1 is everybody's."""
        return replace(self, method=REFERENCE, changed=())

    @property
    def name(self) -> str:
        return " ".join(str(part) for part in self.key if part != "")

    @property
    def words(self) -> str:
        parts = (self.cell, self.method, f"seed {self.seed}", self.recipe, self.said["changed"])
        return ", ".join(part for part in parts if part)

    @property
    def place(self) -> str:
        return re.sub(r"[^\w.=@-]+", "-", self.name)


class Grid:
    """Jobs on a folder: cells.jsonl, a run folder for each that is not finished, claims, and why some failed."""

    def __init__(self, folder: Path, options: Callable[[Job], dict[str, Any]], *, keep: bool, **more: Any) -> None:
        """options: of `clean`, for a job. keep: run folders stay. more: facts of a run by name, from a CleanRun."""
        self.folder, self.options, self.keep, self.more = folder, options, keep, more
        self.results = Results(folder)

    def run_of(self, job: Job) -> Path:
        return self.folder / "runs" / job.place

    def run_of_row(self, row: dict[str, Any]) -> Path:
        return self.run_of(Job(row["cell"], row["method"], row["seed"], row["recipe"]))

    def left(self, jobs: Sequence[Job]) -> list[Job]:
        """What is to be done of them, plain training first: without it nothing can be compared, nor begin."""
        done = self.results.done()
        needed = [job for job in jobs if job.key not in done]
        return sorted({*needed, *(job.base for job in needed if job.base.key not in done)}, key=_in_order)

    def work(self, jobs: Sequence[Job], say: Callable[[str], None]) -> dict[str, str]:
        """Every job once, whatever other processes do here at the same time. Name -> why, of those that failed."""
        left, failed = self.left(jobs), dict[str, str]()
        while left:
            busy = [job for job in left if not self._settled(job, failed, say)]
            if len(busy) == len(left):
                time.sleep(_AGAIN_SECONDS)
            left = busy
        if not self.keep and not failed:
            for job in jobs:
                shutil.rmtree(self.run_of(job.base), ignore_errors=True)
        return failed

    def _settled(self, job: Job, failed: dict[str, str], say: Callable[[str], None]) -> bool:
        """Done or failed by now? No: somebody else has it, or the plain training that it needs."""
        with claim(self.folder / ".claims" / job.place) as ours:
            if not ours:
                return False
            done = self.results.done()
            if job.key in done:
                return True
            if job != job.base and job.base.key not in done:
                if job.base.name in failed:
                    failed[job.name] = f"the plain training beside it failed ({failed[job.base.name]})"
                return job.name in failed
            self._attempt(job, failed, say)
            return True

    def _attempt(self, job: Job, failed: dict[str, str], say: Callable[[str], None]) -> None:
        note = self.folder / "failed" / f"{job.place}.txt"
        say(f"{job.words}{' (it failed before, and is tried again)' if note.exists() else ''}")
        try:
            self.results.add(job.said | self._measured(job))
        except InputError as error:
            if job == job.base:  # what was asked is wrong for every method
                raise
            failed[job.name] = str(error)
        except SmallLossError as error:
            failed[job.name] = str(error)
        if job.name in failed:
            note.parent.mkdir(exist_ok=True)
            write_text(note, failed[job.name] + "\n")
            return
        note.unlink(missing_ok=True)
        if not self.keep and job != job.base:
            shutil.rmtree(self.run_of(job), ignore_errors=True)

    def _measured(self, job: Job) -> dict[str, Any]:
        run = one_run(self, job)
        return facts_of(run) | {name: measure(run) for name, measure in self.more.items()}


def one_run(grid: Grid, job: Job) -> CleanRun:
    """The run of a job, from the stages that plain training on the same has left."""
    from smallloss.run.pipeline import start

    own = {"out": grid.run_of(job), "method": job.method, "seed": job.seed, "ship": "method", "progress": False}
    run = start(usual(clean) | grid.options(job) | own | {"stages_of": grid.run_of(job.base)})
    if run.learned.method != job.method:  # too few examples were left to learn from
        raise SmallLossError(run.result.notes[0])
    return run


def _in_order(job: Job) -> tuple[Any, ...]:
    return (job != job.base, job.seed, job.cell, job.recipe, job.method, str(job.changed))
