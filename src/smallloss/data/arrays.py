"""Arrays in memory, .npz files and memory-mapped .npy files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.labels import encode_labels, label_names
from smallloss.data.dataset import Dataset, codes_of_test, require_unique
from smallloss.data.source import Source
from smallloss.errors import InputError
from smallloss.files import read_npy, read_npz
from smallloss.knobs import to_numpy

_CHANNELS = (1, 3, 4)
# The last of each are the names in mnist.npz and in MedMNIST.
INPUTS, LABELS = ("x", "X", "inputs", "images", "x_train", "train_images"), ("y", "labels", "y_train", "train_labels")
TEST_INPUTS, TEST_LABELS = ("x_test", "test_images"), ("y_test", "test_labels")


def from_arrays(
    inputs: Any,
    labels: Any,
    *,
    name: str = "arrays",
    ids: Sequence[Any] = (),
    true_labels: Any = None,
    test: tuple[Any, Any] | None = None,
    white: float | None = None,
) -> Dataset:
    """A dataset from pictures [n, h, w], [n, h, w, c] or [n, c, h, w], or features [n, d], and any labels.

    white: the number that is white in pictures of floats, 1 or 255; it is told by the inputs where it is not given.
    """
    array = as_array(inputs)
    white = white_of(array) if white is None else white
    x = as_inputs(array, white)
    ids = [str(value) for value in ids]
    require_unique(ids, name)
    labels = to_numpy(labels)
    if true_labels is None:
        codes, classes = encode_labels(labels)
        true_codes, values = None, _values(labels, codes)
    else:
        # A class may have lost all its labels to noise, or gained its first: the classes are those of both.
        true_labels = to_numpy(true_labels)
        both, classes = encode_labels(np.concatenate([label_names(labels), label_names(true_labels)]))
        codes, true_codes = both[: len(labels)], both[len(labels) :]
        values = _values(np.concatenate([labels.ravel(), true_labels.ravel()]), both)
    test_set = None
    if test is not None:
        test_codes = codes_of_test(test[1], classes, f"{name} test")
        test_set = Dataset(as_inputs(test[0], white), test_codes, classes, name=f"{name} test", true_labels=test_codes)
        if test_set.inputs.shape[1:] != x.shape[1:]:
            raise InputError(
                f"The test inputs have the shape {test_set.inputs.shape[1:]} each, the training inputs {x.shape[1:]}; "
                "they must be the same."
            )
    return Dataset(
        x,
        codes,
        classes,
        name=name,
        ids=ids,
        true_labels=true_codes,
        test=test_set,
        flip=x.ndim == 4 and x.shape[3] >= 3,  # gray pictures are mostly characters, which have a reading direction
        white=white,
        values=values,
    )


def _values(labels: np.ndarray, codes: np.ndarray) -> tuple[Any, ...] | None:
    """The label that stands for each class, as it came; None for texts, which are the classes themselves."""
    if labels.dtype.kind not in "iubf":
        return None
    _, first = np.unique(codes, return_index=True)
    return tuple(labels.ravel()[first].tolist())


def as_array(values: Any) -> np.ndarray:
    """Arrays, tensors, lists; a mapped array stays mapped."""
    if isinstance(values, np.memmap):
        return values
    if hasattr(values, "toarray"):
        raise InputError("The inputs are sparse, and a network sees dense ones: give X.toarray(), or fewer features.")
    try:
        return to_numpy(values)
    except ValueError as error:  # numpy's word for rows of different lengths
        raise InputError(f"The inputs are not all of one shape ({error}); make them the same first.") from error


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
    if array.ndim != 4:
        raise InputError(
            f"The inputs have the shape {array.shape}; "
            "pictures have [n, h, w], [n, h, w, c] or [n, c, h, w], features [n, d]."
        )
    if array.shape[3] not in _CHANNELS:
        if array.shape[1] not in _CHANNELS:
            raise InputError(f"The pictures have the shape {array.shape}: no axis holds 1, 3 or 4 channels.")
        array = array.transpose(0, 2, 3, 1)
    return array if array.dtype == np.uint8 else _bytes(array, white)


def _features(array: np.ndarray) -> np.ndarray:
    if not array.shape[1]:
        raise InputError(f"The {len(array):,} examples have no features: there is nothing to learn from.")
    with np.errstate(over="ignore"):
        array = array if array.dtype == np.float32 else np.asarray(array, np.float32)  # a copy is no longer mapped
    for start in range(0, len(array), 65536):
        bad = ~np.isfinite(array[start : start + 65536]).all(axis=1)
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
    """x (or X, inputs) and y (or labels), or as others name them; optionally ids, true_labels, x_test with y_test."""
    arrays = read_npz(path)
    inputs, labels = array_named(arrays, path, *INPUTS), array_named(arrays, path, *LABELS)
    test = None
    if not arrays.keys().isdisjoint((*TEST_INPUTS, *TEST_LABELS)):
        test = array_named(arrays, path, *TEST_INPUTS), array_named(arrays, path, *TEST_LABELS)
    return from_arrays(
        inputs,
        labels,
        name=path.name,
        ids=arrays["ids"].tolist() if "ids" in arrays else (),
        true_labels=arrays.get("true_labels"),
        test=test,
    )


SOURCE = Source("an .npz file of arrays", load_npz, endings=(".npz",))


def read_inputs(path: Path, *names: str) -> tuple[np.ndarray, list[str] | None]:
    """The array in an .npy file, mapped, or the one of these names in an .npz; and the ids of its rows."""
    if path.suffix.lower() == ".npy":
        return read_npy(path, mapped=True), None
    arrays = read_npz(path)
    inputs = array_named(arrays, path, *names)
    return inputs, ids_named(arrays, path, len(inputs))


def array_named(arrays: dict[str, np.ndarray], path: Path, *names: str) -> np.ndarray:
    """The first of the names that an .npz file has."""
    for name in names:
        if name in arrays:
            return arrays[name]
    raise InputError(f"{path} has no array named {' or '.join(names)}; it has {', '.join(arrays) or 'none'}.")


def ids_named(arrays: dict[str, np.ndarray], path: Path, n: int) -> list[str] | None:
    """Those of an .npz file, where it has any: one for each of its n examples, none twice."""
    ids = arrays.get("ids", arrays.get("id"))
    if ids is None:
        return None
    if ids.shape != (n,):
        raise InputError(f"{path} has {ids.size:,} ids but {n:,} examples; give one id each.")
    texts = [value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in ids.tolist()]
    require_unique(texts, str(path))
    return texts
