"""CIFAR-10 and CIFAR-100 from the official files, binary or python version, unpacked or as tar.gz; and CIFAR-N.

CIFAR-10N and CIFAR-100N (Wei et al. 2022) are labels given to the training pictures by people.
"""

import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np

from smallloss.criterion.transition import CIFAR10_MAP
from smallloss.data.dataset import Dataset
from smallloss.data.restricted_pickle import read_pickle
from smallloss.data.source import Source
from smallloss.errors import InputError
from smallloss.files import read_npz, require_file

_PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class _Layout:
    """One official distribution: its folder, its files, and how a file holds its records."""

    folder: str
    train: tuple[str, ...]
    test: str
    meta: str
    labels: str  # the key of the labels in a python file, of the names in a meta file
    label_bytes: int  # bytes before the pixels of a binary record; the last of them is the label; 0: python version

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.train, self.test)

    def share(self, file: str) -> int:
        """A file holds this many times the test set: a batch of CIFAR-10 once, CIFAR-100's train 5 times."""
        return 1 if file == self.test else 5 // len(self.train)


_BATCHES = tuple(f"data_batch_{i}" for i in range(1, 6))
_BINARY = tuple(f"{name}.bin" for name in _BATCHES)
_LAYOUTS = {
    "cifar10": (
        _Layout("cifar-10-batches-bin", _BINARY, "test_batch.bin", "batches.meta.txt", "", 1),
        _Layout("cifar-10-batches-py", _BATCHES, "test_batch", "batches.meta", "label", 0),
    ),
    "cifar100": (
        _Layout("cifar-100-binary", ("train.bin",), "test.bin", "fine_label_names.txt", "", 2),
        _Layout("cifar-100-python", ("train",), "test", "meta", "fine_label", 0),
    ),
}
_CLASSES = {"cifar10": 10, "cifar100": 100}
_NORMALISATION = {  # the constants of the authors' code
    "cifar10": ((0.491, 0.482, 0.447), (0.247, 0.243, 0.262)),
    "cifar100": ((0.5071, 0.4865, 0.4465), (0.2673, 0.2564, 0.2762)),
}

_SHORT_NAMES = {"aggre": "aggre_label", "worst": "worse_label", "noisy": "noisy_label"}  # as the papers write them
_SHORT_NAMES |= {f"random{i}": f"random_label{i}" for i in (1, 2, 3)}


def load_cifar(name: str, path: Path) -> Dataset:
    """`name` is cifar10 or cifar100; `path` the official folder, its parent, or the official tar.gz."""
    layout, files = _find(name, path)
    missing = [file for file in layout.files if file not in files]
    if missing:
        raise InputError(f"{path} lacks {', '.join(missing)} of {layout.folder}; unpack the official archive again.")
    read = _read_python if layout.label_bytes == 0 else _read_binary
    parts = read(layout, files, path)
    classes = _class_names(layout, files, path, _CLASSES[name])
    images = np.concatenate([pixels.reshape(-1, 3, 32, 32) for pixels, _ in parts]).transpose(0, 2, 3, 1)
    labels = np.concatenate([labels for _, labels in parts]).astype(np.int64)
    images = np.ascontiguousarray(images)
    n = len(images) - len(parts[-1][1])
    test = Dataset(images[n:], labels[n:], classes, f"{name} test", true_labels=labels[n:])
    map_of = tuple(CIFAR10_MAP) if name == "cifar10" else None
    return Dataset(
        images[:n], labels[:n], classes, name, true_labels=labels[:n], test=test,
        normalisation=_NORMALISATION[name], flip=True, class_map=map_of,
    )  # fmt: skip


def _source(name: str) -> Source:
    return Source(f"{name}:PATH", partial(load_cifar, name), name, needs="the place of its files")


CIFAR10, CIFAR100 = _source("cifar10"), _source("cifar100")


def _find(name: str, path: Path) -> tuple[_Layout, dict[str, bytes]]:
    """The layout that is there, and the bytes of its files by name."""
    look: Callable[[Path, _Layout], dict[str, bytes]] = _from_tar if path.is_file() else _from_folder
    for layout in _LAYOUTS[name]:
        files = look(path, layout)
        if files.keys() & set(layout.files):
            return layout, files
    folders = " or ".join(layout.folder for layout in _LAYOUTS[name])
    raise InputError(
        f"There is no {name} at {path}: looked for {folders}, or its tar.gz. "
        "Download the official archive yourself and give its path; nothing is fetched for you."
    )


def _from_folder(path: Path, layout: _Layout) -> dict[str, bytes]:
    for folder in (path / layout.folder, path):
        if (folder / layout.test).is_file() or (folder / layout.train[0]).is_file():
            wanted = (*layout.files, layout.meta)
            return {file: (folder / file).read_bytes() for file in wanted if (folder / file).is_file()}
    return {}


def _from_tar(path: Path, layout: _Layout) -> dict[str, bytes]:
    """Read in memory, never extracted, so that no name inside can lead outside."""
    wanted = {str(PurePosixPath(layout.folder, file)): file for file in (*layout.files, layout.meta)}
    files = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                file = wanted.get(str(PurePosixPath(member.name)))
                content = archive.extractfile(member) if file and member.isfile() else None
                if file and content:
                    files[file] = content.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} ({path.stat().st_size:,} bytes) is not a whole tar archive: {error}. Download it again."
        ) from error
    return files


