"""A Hugging Face dataset, saved on disk or by name; the package `datasets` is needed for it and for nothing else."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from smallloss.data.columns import Table, label_column
from smallloss.data.dataset import Dataset
from smallloss.data.picture_set import Listing, picture_dataset
from smallloss.data.source import Source
from smallloss.data.table import table_dataset
from smallloss.errors import InputError

_TEST = ("test", "validation", "valid", "val")


def holds_saved_dataset(folder: Path) -> bool:
    """As `save_to_disk` leaves it."""
    return any((folder / name).is_file() for name in ("dataset_dict.json", "dataset_info.json"))


def load_hugging_face(place: str | Path, label: str | None = None) -> Dataset:
    """`place` is a folder or a name; the column of pictures is found by its type, that of labels by type or name."""
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError as error:
        raise InputError(
            f"hf:{place} needs the package datasets, which is not installed: pip install datasets."
        ) from error
    saved = holds_saved_dataset(Path(place).expanduser())
    try:
        found = datasets.load_from_disk(str(Path(place).expanduser())) if saved else datasets.load_dataset(place)
    except Exception as error:  # the package raises errors of many kinds: network, files, its own
        raise InputError(f"hf:{place} cannot be loaded: {error}") from error
    parts = dict(found) if isinstance(found, dict) else {"train": found}
    train_name = "train" if "train" in parts else next(iter(parts))
    train = parts[train_name]
    name = f"hf:{place}"
    column = _label_column(train, name, label)
    others = [name for name in _TEST if name in parts and name != train_name]
    labelled = [name for name in others if not _hides_labels(parts[name], column)]
    notes = [f"The split {name!r} has no labels and is not used." for name in others if name not in labelled]
    test_name = next(iter(labelled), None)
    pictures = _of_type(train, "Image")
    if not pictures:
        table = _with_label_names(train, column, name)
        test_table = None if test_name is None else _with_label_names(parts[test_name], column, f"{name} {test_name}")
        dataset = table_dataset(Table(table, name, column), Path(name).name, test_table)
        return replace(dataset, notes=(*dataset.notes, *notes))
    image = datasets.Image(decode=False)
    test = None if test_name is None else _listing(parts[test_name], pictures[0], column, image, test_name, name)
    notes = [f"The pictures are in the column {pictures[0]!r}, the labels in {column!r}.", *notes]
    return picture_dataset(name, _listing(train, pictures[0], column, image, train_name, name), test, notes)


SOURCE = Source(
    "hf:NAME", load_hugging_face, "hf", needs="the name or the folder of a dataset", is_place=False,
    holds=holds_saved_dataset, options=("label",),
)  # fmt: skip


def _of_type(part: Any, kind: str) -> list[str]:
    return [name for name, feature in part.features.items() if type(feature).__name__ == kind]


def _label_column(part: Any, name: str, label: str | None) -> str:
    classes = _of_type(part, "ClassLabel")
    if label is None and len(classes) == 1:
        return classes[0]
    return label_column(list(part.features), name, label)


def _hides_labels(part: Any, column: str) -> bool:
    """As a public test split often does, with -1 in the place of every label."""
    return column not in part.features or all(value is None or value == -1 for value in part[column])


def _labels(part: Any, column: str, name: str) -> list[str]:
    """Labels by name where the set names its classes; the code -1 is its word for no label."""
    values = list(part[column])
    for index, value in enumerate(values):
        if value is None or value == -1:
            raise InputError(f"The example at index {index} of {name} has no label in {column!r}; every one needs it.")
    names = getattr(part.features[column], "names", None)
    return [str(value) if names is None else names[value] for value in values]


def _with_label_names(part: Any, column: str, name: str) -> Any:
    import pyarrow as pa

    table = part.with_format("arrow")[:]
    names = pa.array(_labels(part, column, name))
    return table.set_column(table.column_names.index(column), column, names)


def _listing(part: Any, pictures: str, column: str, image: Any, split: str, name: str) -> Listing:
    files = list(part.cast_column(pictures, image)[pictures])
    sources = [file["bytes"] if file["bytes"] is not None else file["path"] for file in files]
    return Listing(sources, [f"{split}/{i}" for i in range(len(sources))], _labels(part, column, name))
