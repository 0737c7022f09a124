"""New examples, without labels, to be predicted: pictures in files, arrays, texts, rows of a table."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.columns import Table
from smallloss.data.decode import Source
from smallloss.data.features import table_features
from smallloss.data.image_folder import pictures_below
from smallloss.data.npz import read_npy, read_npz
from smallloss.data.picture_paths import is_picture
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
    table: Any = None

    def __len__(self) -> int:
        return len(self.ids)


def load_new(path: Path, kind: str, *, described: bool) -> NewExamples:
    """What a path holds for a run of some kind: pictures, text, table or features.

    described: rows and texts are left as a table, for what describes them is learnt from the data of the run.
    """
    if not path.exists():
        raise InputError(f"There is nothing at {path} to predict; give {_WANTED[kind]}.")
    if path.is_dir() or is_picture(path.name):
        new = _pictures(path, kind)
    elif path.suffix.lower() in (".npy", ".npz"):
        new = _arrays(path)
    elif path.suffix.lower() in (".csv", ".parquet"):
        new = _rows(path, kind, described=described)
    else:
        raise InputError(f"{path} is of an unknown kind; give {_WANTED[kind]}.")
    if not len(new):
        raise InputError(f"{path} holds no example to predict; give {_WANTED[kind]}.")
    return new


def _pictures(path: Path, kind: str) -> NewExamples:
    if kind != "pictures":
        raise InputError(f"{path} holds pictures, but the run was not made from pictures; give {_WANTED[kind]}.")
    if path.is_dir():
        ids, files = pictures_below(place(path))
        return NewExamples(ids, files)
    return NewExamples([path.name], [os.fspath(path)])


def _arrays(path: Path) -> NewExamples:
    if path.suffix.lower() == ".npy":
        inputs = read_npy(path, mapped=True)
        return NewExamples([str(row) for row in range(len(inputs))] if inputs.ndim else [], inputs=inputs)
    arrays = read_npz(path)
    names = [name for name in ("x", "X", "inputs", "features") if name in arrays]
    if not names:
        raise InputError(f"{path} has no array named x or features; it has {', '.join(arrays) or 'none'}.")
    inputs, ids = arrays[names[0]], arrays.get("ids", arrays.get("id"))
    if ids is not None and len(ids) != len(inputs):
        raise InputError(f"{path} has {len(ids):,} ids but {len(inputs):,} examples; give one id each.")
    return NewExamples([str(one) for one in (np.arange(len(inputs)) if ids is None else ids).tolist()], inputs=inputs)


def _rows(path: Path, kind: str, *, described: bool) -> NewExamples:
    table = Table.read(path)
    ids = table.ids() or [str(row) for row in range(len(table))]
    if described:
        return NewExamples(ids, table=table.arrow)
    if kind == "features":
        return NewExamples(ids, inputs=table_features(table))
    there = listed(table.names)
    if kind == "pictures":
        if table.picture_column is None:
            raise InputError(f"{path} has no column of paths of pictures; name it path. It has {there}.")
        sources, ids = table.pictures(table.picture_column)
        return NewExamples(ids, sources)
    if not table.text_columns:
        raise InputError(f"{path} has no column of texts; it has {there}.")
    return NewExamples(ids, inputs=table.texts(table.text_columns))
