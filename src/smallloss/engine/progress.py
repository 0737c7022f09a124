"""Progress with time left; silent when nobody watches."""

import sys
from typing import Any


class Progress:
    """One bar per stage on a terminal, nothing elsewhere."""

    def __init__(self, *, enabled: bool | None = None) -> None:
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self._bars: Any = None
        self._task: Any = None

    def __enter__(self) -> "Progress":
        if self.enabled:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bars

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
            )
            self._bars = Bars(*columns, console=Console(stderr=True))
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def stage(self, name: str, epochs: int, done: int) -> None:
        if self._bars is not None:
            self._task = self._bars.add_task(name, total=epochs, completed=done, note="")

    def epoch(self, note: str) -> None:
        if self._bars is not None:
            self._bars.update(self._task, advance=1, note=note)