def _read_binary(layout: _Layout, files: dict[str, bytes], path: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """The pixels and labels of each file; a record is its label bytes, then its pixels."""
    record = layout.label_bytes + _PIXELS
    _check_sizes(layout, path, [len(files[file]) for file in layout.files], record, "bytes")
    tables = [np.frombuffer(files[file], dtype=np.uint8).reshape(-1, record) for file in layout.files]
    return [(table[:, layout.label_bytes :], table[:, layout.label_bytes - 1]) for table in tables]


def _read_python(layout: _Layout, files: dict[str, bytes], path: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """The pixels and labels of each file, a pickled dictionary."""
    parts = []
    for file in layout.files:
        content = _text_keys(read_pickle(files[file], f"{path}: {file}"))
        pixels, labels = content.get("data"), np.asarray(content.get(f"{layout.labels}s"))
        if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape[1:] != (_PIXELS,):
            raise InputError(f"{path}: {file} holds no uint8 array 'data' of shape [n, {_PIXELS}].")
        if labels.dtype.kind not in "iu" or labels.shape != (len(pixels),):
            raise InputError(f"{path}: {file} does not hold a number in '{layout.labels}s' for each picture.")
        parts.append((pixels, labels))
    _check_sizes(layout, path, [len(labels) for _, labels in parts], 1, "pictures")
    return parts


def _check_sizes(layout: _Layout, path: Path, sizes: list[int], record: int, unit: str) -> None:
    """The sizes of a set's files are in fixed proportion: what most of them hold tells what the others should."""
    units = {file: layout.share(file) * record for file in layout.files}
    found = dict(zip(layout.files, sizes, strict=True))
    whole = [found[file] // unit_size for file, unit_size in units.items() if found[file] % unit_size == 0]
    rounded_up = [-(-found[file] // unit_size) for file, unit_size in units.items()]
    # Of equally many the longest: a download that breaks off is the usual fault.
    test_records = max(whole, key=lambda records: (whole.count(records), records)) if whole else max(rounded_up)
    for file, size in found.items():
        expected = max(1, test_records) * units[file]
        if size != expected:
            fault = "is cut short" if size < expected else "is too long"
            raise InputError(
                f"{path}: {file} {fault}: expected {expected:,} {unit} to match the other files of the set, "
                f"found {size:,}. Unpack the official archive again."
            )


def _text_keys(content: object) -> dict[str, object]:
    if not isinstance(content, dict):
        return {}
    return {key.decode() if isinstance(key, bytes) else str(key): value for key, value in content.items()}


def _class_names(layout: _Layout, files: dict[str, bytes], path: Path, classes: int) -> tuple[str, ...]:
    """The official names; numbers where somebody left the meta file behind."""
    if layout.meta not in files:
        return tuple(str(code) for code in range(classes))
    if layout.label_bytes == 0:
        meta = _text_keys(read_pickle(files[layout.meta], f"{path}: {layout.meta}"))
        listed = meta.get(f"{layout.labels}_names", [])
        raw = listed if isinstance(listed, list) else []
    else:
        raw = files[layout.meta].split()
    names = tuple(name.decode() if isinstance(name, bytes) else str(name) for name in raw)
    if len(names) != classes:
        raise InputError(f"{path}: {layout.meta} names {len(names)} classes; there are {classes}.")
    return names


def human_labels(path: str | Path, which: str, dataset: Dataset) -> np.ndarray:
    """The human labels `which` (aggre, worst, random1..3; CIFAR-100N: noisy; or the file's own key) as codes.

    `path` is the official .pt file or an .npz of the same arrays. Its clean labels must be the dataset's true
    ones: that proves that the order of the pictures is the same.
    """
    path = require_file(path, "CIFAR-N label file")
    arrays = read_npz(path) if path.suffix == ".npz" else _read_pt(path)
    key = _SHORT_NAMES.get(which, which)
    for needed in (key, "clean_label"):
        if needed not in arrays:
            raise InputError(f"{path} has no labels named {needed}; it has {', '.join(arrays) or 'none'}.")
    clean, human = (_codes(arrays[name], f"{name} in {path}", dataset) for name in ("clean_label", key))
    if dataset.true_labels is None:
        raise InputError(f"The true labels of {dataset.name} are not known, so {path} cannot be matched to it.")
    wrong = np.flatnonzero(clean != dataset.true_labels)
    if len(wrong):
        raise InputError(
            f"clean_label in {path} differs from the true labels of {dataset.name} at {len(wrong):,} examples, "
            f"first at index {wrong[0]}: the file belongs to another dataset or another order."
        )
    return human


def _codes(array: np.ndarray, what: str, dataset: Dataset) -> np.ndarray:
    if array.shape != (len(dataset),) or array.dtype.kind not in "iu":
        raise InputError(
            f"{what} has shape {array.shape} and type {array.dtype}; {dataset.name} needs {len(dataset):,} whole "
            "numbers."
        )
    codes = array.astype(np.int64)
    bad = np.flatnonzero((codes < 0) | (codes >= len(dataset.classes)))
    if len(bad):
        raise InputError(
            f"{what} is {codes[bad[0]]} at index {bad[0]}; "
            f"{dataset.name} has the classes 0 to {len(dataset.classes) - 1}."
        )
    return codes


def _read_pt(path: Path) -> dict[str, np.ndarray]:
    """A torch file is a zip; arrays that are not tensors lie inside its data.pkl."""
    try:
        with zipfile.ZipFile(path) as archive:
            pickles = [name for name in archive.namelist() if name.split("/")[-1] == "data.pkl"]
            if len(pickles) != 1:
                raise InputError(f"{path} holds {len(pickles)} files named data.pkl; a torch file holds one.")
            data = archive.read(pickles[0])
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole torch file: {error}. Download it again.") from error
    content = read_pickle(data, str(path))
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__}, not named arrays of labels.")
    return {str(key): value for key, value in content.items() if isinstance(value, np.ndarray)}
