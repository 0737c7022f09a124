"""Plain arrays from .npy and .npz files, never pickles, with errors as sentences."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from smallloss.errors import InputError


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
