"""Files: written so that a reader sees the old one or the new one, never half; arrays read without pickle; paths."""

import errno
import json
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from smallloss.errors import InputError, SmallLossError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no room: nobody gave a wrong path

PREFIX, SUFFIX = ".smallloss-", ".tmp"  # of what is written beside its target and renamed at the end
_UP = 2  # folders that a relative path may climb; what lies further away is not likely to move along
_LEFTOVER = re.compile(r"\.smallloss-[a-z0-9_]{8}(\.tmp)?")  # with the letters that `tempfile` puts in between


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file beside the target, to write to; at the end it is flushed to disk and renamed over the target."""
    target = Path(path)
    require_folder(target)  # otherwise the error would name the file beside it
    handle, name = tempfile.mkstemp(prefix=PREFIX, suffix=SUFFIX, dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # mkstemp makes private files; a run folder is an ordinary one
        Path(name).replace(target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL:
            raise SmallLossError(
                f"{target} could not be written: {error.strerror}. Make room, then give the same command again."
            ) from error
        raise


def require_folder(target: Path) -> None:
    """Refuse to write into a folder that is not there."""
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent} to write {target.name} to; make it first.")


def place(path: str | os.PathLike[str]) -> Path:
    """Where it is, from the root and without `..`: a link or a run must not break when a folder on the way goes.

    Its own name stays, be it a link: whoever may not write through one must still see it.
    """
    whole = Path(path).expanduser().absolute()
    if ".." not in whole.parts:
        return whole
    return whole.resolve() if whole.name == ".." else whole.parent.resolve() / whole.name


def is_leftover(name: str) -> bool:
    """Is a file or folder of this name what a kill in the middle of a write of ours left behind?"""
    return _LEFTOVER.fullmatch(name) is not None


def sweep(folder: Path) -> None:
    """Take away what killed writes left in a folder or below it, and nothing else; links are not followed."""
    for path in [path for path in folder.rglob(".smallloss-*") if is_leftover(path.name)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)  # it may have been in a folder that is gone by now


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


def require_file(path: str | Path, what: str) -> Path:
    """The path, or a sentence that says what was looked for and where."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no {what} at {path}; put the file there or give its path.")
    return path


def read_npz(path: str | Path) -> dict[str, np.ndarray]:
    path = require_file(path, "npz file")
    try:
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it holds a single array; name it .npy")
        with archive:
            return {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} cannot be read as an npz file of plain arrays: {error}") from error


def read_npy(path: str | Path, *, mapped: bool = False) -> np.ndarray:
    """One array; with `mapped` it stays on disk, is read where it is used and never written."""
    path = require_file(path, "npy file")
    try:
        array = np.load(path, allow_pickle=False, mmap_mode="c" if mapped else None)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read as an npy file of one plain array: {error}") from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} is an npz archive, not a single array; name it .npz.")
    return array


def printable(name: str) -> str:
    """A name as it is; bytes that are no UTF-8, which no table could hold, as \\x escapes."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")


def file_of(root: Path, name: str) -> Path:
    """The file below `root` that a `printable` name stands for."""
    if "\\" not in name or (root / name).exists():
        return root / name
    if (root / name.replace("\\", "/")).exists():  # written on Windows
        return root / name.replace("\\", "/")
    escaped = re.sub(rb"\\x([89a-f][0-9a-f])", lambda byte: bytes.fromhex(byte[1].decode()), name.encode())
    return root / os.fsdecode(escaped)


def seen_from(folder: Path, file: Path) -> str:
    """The path of a file as a table in `folder` has it: relative where the two are close, else absolute."""
    near = os.path.relpath(file, folder)
    climbs = Path(near).parts.count("..")
    close = climbs <= _UP and climbs < len(folder.parts) - 1  # the root of all is close to nothing
    return printable(near if close and _is_same(folder / near, file) else str(file))


def _is_same(one: Path, other: Path) -> bool:
    """Past a link to a folder, the way up and the way down need not be one."""
    try:
        return one.samefile(other)
    except OSError:
        return False
