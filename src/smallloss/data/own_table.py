"""The user's own table, to go on with: every column of it beside what a run says of the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.columns import id_column, label_column, read_ids, read_labels
from smallloss.data.image_table import path_column
from smallloss.data.tables import as_cell, read_table


@dataclass(frozen=True, eq=False)
class OwnTable:
    """A csv or parquet file as `clean` takes it."""

    ids: list[str]  # as the examples table spells them, and so are the labels
    labels: list[str]
    others: Any  # an Arrow table of the columns that are neither

    def beside(self, ours: Mapping[str, Any], rows: np.ndarray, *, nested: bool) -> dict[str, Any]:
        """Our columns, then the rows' own; where both have a name, theirs becomes data_NAME.

        The old labels are not among them: taken for the new ones, they would undo the cleaning. nested: lists and bytes
        are kept too, which a csv cannot hold.
        """
        columns, part = dict(ours), self.others.take(rows)
        for name in part.column_names:
            if nested or not _is_nested(part.column(name).type):
                new = name
                while new in columns:
                    new = f"data_{new}"
                columns[new] = part.column(name)
        return columns


def is_table(place: str | Path) -> bool:
    return Path(place).suffix in (".csv", ".parquet") and not Path(place).is_dir()


def read_own_table(path: Path, label: str | None = None) -> OwnTable:
    table, where = read_table(path), str(path)
    column, id = label_column(table.column_names, where, label), id_column(table)
    others = table.select([name for name in table.column_names if name not in (column, id)])
    paths = None if id is not None else path_column(others)
    ids = read_ids(table, where) if paths is None else others.column(paths).to_pylist()
    return OwnTable(
        [as_cell(name) for name in ids or map(str, range(table.num_rows))],
        [as_cell(name) for name in read_labels(table, column, where).tolist()],
        others,
    )


def _is_nested(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
