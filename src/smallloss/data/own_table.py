"""The user's own table, to go on with: every column of it beside what a run says of the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.columns import id_column, is_nested, label_column, read_ids, read_labels
from smallloss.data.image_folder import file_of
from smallloss.data.image_table import path_column
from smallloss.data.picture_files import seen_from
from smallloss.data.table_files import as_cell, columns_of_export, read_table


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
    return Path(place).suffix in (".csv", ".parquet") and not Path(place).is_dir()


def read_own_table(path: Path, label: str | None = None) -> OwnTable:
    table, where = read_table(path), str(path)
    column, id = label_column(table.column_names, where, label), id_column(table)
    taken = {column, id, *columns_of_export(table.column_names)}
    others = table.select([name for name in table.column_names if name not in taken])
    pictures = path_column(others)
    ids = others.column(pictures).to_pylist() if id is None and pictures else read_ids(table, where)
    return OwnTable(
        [as_cell(name) for name in ids or map(str, range(table.num_rows))],
        [as_cell(name) for name in read_labels(table, column, where).tolist()],
        others,
        path,
        pictures,
    )
