"""A table of pictures and their labels: paths of files, or the pictures themselves as datasets are shared."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smallloss.data.columns import find_column, is_text, read_ids, require_unique, require_values
from smallloss.data.dataset import Dataset
from smallloss.data.decode import Source
from smallloss.data.image_folder import file_of, is_picture
from smallloss.data.picture_set import Listing, picture_dataset
from smallloss.words import listed

_PATH = ("path", "file", "filename", "image", "file_name", "filepath", "file_path", "image_path")


def path_column(table: Any) -> str | None:
    """The column that is named like one of paths and whose first cell ends like a picture."""
    column = find_column(table.column_names, _PATH)
    if column is None or not is_text(table, column):
        return None
    first = next((cell for cell in table.column(column).to_pylist() if cell), "")
    return column if is_picture(first) else None


def picture_column(table: Any) -> str | None:
    """The column of paths, or one that holds the pictures themselves."""
    paths = path_column(table)
    if paths is not None:
        return paths
    return next((name for name in table.column_names if _holds_pictures(table.schema.field(name).type)), None)


def _holds_pictures(kind: Any) -> bool:
    """As Hugging Face's image columns are stored: {bytes, path}."""
    import pyarrow as pa

    return bool(pa.types.is_struct(kind)) and {kind.field(i).name for i in range(kind.num_fields)} >= {"bytes", "path"}


def picture_sources(table: Any, column: str, path: Path) -> tuple[list[Source], list[str]]:
    """Where each picture is, relative paths counting from the folder of the table, and its id.

    Without an id column the paths are the ids; of pictures without a path, the numbers of the rows.
    """
    cells = table.column(column).to_pylist()
    require_values(cells, column, str(path))
    ids = read_ids(table, str(path))
    if not is_text(table, column):
        sources = [cell["bytes"] or str(file_of(path.parent, cell["path"] or "")) for cell in cells]
        return sources, ids or [str(row) for row in range(len(cells))]
    if not ids:
        require_unique(cells, f"{path} (one picture under two labels needs a column id)")
    return [str(file_of(path.parent, cell)) for cell in cells], ids or cells


def image_table_dataset(
    table: Any, column: str, path: Path, labels: Sequence[str], true_labels: Sequence[str] | None, others: Sequence[str]
) -> Dataset:
    """The pictures of a column; `others` are columns that describe the rows and are not looked at."""
    sources, ids = picture_sources(table, column, path)
    notes = [f"The pictures are in the column {column!r}."]
    notes += [f"Columns not used: {listed(others)}."] if others else []
    return picture_dataset(path.name, Listing(sources, ids, labels, true_labels), notes=notes)
