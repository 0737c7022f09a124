"""A Hugging Face dataset, saved on disk or by name; the package `datasets` is needed for it and for nothing else."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from smallloss.data.columns import Table, label_column
from smallloss.data.dataset import Dataset
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
    first = "train" if "train" in parts else next(iter(parts))
    name, features = f"hf:{place}", parts[first].features
    column = _label_column(features, name, label)
    picture = next(iter(_of_type(features, "Image")), None)
    others = [split for split in _TEST if split in parts and split != first]
    labelled = [split for split in others if not _hides_labels(parts[split], column)]
    tables = [_table(parts[split], split, column, picture, name) for split in (first, *labelled[:1])]
    dataset = table_dataset(tables[0], Path(name).name if picture is None else name, *tables[1:])
    lost = [f"The split {split!r} has no labels and is not used." for split in others if split not in labelled]
    return replace(dataset, notes=(*dataset.notes, *lost))


SOURCE = Source(
    "hf:NAME", load_hugging_face, "hf", needs="the name or the folder of a dataset", is_place=False,
    holds=holds_saved_dataset, options=("label",),
)  # fmt: skip


def _of_type(features: Any, kind: str) -> list[str]:
    return [name for name, feature in features.items() if type(feature).__name__ == kind]


def _label_column(features: Any, name: str, label: str | None) -> str:
    classes = _of_type(features, "ClassLabel")
    return classes[0] if label is None and len(classes) == 1 else label_column(list(features), name, label)


def _hides_labels(part: Any, column: str) -> bool:
    """As a public test split often does, with -1 in the place of every label."""
    return column not in part.features or all(value is None or value == -1 for value in part[column])


def _table(part: Any, split: str, column: str, picture: str | None, name: str) -> Table:
    """The rows of a split, their labels by name where the set names its classes; of pictures nothing else."""
    import pyarrow as pa

    values = list(part[column])
    for index, value in enumerate(values):
        if value is None or value == -1:  # the code -1 is its word for no label
            raise InputError(f"The example at index {index} of {name} has no label in {column!r}; every one needs it.")
    names = getattr(part.features[column], "names", None)
    labels = pa.array([str(value) if names is None else names[value] for value in values])
    table = part.with_format("arrow")[:]
    if picture is None:
        return Table(table.set_column(table.column_names.index(column), column, labels), name, column)
    ids = [f"{split}/{index}" for index in range(len(table))]
    return Table(pa.table({"id": ids, picture: table[picture], column: labels}), name, column)
