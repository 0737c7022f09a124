"""Progress with the time left over all that is to do; silent when nobody watches."""

import sys
from collections.abc import Mapping
from typing import Any

_BAR = 12  # what is left of 80 columns beside the longest name of a stage and its losses
_MEMORY = 3600.0  # seconds that the pace is taken over: an epoch may take minutes


class Progress:
    """One line on a terminal for all stages that were planned, one for each other; nothing elsewhere."""

    def __init__(self, *, enabled: bool | None = None) -> None:
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self._bars: Any = None
        self._task: Any = None
        self._planned: Any = None  # the line for all
        self._work: dict[str, float] = {}
        self._of_one = 1.0  # the work of an epoch of this stage
        self._name, self._at, self._epochs = "", 0, 0

    def __enter__(self) -> "Progress":
        if self.enabled:
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bars

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(_BAR),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
            )
            self._bars = Bars(*columns, console=Console(stderr=True), speed_estimate_period=_MEMORY)
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def plan(self, work: Mapping[str, float]) -> None:
        """How much each stage is to do, in any unit, by its name and in their order."""
        self._work = dict(work)

    def stage(self, name: str, epochs: int, done: int) -> None:
        if self._bars is None:
            return
        self._name, self._at, self._epochs = name, done, epochs
        if name not in self._work:
            self._of_one = 1.0
            self._task = self._bars.add_task(self._said(), total=epochs, completed=done, note="")
            return
        if self._planned is None:
            self._planned = self._bars.add_task("", total=sum(self._work.values()), note="")
        names, self._of_one = list(self._work), self._work[name] / epochs
        before = sum(self._work[one] for one in names[: names.index(name)]) + self._of_one * done
        self._task = self._planned
        if abs(self._bars.tasks[self._bars.task_ids.index(self._task)].completed - before) > 1e-6 * before:
            self._bars.reset(self._task, completed=before)  # what is done already says nothing of the pace
        self._bars.update(self._task, description=self._said(), note="")

    def epoch(self, note: str) -> None:
        if self._bars is not None:
            self._at += 1
            self._bars.update(self._task, advance=self._of_one, description=self._said(), note=note)

    def _said(self) -> str:
        return f"{self._name} {self._at}/{self._epochs}"
