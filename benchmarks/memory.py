"""The most memory that a process and its children held at once (Linux), sampled while something runs."""

import os
import threading
from pathlib import Path
from types import TracebackType

_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20


class PeakMemory:
    """with PeakMemory() as peak: ...; then peak.mib. Pages that two processes share count twice."""

    def __init__(self, pid: int | None = None, every: float = 0.05) -> None:
        self.pid, self.every, self.mib = pid or os.getpid(), every, 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.mib = max(self.mib, resident(self.pid))
            if self._stop.wait(self.every):
                return


def resident(pid: int) -> float:
    """MiB of a process and all below it; those that end meanwhile count nothing."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = [
            int(child)
            for thread in Path(f"/proc/{pid}/task").iterdir()
            for child in (thread / "children").read_text().split()
        ]
    except OSError:
        return 0.0
    return pages * _PAGE_MIB + sum(map(resident, children))
