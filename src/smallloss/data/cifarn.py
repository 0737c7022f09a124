"""CIFAR-10N and CIFAR-100N (Wei et al. 2022): labels given to the CIFAR training pictures by people."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from smallloss.data.dataset import Dataset
from smallloss.data.npz import read_npz, require_file
from smallloss.data.restricted_pickle import read_pickle
from smallloss.errors import InputError

_SHORT_NAMES = {  # as the papers write them
    "aggre": "aggre_label",
    "worst": "worse_label",
    "random1": "random_label1",
    "random2": "random_label2",
    "random3": "random_label3",
    "noisy": "noisy_label",
}


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
