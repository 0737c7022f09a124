"""A Hugging Face dataset, saved on disk or by name; the package `datasets` is needed for it and for nothing else."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from smallloss.data.columns import Table
from smallloss.data.dataset import Dataset
from smallloss.data.source import Source
from smallloss.data.table import table_dataset
from smallloss.errors import InputError

_TEST = ("test", "validation", "valid", "val")
_HIDDEN = (None, -1)  # the code -1 is its word for no label


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
    folder = Path(place).expanduser()
    read, what = (datasets.load_from_disk, folder) if holds_saved_dataset(folder) else (datasets.load_dataset, place)
    try:
        found = read(str(what))
    except Exception as error:  # the package raises errors of many kinds: network, files, its own
        raise InputError(f"hf:{place} cannot be loaded: {error}") from error
    return from_hugging_face(found, f"hf:{place}", label)


def from_hugging_face(found: Any, name: str, label: str | None = None) -> Dataset:
    """A dataset, or a dict of its splits; one split beside that for training is tested on."""
    parts = dict(found) if isinstance(found, dict) else {"train": found}
    first = "train" if "train" in parts else next(iter(parts))
    kinds = {column: type(kind).__name__ for column, kind in parts[first].features.items()}
    coded, pictures = ([column for column in kinds if kinds[column] == kind] for kind in ("ClassLabel", "Image"))
    column = coded[0] if label is None and len(coded) == 1 else Table(_arrow(parts[first]), name, label).label
    others = [split for split in _TEST if split in parts and split != first]
    # A public test split often hides its labels.
    labelled = [one for one in others if column in parts[one].features and set(parts[one][column]) - set(_HIDDEN)]
    tables = [_table(parts[split], split, column, pictures, name) for split in (first, *labelled[:1])]
    dataset = table_dataset(tables[0], name if pictures else Path(name).name, *tables[1:])
    lost = [f"The split {split!r} has no labels and is not used." for split in others if split not in labelled]
    return replace(dataset, notes=(*dataset.notes, *lost))


SOURCE = Source(
    "hf:NAME", load_hugging_face, "hf", needs="the name or the folder of a dataset", is_place=False,
    holds=holds_saved_dataset, options=("label",),
)  # fmt: skip


def _arrow(part: Any) -> pa.Table:
    return part.with_format("arrow")[:]


def _table(part: Any, split: str, column: str, pictures: list[str], name: str) -> Table:
    """The rows of a split, their labels by name where the set names its classes; of pictures nothing else."""
    table, names, where = _arrow(part), getattr(part.features[column], "names", None), f"{name} ({split})"
    codes = [None if value in _HIDDEN else value for value in part[column]]
    labels = pa.array([None if code is None else str(code) if names is None else names[code] for code in codes])
    if pictures:
        ids = [f"{split}/{index}" for index in range(len(table))]
        return Table(pa.table({"id": ids, pictures[0]: table[pictures[0]], column: labels}), where, column)
    return Table(table.set_column(table.column_names.index(column), column, labels), where, column)
