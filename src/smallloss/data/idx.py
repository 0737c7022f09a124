"""The idx files of MNIST and Fashion-MNIST, gzipped or not; and scikit-learn's digits, which come with the package."""

import gzip
import math
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from smallloss.criterion.transition import DIGITS_MAP
from smallloss.data.arrays import from_arrays
from smallloss.data.dataset import Dataset
from smallloss.data.source import Source
from smallloss.errors import InputError

_UNSIGNED_BYTE = 8


def load_idx(folder: Path) -> Dataset:
    """The train files of a folder, and the official test set where its t10k files are there.

    With the official test set beside it this is a benchmark, and its labels count as true.
    """
    images, labels = _pair(folder, "train")
    test = _pair(folder, "t10k") if _there(folder, "t10k-images-idx3-ubyte") else None
    truth = None if test is None else labels
    return replace(from_arrays(images, labels, name=folder.name, true_labels=truth, test=test), values=None)


def holds_idx(folder: Path) -> bool:
    return bool(_there(folder, "train-images-idx3-ubyte"))


IDX = Source("idx:FOLDER", load_idx, "idx", needs="the place of its files", holds=holds_idx)


def load_digits() -> Dataset:
    """1,797 gray pictures of 8x8."""
    from sklearn.datasets import load_digits as read

    images, labels = read(return_X_y=True)
    codes = np.asarray(labels, dtype=np.int64)
    pictures = np.rint(images.reshape(-1, 8, 8, 1) * (255 / 16)).astype(np.uint8)
    return Dataset(pictures, codes, tuple("0123456789"), name="digits", true_labels=codes, class_map=tuple(DIGITS_MAP))


DIGITS = Source("digits", load_digits, "digits")


def _there(folder: Path, stem: str) -> list[Path]:
    """`stem` as the official sets spell it, plain or gzipped."""
    return [path for path in (folder / stem, folder / f"{stem}.gz") if path.is_file()]


def _pair(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    images, labels = _read(folder, f"{part}-images-idx3-ubyte"), _read(folder, f"{part}-labels-idx1-ubyte")
    if len(images) != len(labels):
        raise InputError(f"{folder} holds {len(images):,} {part} pictures but {len(labels):,} labels; give one each.")
    return images[..., None], labels


def _read(folder: Path, stem: str) -> np.ndarray:
    """One idx file of unsigned bytes: magic, sizes, then the values. Its name tells how many dimensions it has."""
    found = _there(folder, stem)
    if not found:
        raise InputError(f"There is no file {stem} or {stem}.gz in {folder}; put the idx files of the set there.")
    path, dimensions = found[0], int(stem.partition("-idx")[2][0])
    data = path.read_bytes()
    try:
        data = gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} ({len(data):,} bytes) is not a whole gzip file: {error}") from error
    header, magic = 4 + 4 * dimensions, bytes((0, 0, _UNSIGNED_BYTE, dimensions))
    if len(data) < header:
        raise InputError(f"{path} is cut short: its header alone takes {header} bytes, found {len(data):,}.")
    if data[:4] != magic:
        raise InputError(
            f"{path} does not begin like an idx file of unsigned bytes in {dimensions} dimensions: "
            f"expected {magic.hex()}, found {data[:4].hex()}."
        )
    shape = struct.unpack(f">{dimensions}I", data[4:header])
    expected = header + math.prod(shape)
    if len(data) != expected:
        fault = "is cut short" if len(data) < expected else "is too long"
        raise InputError(f"{path} {fault}: expected {expected:,} bytes for the shape {shape}, found {len(data):,}.")
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(shape).copy()
