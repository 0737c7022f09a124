"""A table, and what each of its columns is for: found once, and read with whatever makes it unfit for that named."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.labels import label_names
from smallloss.data.dataset import require_unique
from smallloss.data.decode import Source, is_picture
from smallloss.data.table_files import columns_of_export, is_nested, read_table
from smallloss.errors import InputError
from smallloss.files import file_of
from smallloss.words import listed

LABEL = ("label", "given_label", "y", "labels")
_TRUE_LABEL = ("true_label",)
_PATH = ("path", "file", "filename", "image", "file_name", "filepath", "file_path", "image_path")
_TEXT = ("text", "sentence", "content", "document", "review", "comment", "message", "body", "question", "utterance")
_LONG, _WORDS = 30, 4  # a column whose median cell has as many characters and words is prose


class Table:
    """An Arrow table from `where`. `label` names its column of labels, where that is not called one."""

    def __init__(self, arrow: Any, where: str | Path, label: str | None = None) -> None:
        self.arrow, self.where, self._named = arrow, str(where), label
        self.names: list[str] = arrow.column_names
        self.id, self.true_label = find_column(self.names, ("id",)), find_column(self.names, _TRUE_LABEL)

    @classmethod
    def read(cls, path: Path, label: str | None = None) -> "Table":
        return cls(read_table(path), path, label)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    @cached_property
    def label(self) -> str:
        return label_column(self.names, self.where, self._named)

    @cached_property
    def of_export(self) -> list[str]:
        """What an earlier export says of the rows, which would tell the labels."""
        return columns_of_export(self.names)

    def without(self, *names: str | None) -> "Table":
        """The table without some columns, nor with what an export says."""
        taken = {*names, *self.of_export}
        return self.only([name for name in self.names if name not in taken])

    def only(self, names: Sequence[str]) -> "Table":
        return Table(self.arrow.select(names), self.where)

    @cached_property
    def labels_too(self) -> list[str]:
        """What is called labels beside the column that holds them, and so would tell them. A y may be a place."""
        taken = {self.label, self.true_label, "y", *self.of_export}
        return [name for name in self.names if name not in taken and is_label_name(name)]

    @cached_property
    def own(self) -> "Table":
        """What describes the rows: neither labels nor names."""
        return self.without(self.label, self.true_label, self.id, *self.labels_too)

    def cells(self, name: str) -> list[Any]:
        """The values of a column, none of them missing; one of blanks alone is."""
        self.refuse_nested([name])
        return self._there(name)

    def _there(self, name: str) -> list[Any]:
        values: list[Any] = self.arrow.column(name).to_pylist()
        blank = (value is None or (isinstance(value, str) and not value.strip()) for value in values)
        lost = [row for row, missing in enumerate(blank, start=1) if missing]
        if len(lost) == 1:
            raise InputError(f"Row {lost[0]:,} of {self.where} has no {name}: fill it in or take the row out.")
        if lost:
            raise InputError(
                f"{len(lost):,} rows of {self.where} have no {name} (the first is row {lost[0]:,}): "
                "fill them in or take them out."
            )
        return values

    def labels(self) -> np.ndarray:
        """As text, one per row."""
        return label_names(self.cells(self.label))

    def true_labels(self) -> np.ndarray | None:
        return None if self.true_label is None else label_names(self.cells(self.true_label))

    def ids(self) -> list[str]:
        """None twice; empty if there is no such column."""
        ids = [] if self.id is None else [str(value) for value in self.cells(self.id)]
        require_unique(ids, self.where)
        return ids

    def texts(self, columns: Iterable[str]) -> list[str]:
        """The texts of several columns as one, a missing one as an empty text."""
        cells = [_texts(self.arrow.column(name)) for name in columns]
        return ["\n".join(row).strip() for row in zip(*cells, strict=True)]

    @cached_property
    def text_columns(self) -> list[str]:
        """The column named like text, or else every column of prose."""
        named = find_column(self.names, _TEXT)
        if named is not None and self.is_text(named):
            return [named]
        return [name for name in self.names if self.is_text(name) and _is_prose(_texts(self.arrow.column(name)))]

    @cached_property
    def path_column(self) -> str | None:
        """Where paths of pictures are: a column of such a name, or, where there are no texts, one of nothing else."""
        named = find_column(self.names, _PATH)
        if named is not None and any(map(is_picture, self._some_texts(named))):
            return named
        others = [] if self.text_columns else [name for name in self.names if name != self.id]
        texts = {name: self._some_texts(name) for name in others}
        return next((name for name, some in texts.items() if some and all(map(_is_file_of_picture, some))), None)

    def _some_texts(self, name: str) -> list[str]:
        return [cell for cell in self.arrow.column(name)[:1000].to_pylist() if cell] if self.is_text(name) else []

    @cached_property
    def picture_column(self) -> str | None:
        """The column of paths, or one that holds pictures: as Hugging Face stores them, or as the bytes of files."""
        named = find_column(self.names, _PATH)
        held = [name for name in self.names if _holds_pictures(self.kind(name))]
        held += [named] if named is not None and "binary" in str(self.kind(named)) else []
        return self.path_column or next(iter(held), None)

    def pictures(self, column: str) -> tuple[list[Source], list[str]]:
        """Where each picture is, relative paths counting from the folder of the table, and its id.

        Without an id column the paths are the ids; of pictures without a path, the numbers of the rows.
        """
        cells = self._there(column)
        if isinstance(cells[0], str) and "://" in cells[0]:
            raise InputError(
                f"The column {column!r} of {self.where} holds addresses ({cells[0]!r}), and nothing is fetched for "
                "you: fetch the pictures, and give the paths of their files."
            )
        ids, folder = self.ids(), Path(self.where).parent
        if not self.is_text(column):
            held: list[Any] = [{"bytes": cell, "path": None} if isinstance(cell, bytes) else cell for cell in cells]
            sources = [cell["bytes"] or str(file_of(folder, cell["path"] or "")) for cell in held]
            return sources, ids or [str(row) for row in range(len(cells))]
        if not ids:
            require_unique(cells, f"{self.where} (one picture under two labels needs a column id)")
        return [str(file_of(folder, cell)) for cell in cells], ids or cells

    def kind(self, name: str) -> Any:
        return self.arrow.schema.field(name).type

    def is_text(self, name: str) -> bool:
        return is_text(self.kind(name))

    def refuse_nested(self, columns: Sequence[str]) -> None:
        for name in columns:
            if is_nested(self.kind(name)):
                raise InputError(
                    f"The column {name!r} of {self.where} holds {self.kind(name)}, not one value per row; "
                    "unpack it into plain columns, or leave it out."
                )


def is_text(kind: Any) -> bool:
    """Of an Arrow type, be it of a dictionary."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def find_column(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    """The first of the wanted names that is there, in any case of letters."""
    by_name = {name.strip().lower(): name for name in reversed(names)}
    return next((by_name[name] for name in wanted if name in by_name), None)


def label_column(names: Sequence[str], where: str, label: str | None = None) -> str:
    """The column named `label`, or else label, given_label, y."""
    found = find_column(names, LABEL) if label is None else label
    if found not in names:
        lacks = "no column label, given_label or y" if label is None else f"no column {label!r}"
        raise InputError(
            f"{where} has {lacks}; name the column of labels with --label (in Python, label=). "
            f"Its columns are {listed(names, 20)}."
        )
    return str(found)


def is_label_name(name: str) -> bool:
    """Is a column of this name one of labels, unless something else is said?"""
    return name.strip().lower() in (*LABEL, *_TRUE_LABEL)


def _is_file_of_picture(cell: str) -> bool:
    return is_picture(cell) and "://" not in cell


def _texts(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _is_prose(cells: list[str]) -> bool:
    some = cells[:: -(-len(cells) // 1000)] if cells else []
    return bool(
        some
        and np.median([len(cell) for cell in some]) >= _LONG
        and np.median([len(cell.split()) for cell in some]) >= _WORDS
    )


def _holds_pictures(kind: Any) -> bool:
    """{bytes, path}"""
    import pyarrow as pa

    return bool(pa.types.is_struct(kind)) and {kind.field(i).name for i in range(kind.num_fields)} >= {"bytes", "path"}
