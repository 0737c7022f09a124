"""A run is a folder: marked as ours, locked while in use, refused when it belongs to something else."""

import json
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from smallloss.errors import InputError, SmallLossError
from smallloss.files import is_leftover, sweep, write_json, write_text

MARKER = "config.json"
_LOCK = ".lock"
_NOTHING: tuple[Any, ...] = (None, [], {})  # a setting that is new and not used differs from none


class RunFolder:
    """`with RunFolder(path, config) as folder:` creates the run or goes on with it."""

    def __init__(self, path: str | Path, config: dict[str, Any]) -> None:
        self.path = Path(path)
        self._config = json.loads(json.dumps(config))  # as it will be read back: tuples are lists
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> "RunFolder":
        self._refuse_strangers()
        self.path.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        try:
            self._begin_or_go_on()
        except BaseException:
            self._release_lock()
            raise
        return self

    def _begin_or_go_on(self) -> None:
        marker = self.path / MARKER
        if marker.exists():
            different = _differences(read_config(self.path), {"smallloss_run": 1, **self._config})
            if different:
                raise InputError(
                    f"{self.path} holds a run with other settings ({'; '.join(different[:5])}). "
                    "Give the same command to go on with it, or another --out."
                )
        sweep(self.path)
        if not marker.exists():
            write_json(marker, {"smallloss_run": 1, **self._config})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release_lock()

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def start_metrics(self, rows: Iterable[dict[str, Any]]) -> None:
        """Lay down exactly the rows that are committed, before new ones are appended."""
        write_text(self.path / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def add_metrics(self, row: dict[str, Any]) -> None:
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def _refuse_strangers(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"--out {self.path} is a file; name a folder")
        if self.path.is_dir() and not (self.path / MARKER).exists():
            names = [entry.name for entry in self.path.iterdir()]
            others = [name for name in names if name != _LOCK and not is_leftover(name)]
            if others:
                raise InputError(
                    f"--out {self.path} is not empty and not a run of ours (it holds {others[0]!r}); "
                    "name another folder"
                )

    def _take_lock(self) -> None:
        import fcntl  # freed by the kernel however the process ends, also by SIGKILL

        self._lock = (self.path / _LOCK).open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise SmallLossError(
                f"{self.path} is in use by another process; wait for it or name another --out"
            ) from None

    def _release_lock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def read_config(path: Path) -> dict[str, Any]:
    """The settings a run was made with."""
    marker = path / MARKER
    if not marker.is_file():
        raise InputError(f"{path} is not a run folder (it has no {MARKER}); name one that `smallloss clean` made")
    try:
        config = json.loads(marker.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{marker} cannot be read ({error}); it is not a run of ours or was damaged") from error
    if not isinstance(config, dict) or "smallloss_run" not in config:
        raise InputError(f"{marker} was not written by smallloss; name another folder")
    return config


def _differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """What another command would change, in words."""
    found: list[str] = []
    free = {"version", "versions", "source", "label", "chosen"}  # an upgrade, moved data or words must not end a run
    for name in sorted((old.keys() | new.keys()) - free):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            found += _differences(before, after, f"{prefix}{name}.")
        elif before != after and not (before in _NOTHING and after in _NOTHING):
            found.append(f"{prefix}{name} was {before!r}, now {after!r}")
    return found
