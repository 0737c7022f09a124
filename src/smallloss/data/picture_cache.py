"""Decoded pictures too large for memory: one mapped .npy file per set, kept for the next run."""

import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np

from smallloss import files
from smallloss.data.decode import Source
from smallloss.data.npz import read_npy
from smallloss.errors import InputError


def cache_folder() -> Path:
    """Where the user's system keeps what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smallloss" / "pictures"


class PictureCache:
    """The place of one set, named after its files (path, length, time of change) and the shape they become."""

    def __init__(self, sources: Sequence[Source], shape: tuple[int, ...], folder: Path | None) -> None:
        self.shape = shape
        self.folder = cache_folder() if folder is None else folder
        digest = hashlib.sha256(f"1 {shape}".encode())
        here = f"{Path.cwd()}{os.sep}"
        for source in sources:
            digest.update(_mark(source, here))
        self.array = self.folder / f"{digest.hexdigest()[:32]}.npy"
        self.facts = self.array.with_suffix(".json")
        self.unfinished: Path | None = None
        self.found: tuple[np.ndarray, dict[int, str]] | None = None

    def __enter__(self) -> "PictureCache":
        """With what an earlier run `found`, if one ended well."""
        if self.array.is_file() and self.facts.is_file():
            self._open()
        return self

    def start(self) -> np.ndarray:
        self.folder.mkdir(parents=True, exist_ok=True)
        needed, free = math.prod(self.shape), shutil.disk_usage(self.folder).free
        if needed > free:  # writing to a mapped file on a full disk would end the process
            raise InputError(
                f"The decoded pictures take {needed / 2**30:.1f} GiB, and {self.folder} has {free / 2**30:.1f} GiB "
                "left; make room, or set XDG_CACHE_HOME to a folder with more."
            )
        handle, name = tempfile.mkstemp(suffix=".tmp", dir=self.folder)
        os.close(handle)
        self.unfinished = Path(name)
        self.mapped = np.lib.format.open_memmap(name, mode="w+", dtype=np.uint8, shape=self.shape)
        return self.mapped

    def finish(self, reasons: dict[int, str]) -> None:
        """Give the file its name, which says that it is whole; the reasons are there before it."""
        assert self.unfinished is not None
        self.mapped.flush()
        files.write_json(self.facts, {str(position): reason for position, reason in reasons.items()})
        self.unfinished.replace(self.array)
        self._open()

    def _open(self) -> None:
        reasons = json.loads(self.facts.read_text(encoding="utf-8"))
        mapped = read_npy(self.array, mapped=True)
        self.found = mapped, {int(position): reason for position, reason in reasons.items()}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing half-written behind."""
        if self.unfinished is not None:
            self.unfinished.unlink(missing_ok=True)


def _mark(source: Source, here: str) -> bytes:
    """Plain text and one call to the system: with a Path, 100,000 marks take as long as a quarter of the decoding."""
    if isinstance(source, bytes):
        return hashlib.sha256(source).digest()
    try:
        facts = os.stat(source)  # noqa: PTH116
        state = f"{facts.st_size} {facts.st_mtime_ns}"
    except (OSError, ValueError):
        state = "missing"
    place = source if source.startswith(os.sep) else here + source
    return f"{place}\0{state}\0".encode(errors="surrogateescape")
