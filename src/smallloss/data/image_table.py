"""A table of picture files and their labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smallloss.data.columns import find_column, is_text, read_ids, refuse_nested, require_unique, require_values
from smallloss.data.dataset import Dataset
from smallloss.data.image_folder import file_of, is_picture
from smallloss.data.picture_set import Listing, picture_dataset

_PATH = ("path", "file", "filename", "image", "file_name", "filepath", "file_path", "image_path")


def path_column(table: Any) -> str | None:
    """The column that is named like one of paths and whose first cell ends like a picture."""
    column = find_column(table.column_names, _PATH)
    if column is None or not is_text(table, column):
        return None
    first = next((cell for cell in table.column(column).to_pylist() if cell), "")
    return column if is_picture(first) else None


def image_table_dataset(
    table: Any, column: str, path: Path, labels: Sequence[str], true_labels: Sequence[str] | None
) -> Dataset:
    """Relative paths count from the folder of the table. Without an id column the paths are the ids."""
    refuse_nested(table, [column], str(path))
    cells = table.column(column).to_pylist()
    require_values(cells, column, str(path))
    ids = read_ids(table, str(path))
    if not ids:
        require_unique(cells, str(path))
        ids = cells
    sources = [str(file_of(path.parent, cell)) for cell in cells]
    note = f"The pictures are in the column {column!r}."
    return picture_dataset(path.name, Listing(sources, ids, labels, true_labels), notes=[note])
