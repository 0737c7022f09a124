"""Atomic files: a reader sees the old file or the new one, never half of one."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from smallloss.errors import InputError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file beside the target, to write to; at the end it is flushed to disk and renamed over the target."""
    target = Path(path)
    if not target.parent.is_dir():  # otherwise the error would name the file beside it
        raise InputError(f"There is no folder {target.parent} to write {target.name} to; make it first.")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # mkstemp makes private files; a run folder is an ordinary one
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    with replacing(path) as file:
        file.write(data)
    return Path(path)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    return write_bytes(path, text.encode("utf-8"))


def write_json(path: str | os.PathLike[str], value: Any) -> Path:
    return write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> Path:
    """Plain arrays only: an object array would need pickle, and is refused by numpy here."""
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, **arrays)
    return Path(path)
