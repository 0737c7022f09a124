"""Arrays in memory, .npz files and memory-mapped .npy files: as inputs with their labels, or as what the network is
to see of other data."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.labels import encode_labels, label_names
from smallloss.data.columns import Table
from smallloss.data.dataset import Dataset, require_classes, require_unique
from smallloss.data.gaps import Fills, filled, fills_note, fills_of
from smallloss.data.source import Source
from smallloss.data.table_files import is_table
from smallloss.errors import InputError
from smallloss.files import read_npy, read_npz
from smallloss.knobs import to_numpy
from smallloss.words import counted

_CHANNELS = {1, 3, 4}
_ROWS = 1 << 16  # at a time
# The last of each are the names in mnist.npz and in MedMNIST.
_INPUTS, _LABELS = ("x", "X", "inputs", "images", "x_train", "train_images"), ("y", "labels", "y_train", "train_labels")
_TEST_INPUTS, _TEST_LABELS = ("x_test", "test_images"), ("y_test", "test_labels")


def from_arrays(
    inputs: Any, labels: Any, *, name: str = "arrays", ids: Sequence[Any] = (), true_labels: Any = None,
    test: tuple[Any, Any] | None = None, white: float | None = None,
    fills: Fills | None = None,
) -> Dataset:  # fmt: skip
    """A dataset from pictures [n, h, w], [n, h, w, c] or [n, c, h, w], or features [n, d], and any labels.

    white: the number that is white in pictures of floats, 1 or 255; fills: what stands in the gaps of which features.
    Both are told by the inputs where they are not given.
    """
    array = as_array(inputs)
    white = white_of(array) if white is None else white
    fills = fills_of(array) if fills is None else fills
    x = as_inputs(filled(array, fills), white)
    ids = [str(value) for value in ids]
    require_unique(ids, name)
    # A class may have lost all its labels to noise, or gained its first: the classes are those of labels and truth.
    given = [to_numpy(one) for one in (labels, true_labels) if one is not None]
    codes, classes = encode_labels(np.concatenate([label_names(one) for one in given]))
    n = len(given[0])
    flip = x.ndim == 4 and x.shape[3] >= 3  # gray pictures are mostly characters, which have a reading direction
    dataset = Dataset(
        x, codes[:n], classes, name, ids, true_labels=None if true_labels is None else codes[n:], flip=flip,
        white=white, values=_values(np.concatenate([one.ravel() for one in given]), codes), fills=fills,
        notes=fills_note(fills),
    )  # fmt: skip
    return dataset if test is None else replace(dataset, test=as_tested(dataset, *test))


def as_tested(dataset: Dataset, inputs: Any, labels: Any, name: str = "test") -> Dataset:
    """Its labels are codes into the classes of the training part, and count as true."""
    x = as_inputs(filled(as_array(inputs), dataset.fills), dataset.white)
    name, classes = f"{dataset.name} {name}", dataset.classes
    strange = sorted(set(label_names(labels).tolist()) - set(classes))
    if strange:
        raise InputError(f"{name} has the class {strange[0]!r}, which no training example carries; remove it there.")
    if x.shape[1:] != dataset.inputs.shape[1:]:
        raise InputError(
            f"The test inputs have the shape {x.shape[1:]} each, the training inputs {dataset.inputs.shape[1:]}; "
            "they must be the same."
        )
    codes, _ = encode_labels(labels, classes)
    return Dataset(x, codes, classes, name=name, true_labels=codes)


def _values(labels: np.ndarray, codes: np.ndarray) -> tuple[Any, ...] | None:
    """The label that stands for each class, as it came; None for texts, which are the classes themselves."""
    if labels.dtype.kind not in "iubf":
        return None
    _, first = np.unique(codes, return_index=True)
    return tuple(labels[first].tolist())


def as_array(values: Any) -> np.ndarray:
    """Arrays, tensors, lists; a mapped array stays mapped."""
    if isinstance(values, np.memmap):
        return values
    if hasattr(values, "toarray"):
        raise InputError("The inputs are sparse, and a network sees dense ones: give X.toarray(), or fewer features.")
    try:
        array = to_numpy(values)
    except ValueError as error:  # numpy's word for rows of different lengths
        raise InputError(f"The inputs are not all of one shape ({error}); make them the same first.") from error
    if array.dtype != object or array.ndim != 2:
        return array
    try:
        return array.astype(np.float64)  # None is a gap
    except (TypeError, ValueError):
        raise InputError("The inputs are not all numbers; give a DataFrame or a dict of columns instead.") from None


def white_of(array: np.ndarray) -> float | None:
    """Of pictures of floats, whether 1 or 255 is white: one of them alone may be too dark to tell."""
    if array.dtype.kind not in "bf" or array.ndim not in (3, 4) or not array.size:
        return None
    return 1.0 if float(array.max()) <= 1 else 255.0


def as_inputs(inputs: Any, white: float | None = None) -> np.ndarray:
    """uint8 pictures [n, h, w, c] or float32 features [n, d]; a mapped array of that type stays mapped."""
    array = as_array(inputs)
    if array.dtype.kind not in "buif":
        raise InputError(f"The inputs are of type {array.dtype}; they must be numbers.")
    if array.ndim == 2:
        return _features(array)
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4 or _CHANNELS.isdisjoint((array.shape[1], array.shape[3])):
        raise InputError(
            f"The inputs have the shape {array.shape}; pictures have [n, h, w], [n, h, w, c] or [n, c, h, w] with 1, 3 "
            "or 4 channels c, features [n, d]."
        )
    array = array if array.shape[3] in _CHANNELS else array.transpose(0, 2, 3, 1)
    return array if array.dtype == np.uint8 else _bytes(array, white)


def _features(array: np.ndarray) -> np.ndarray:
    if not array.shape[1]:
        raise InputError(f"The {len(array):,} examples have no features: there is nothing to learn from.")
    with np.errstate(over="ignore"):
        array = array if array.dtype == np.float32 else np.asarray(array, np.float32)  # a copy is no longer mapped
    for start in range(0, len(array), _ROWS):
        bad = ~np.isfinite(array[start : start + _ROWS]).all(axis=1)
        if bad.any():
            row = start + int(np.argmax(bad))
            column = int(np.argmin(np.isfinite(array[row])))
            raise InputError(
                f"Feature {column} of the example at index {row} is {array[row, column]}; "
                "fill or drop missing and infinite values first."
            )
    return array


def _bytes(array: np.ndarray, white: float | None) -> np.ndarray:
    """Pictures of floats in 0..1, or of numbers in 0..255, as uint8."""
    low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
    most = 255.0 if array.dtype.kind not in "bf" else white or white_of(array) or 255.0
    if not (low >= 0 and high <= most):
        where = "in 0..1 or in 0..255 (give them before normalisation)" if most == 255 else "in 0..1, as the others do"
        raise InputError(f"The pictures hold values from {low:g} to {high:g}; they must lie {where}.")
    return np.rint(array.astype(np.float32) * (255 / most)).astype(np.uint8)


def load_npz(path: Path) -> Dataset:
    return from_named(read_npz(path), path.name, path)


def from_named(arrays: dict[str, np.ndarray], name: str, where: str | Path) -> Dataset:
    """x (or X, inputs) and y (or labels), or as others name them; optionally ids, true_labels, x_test with y_test."""
    inputs, labels = _array_named(arrays, where, *_INPUTS), _array_named(arrays, where, *_LABELS)
    test = None
    if not arrays.keys().isdisjoint((*_TEST_INPUTS, *_TEST_LABELS)):
        test = _array_named(arrays, where, *_TEST_INPUTS), _array_named(arrays, where, *_TEST_LABELS)
    ids, true_labels = ids_named(arrays, where, len(inputs)), arrays.get("true_labels")
    return from_arrays(inputs, labels, name=name, ids=ids or (), true_labels=true_labels, test=test)


NPZ = Source("an .npz file of arrays", load_npz, endings=(".npz",))


def load_npy(path: Path, labels: str | Path | None, label: str | None = None) -> Dataset:
    """Inputs stay mapped; a table of labels has one row per input, and may have id and true_label."""
    inputs = read_npy(path, mapped=True)
    if labels is None:
        raise InputError(
            f"{path} holds inputs only; give its labels as a second .npy file, a .csv or a .parquet "
            "with --labels (in Python, labels=)."
        )
    where = Path(labels).expanduser()
    if not is_table(where):
        return from_arrays(inputs, read_npy(where), name=path.name)
    table = Table.read(where, label)
    if len(table) != len(inputs):
        raise InputError(f"{where} has {len(table):,} rows but {path} {len(inputs):,} inputs; give one row each.")
    given = table.labels()
    require_classes(given, str(where))
    dataset = from_arrays(inputs, given, name=path.name, ids=table.ids(), true_labels=table.true_labels())
    return replace(dataset, notes=(f"The labels are in the column {table.label!r} of {where.name}.",))


NPY = Source("an .npy file with --labels", load_npy, endings=(".npy",), options=("labels", "label"))


def read_inputs(path: Path) -> tuple[np.ndarray, list[str] | None]:
    """Pictures or features, a mapped array of them or those that an archive or a table names so; and the ids of the
    rows, where it has any."""
    if is_table(path):
        table = Table.read(path)
        return table.features(), None if table.id is None else table.ids()
    if path.suffix.lower() == ".npy":
        return read_npy(path, mapped=True), None
    arrays = read_npz(path)
    inputs = _array_named(arrays, path, "features", "x", "X", "inputs", "images")
    return inputs, ids_named(arrays, path, len(inputs))


def _array_named(arrays: dict[str, np.ndarray], path: str | Path, *names: str) -> np.ndarray:
    """The first of the names that there is."""
    for name in names:
        if name in arrays:
            return arrays[name]
    raise InputError(f"{path} has no array named {' or '.join(names)}; it has {', '.join(arrays) or 'none'}.")


def ids_named(arrays: dict[str, np.ndarray], path: str | Path, n: int) -> list[str] | None:
    """Where there are any: one for each of n examples, none twice."""
    ids = arrays.get("ids", arrays.get("id"))
    if ids is None:
        return None
    if ids.shape != (n,):
        raise InputError(f"{path} has {ids.size:,} ids but {n:,} examples; give one id each.")
    texts = [value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in ids.tolist()]
    require_unique(texts, str(path))
    return texts


# Features instead of the inputs


def with_features(dataset: Dataset, features: Any) -> Dataset:
    """The examples of a dataset, of which the network sees the features given: an array, .npy, .npz or a table.

    Where the file has ids, rows are matched by them; otherwise row i is that of the i-th example. Features of the
    test part may follow those of the training part; without them a part of the training part is held out.
    """
    where, rows, ids = "the array given", features, None
    if isinstance(features, str | Path):
        rows, ids = read_inputs(Path(features).expanduser())
        where = Path(features).name
    rows = as_array(rows)
    if rows.ndim != 2:
        raise InputError(f"The features of {where} have the shape {rows.shape}; give one row per example, [n, d].")
    rows = rows if ids is None else rows[_places(dataset, ids, where)]
    n, tested = len(dataset), 0 if dataset.test is None else len(dataset.test)
    if len(rows) not in (n, n + tested):
        and_test = f" (and {tested:,} in its test part)" if tested else ""
        lost = f", {len(dataset.unreadable):,} unreadable ones left out" if dataset.unreadable else ""
        raise InputError(
            f"{where} has {len(rows):,} rows but {dataset.name} {n:,} examples{and_test}{lost}; "
            "give one row each, or an .npz or .parquet with ids."
        )
    if (rows == rows[0]).all():
        raise InputError(f"The features of {where} are the same for every example: there is nothing to learn from.")
    what = {"pictures": "pictures", "text": "texts", "table": "rows"}.get(dataset.kind, "inputs")
    note = f"Instead of the {what}, the network sees {rows.shape[1]:,} features from {where}."
    if tested and len(rows) == n:
        note += f" It has none for the {counted(tested, 'example')} of the test part, so that is not used."
    return dataset.seen_as(as_inputs(rows), note)


def _places(dataset: Dataset, ids: Sequence[str], where: str) -> np.ndarray:
    """The row of each example; then of each of the test part, where its ids are its own and are there."""
    place, test = {name: row for row, name in enumerate(ids)}, dataset.test
    wanted = list(dataset.ids)
    if test is not None and set(test.ids).isdisjoint(wanted) and not place.keys().isdisjoint(test.ids):
        wanted += test.ids
    known = {*wanted, *dataset.unreadable, *(() if test is None else test.unreadable)}
    missing, strange = [name for name in wanted if name not in place], [name for name in ids if name not in known]
    if missing or strange:
        lacks = f"no features for {len(missing):,} of the {len(wanted):,} examples of {dataset.name}"
        extra = f"features for {len(strange):,} ids that {dataset.name} does not have"
        raise InputError(
            f"{where} has {lacks if missing else extra}, {(missing or strange)[0]!r} the first; ids must be those of "
            "the examples."
        )
    return np.array([place[name] for name in wanted], dtype=np.int64)
