"""CIFAR-10 and CIFAR-100 from the official files, binary or python version, unpacked or as tar.gz; and CIFAR-N.

CIFAR-10N and CIFAR-100N (Wei et al. 2022) are labels given to the training pictures by people. What is pickled is read
without trust: arrays, bytes and plain containers, nothing else.
"""

import io
import pickle
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from smallloss.criterion.transition import CIFAR10_MAP
from smallloss.data.dataset import Dataset
from smallloss.data.source import Source
from smallloss.errors import InputError
from smallloss.files import read_npz, require_file

_PIXELS = 3 * 32 * 32
_PICTURES = 10_000  # in the test set, and as many times five to train on


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
        return (*self.train, self.test, self.meta)


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
    missing = [file for file in (*layout.train, layout.test) if file not in files]
    if missing:
        raise InputError(f"{path} lacks {', '.join(missing)} of {layout.folder}; unpack the official archive again.")
    parts = [_part(layout, file, files[file], f"{path}: {file}") for file in (*layout.train, layout.test)]
    classes = _class_names(layout, files, path, _CLASSES[name])
    images = np.concatenate([pixels.reshape(-1, 3, 32, 32) for pixels, _ in parts]).transpose(0, 2, 3, 1)
    images = np.ascontiguousarray(images)
    labels = np.concatenate([labels for _, labels in parts]).astype(np.int64)
    n = len(images) - len(parts[-1][1])
    test = Dataset(images[n:], labels[n:], classes, f"{name} test", true_labels=labels[n:])
    map_of = tuple(CIFAR10_MAP) if name == "cifar10" else None
    return Dataset(
        images[:n], labels[:n], classes, name, true_labels=labels[:n], test=test,
        normalisation=_NORMALISATION[name], flip=True, class_map=map_of,
    )  # fmt: skip


CIFAR10, CIFAR100 = (
    Source(f"{name}:PATH", partial(load_cifar, name), name, needs="the place of its files") for name in _CLASSES
)


def _find(name: str, path: Path) -> tuple[_Layout, dict[str, bytes]]:
    """The layout that is there, and the bytes of its files by name."""
    for layout in _LAYOUTS[name]:
        there = [folder / file for folder in (path, path / layout.folder) for file in layout.files]
        loose = {file.name: file.read_bytes() for file in there if file.is_file()}
        if found := _from_tar(path, layout) if path.is_file() else loose:
            return layout, found
    folders = " or ".join(layout.folder for layout in _LAYOUTS[name])
    raise InputError(
        f"There is no {name} at {path}: looked for {folders}, or its tar.gz. "
        "Download the official archive yourself and give its path; nothing is fetched for you."
    )


def _from_tar(path: Path, layout: _Layout) -> dict[str, bytes]:
    """Read in memory, never extracted, so that no name inside can lead outside."""
    wanted = {str(PurePosixPath(layout.folder, file)): file for file in layout.files}
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


def _part(layout: _Layout, file: str, content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
    """The pixels and labels in a file. A binary record is its label bytes, then its pixels; else it is a dictionary."""
    n = _PICTURES if file == layout.test else 5 * _PICTURES // len(layout.train)
    if layout.label_bytes:
        record = layout.label_bytes + _PIXELS
        _require_size(len(content), n * record, "bytes", where)
        table = np.frombuffer(content, dtype=np.uint8).reshape(n, record)
        return table[:, layout.label_bytes :], table[:, layout.label_bytes - 1]
    found = _text_keys(read_pickle(content, where))
    pixels, labels = found.get("data"), np.asarray(found.get(f"{layout.labels}s"))
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape[1:] != (_PIXELS,):
        raise InputError(f"{where} holds no uint8 array 'data' of shape [n, {_PIXELS}].")
    if labels.dtype.kind not in "iu" or labels.shape != (len(pixels),):
        raise InputError(f"{where} does not hold a number in '{layout.labels}s' for each picture.")
    _require_size(len(labels), n, "pictures", where)
    return pixels, labels


def _require_size(found: int, expected: int, unit: str, where: str) -> None:
    if found != expected:
        fault = "is cut short" if found < expected else "is too long"
        raise InputError(
            f"{where} {fault}: expected {expected:,} {unit}, found {found:,}. Unpack the official archive again."
        )


def _class_names(layout: _Layout, files: dict[str, bytes], path: Path, classes: int) -> tuple[str, ...]:
    """The official names; numbers where somebody left the meta file behind."""
    if layout.meta not in files:
        return tuple(map(str, range(classes)))
    content, where = files[layout.meta], f"{path}: {layout.meta}"
    if layout.label_bytes:
        names: Any = content.split()
    else:
        names = _text_keys(read_pickle(content, where)).get(f"{layout.labels}_names")
    if not isinstance(names, list) or len(names) != classes:
        raise InputError(f"{where} does not name {classes} classes.")
    return _texts(names)


def _text_keys(content: object) -> dict[str, object]:
    return dict(zip(_texts(content), content.values(), strict=True)) if isinstance(content, dict) else {}


def _texts(names: Iterable[object]) -> tuple[str, ...]:
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in names)


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
        if arrays[needed].shape != (len(dataset),) or arrays[needed].dtype.kind not in "iu":
            raise InputError(
                f"{needed} in {path} has shape {arrays[needed].shape} and type {arrays[needed].dtype}; {dataset.name} "
                f"needs {len(dataset):,} whole numbers."
            )
    if dataset.true_labels is None:
        raise InputError(f"The true labels of {dataset.name} are not known, so {path} cannot be matched to it.")
    wrong = np.flatnonzero(arrays["clean_label"] != dataset.true_labels)
    if len(wrong):
        raise InputError(
            f"clean_label in {path} differs from the true labels of {dataset.name} at {len(wrong):,} examples, "
            f"first at index {wrong[0]}: the file belongs to another dataset or another order."
        )
    return dataset.with_labels(arrays[key]).labels


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


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """How Python 3 writes bytes into an old pickle; other codecs could unpack or transform."""
    if encoding != "latin1":
        raise InputError(f"the codec {encoding!r} is not allowed")
    return text.encode("latin1")


def _dtype(spec: str | bytes, *flags: Any) -> np.dtype[Any]:
    dtype = np.dtype(spec if isinstance(spec, str) else spec.decode("ascii"))
    if dtype.kind not in "biufSU":
        raise InputError(f"arrays of type {dtype} are not allowed")
    return np.dtype(dtype, copy=True)  # pickle sets the byte order on it, so it may not be a shared one


# numpy names these functions differently from version to version; its own pickles tell which they are.
_RECONSTRUCT: Any = np.zeros(0).__reduce__()[0]
_SCALAR: Any = np.float64(0).__reduce__()[0]
_FROMBUFFER: Any = np.zeros(1).__reduce_ex__(5)[0]

_ALLOWED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("_codecs", "encode"): _encode,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _RECONSTRUCT for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _SCALAR for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _FROMBUFFER for core in ("core", "_core")},
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise InputError(f"it asks for {module}.{name}, which is neither an array nor a plain container")
        return _ALLOWED[module, name]


def read_pickle(data: bytes, source: str) -> Any:
    """The object pickled in `data`; text of Python 2 comes back as bytes. `source` names it in errors."""
    try:
        return _PlainUnpickler(io.BytesIO(data), encoding="bytes").load()
    except InputError as error:
        raise InputError(f"{source} is refused: {error}.") from None
    except Exception as error:  # a broken pickle may raise anything at all
        raise InputError(f"{source} is not a whole pickle of arrays (is it cut short?): {error}") from error
