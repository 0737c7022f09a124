"""New examples, to be predicted; and how those of a run became what its network sees, to make them alike."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.arrays import read_inputs
from smallloss.data.columns import Table
from smallloss.data.dataset import Dataset, shape_of_one
from smallloss.data.decode import Source, is_picture
from smallloss.data.image_folder import pictures_below
from smallloss.data.table_files import is_table
from smallloss.errors import InputError
from smallloss.files import place
from smallloss.words import listed

_WANTED = {
    "pictures": "a folder of pictures, a picture, a .csv or .parquet with a column of their paths, or an .npy or .npz",
    "text": "a .csv or .parquet with a column of texts",
    "table": "a .csv or .parquet with the columns of the table that was learned from",
    "features": "an .npy, an .npz or a .parquet of features",
}


@dataclass(frozen=True, eq=False)
class NewExamples:
    """Their ids, and one of: files of pictures; inputs, an array or texts; a table, to be described as another was."""

    ids: Sequence[str]
    files: Sequence[Source] | None = None
    inputs: Any = None
    table: Table | None = None

    def __len__(self) -> int:
        return len(self.ids)


def load_new(path: Path, kind: str, *, described: bool) -> NewExamples:
    """What a path holds for a run of some kind: pictures, text, table or features.

    described: rows and texts are left as a table, for what describes them is learnt from the data of the run.
    """
    give = f"give {_WANTED[kind]}"
    if not path.exists():
        raise InputError(f"There is nothing at {path} to predict; {give}.")
    if path.is_dir() or is_picture(path.name):
        if kind != "pictures":
            raise InputError(f"{path} holds pictures, but the run was not made from pictures; {give}.")
        new = NewExamples(*pictures_below(place(path))) if path.is_dir() else NewExamples([path.name], [str(path)])
    elif is_table(path) and kind != "features":
        new = _rows(Table.read(path), kind, described)
    elif is_table(path) or path.suffix.lower() in (".npy", ".npz"):
        inputs, ids = read_inputs(path)
        new = NewExamples(ids or [str(row) for row in range(len(inputs) if inputs.ndim else 0)], inputs=inputs)
    else:
        raise InputError(f"{path} is of an unknown kind; {give}.")
    if not len(new):
        raise InputError(f"{path} holds no example to predict; {give}.")
    return new


def _rows(table: Table, kind: str, described: bool) -> NewExamples:
    if described:
        return NewExamples(table.ids(), table=table)
    if kind == "pictures" and table.picture_column is not None:
        files, ids = table.pictures(table.picture_column)
        return NewExamples(ids, files)
    if kind == "text" and table.text_columns:
        return NewExamples(table.ids(), inputs=table.texts(table.text_columns))
    lacks = "paths of pictures; name it path" if kind == "pictures" else "texts"
    raise InputError(f"{table.where} has no column of {lacks}. It has {listed(table.names)}.")


@dataclass(frozen=True)
class Seen:
    """The facts of a dataset that its model file carries.

    `in_shape` is what the network takes. `featured`: that is features which somebody gave, or a backbone made; `came`
    is one example before that, (channels, height, width) of a picture. `notes` say how it became what is seen.
    """

    classes: tuple[str, ...]
    kind: str
    in_shape: tuple[int, ...]
    came: tuple[int, ...]
    featured: bool
    mean: tuple[float, ...]
    std: tuple[float, ...]
    white: float | None = None
    values: tuple[Any, ...] | None = None  # the classes as the labels came, where those were no texts
    fills: tuple[tuple[int, float], ...] = ()  # of features that had gaps, as in a dataset
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, dataset: Dataset) -> "Seen":
        notes = dataset.notes if dataset.original is None else dataset.notes[-1:]
        return cls(
            dataset.classes, dataset.kind, dataset.in_shape, came=shape_of_one(dataset.as_they_came),
            featured=dataset.original is not None, mean=tuple(dataset.mean.tolist()), std=tuple(dataset.std.tolist()),
            white=dataset.white, values=dataset.values, fills=dataset.fills, notes=notes,
        )  # fmt: skip

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> "Seen":
        """Take back what `to_dict` gave, through JSON."""
        facts = {"fills": ()} | facts  # models of before have none
        given = ((item.name, facts[item.name]) for item in fields(cls))
        known: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in given}
        return cls(**known)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_image(self) -> bool:
        return len(self.in_shape) == 3

    def are_features(self, X: np.ndarray) -> bool:
        """Is it what the network takes, where that is features?"""
        return not self.is_image and X.dtype.kind in "buif" and X.shape[1:] == self.in_shape
