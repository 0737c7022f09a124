"""The files of the pictures: where each is, and how a table in another folder names it."""

import os
from collections.abc import Sequence
from pathlib import Path

from smallloss.data.columns import read_ids
from smallloss.data.hugging_face import holds_saved_dataset
from smallloss.data.idx import holds_idx
from smallloss.data.image_folder import file_of, is_picture, printable
from smallloss.data.image_table import path_column
from smallloss.data.table_files import read_table
from smallloss.errors import InputError
from smallloss.words import quoted

_UP = 2  # folders that a relative path may climb; what lies further away is not likely to move along


def picture_files(source: Path, ids: Sequence[str]) -> list[Path]:
    """Where the picture of each id is; empty if the source has no files of pictures."""
    if source.is_dir():
        other = holds_idx(source) or holds_saved_dataset(source) or not all(map(is_picture, ids))
        return [] if other else [_below(source, id) for id in ids]
    table = read_table(source) if source.suffix in (".csv", ".parquet") else None
    column = None if table is None else path_column(table)
    if table is None or column is None:
        return []
    cells = table.column(column).to_pylist()
    cell_of = dict(zip(read_ids(table, str(source)) or cells, cells, strict=True))
    return [file_of(source.parent, cell_of.get(id) or "") for id in ids]


def _below(root: Path, id: str) -> Path:
    if id.startswith("/") or ".." in id.split("/"):
        raise InputError(f"The id {quoted(id)} points outside {root}, so it is not from a folder of pictures.")
    return file_of(root, id)


def seen_from(folder: Path, file: Path) -> str:
    """The path of a file as a table in `folder` has it: relative where the two are close, else absolute."""
    near = os.path.relpath(file, folder)
    climbs = Path(near).parts.count("..")
    close = climbs <= _UP and climbs < len(folder.parts) - 1  # the root of all is close to nothing
    return printable(near if close and _is_same(folder / near, file) else str(file))


def _is_same(one: Path, other: Path) -> bool:
    """Past a link to a folder, the way up and the way down need not be one."""
    try:
        return one.samefile(other)
    except OSError:
        return False
