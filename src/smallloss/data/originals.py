"""What the user has: the files of the pictures, and a table to go on with, beside what a run says of its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.columns import Table
from smallloss.data.decode import is_picture
from smallloss.data.hugging_face import holds_saved_dataset
from smallloss.data.idx import holds_idx
from smallloss.data.table_files import as_cell, is_nested
from smallloss.errors import InputError
from smallloss.files import file_of, seen_from
from smallloss.words import quoted


@dataclass(frozen=True, eq=False)
class OwnTable:
    """A csv or parquet file as `clean` takes it."""

    ids: list[str]  # as the examples table spells them, and so are the labels
    labels: list[str]
    others: Any  # an Arrow table of the columns that are neither, nor what an earlier export said of the rows
    place: Path  # of the file: relative paths of pictures count from its folder
    pictures: str | None  # the column of these paths

    @property
    def nested(self) -> list[str]:
        """The columns of lists, records and bytes, which a csv cannot hold."""
        return [field.name for field in self.others.schema if is_nested(field.type)]

    def beside(self, ours: Mapping[str, Any], rows: np.ndarray, folder: Path, *, nested: bool) -> dict[str, Any]:
        """Our columns, then the rows' own, `nested` ones too or not; where both have a name, theirs becomes data_NAME.

        The old labels are not among them: taken for the new ones, they would undo the cleaning. Paths of pictures are
        such as are found from `folder`, where the new table is to be.
        """
        columns, part = dict(ours), self.others.drop_columns([] if nested else self.nested).take(rows)
        for name in part.column_names:
            new = name
            while new in columns:
                new = f"data_{new}"
            columns[new] = part.column(name) if name != self.pictures else self._seen_from(folder, part.column(name))
        return columns

    def _seen_from(self, folder: Path, paths: Any) -> list[str | None]:
        root = self.place.absolute().parent
        return [
            cell and (cell if Path(cell).is_absolute() else seen_from(folder, file_of(root, cell)))
            for cell in paths.to_pylist()
        ]


def is_table(place: str | Path) -> bool:
    return Path(place).suffix.lower() in (".csv", ".parquet") and not Path(place).is_dir()


def read_own_table(path: Path, label: str | None = None) -> OwnTable:
    table = Table.read(path, label)
    others = table.without(table.label, table.id)
    pictures = others.path_column
    ids = others.arrow.column(pictures).to_pylist() if table.id is None and pictures else table.ids()
    return OwnTable(
        [as_cell(name) for name in ids or map(str, range(len(table)))],
        [as_cell(name) for name in table.labels().tolist()],
        others.arrow,
        path,
        pictures,
    )


def picture_files(source: Path, ids: Sequence[str]) -> list[Path]:
    """Where the picture of each id is; empty if the source has no files of pictures."""
    if source.is_dir():
        other = holds_idx(source) or holds_saved_dataset(source) or not all(map(is_picture, ids))
        return [] if other else [_below(source, id) for id in ids]
    table = Table.read(source) if is_table(source) else None
    if table is None or table.path_column is None:
        return []
    cells = table.arrow.column(table.path_column).to_pylist()
    cell_of = dict(zip(table.ids() or cells, cells, strict=True))
    return [file_of(source.parent, cell_of.get(id) or "") for id in ids]


def _below(root: Path, id: str) -> Path:
    if id.startswith("/") or ".." in id.split("/"):
        raise InputError(f"The id {quoted(id)} points outside {root}, so it is not from a folder of pictures.")
    return file_of(root, id)
