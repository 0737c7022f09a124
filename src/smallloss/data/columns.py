"""A table, and what each of its columns is for: found once, and read with whatever makes it unfit for that named."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from smallloss.criterion.labels import label_names
from smallloss.data.dataset import require_unique
from smallloss.data.decode import Source, is_picture
from smallloss.data.table_files import columns_of_export, is_nested, is_text, read_numbers, read_table
from smallloss.errors import InputError
from smallloss.files import file_of, seen_from
from smallloss.words import listed

LABEL = ("label", "given_label", "y", "labels")
_LIKELY_LABEL = ("target", "class", "category")  # columns of many meanings: taken for labels where there is only one
_CANDIDATES = 100  # classes at most of a column that may hold labels
_TRUE_LABEL = "true_label"
_PATH = ("path", "file", "filename", "image", "file_name", "filepath", "file_path", "image_path")
_TEXT = ("text", "sentence", "content", "document", "review", "comment", "message", "body", "question", "utterance")
_LONG, _WORDS = 30, 4  # a column whose median cell has as many characters and words is prose
_SOME = 1000  # cells that tell what a column holds


class Table:
    """An Arrow table from `where`. `label` names its column of labels, where that is not called one."""

    def __init__(self, arrow: pa.Table, where: str | Path, label: str | None = None) -> None:
        self.arrow, self.where, self._named = arrow, str(where), label
        self.names: list[str] = arrow.column_names
        self.id, self.true_label = find_column(self.names, ("id",)), find_column(self.names, (_TRUE_LABEL,))
        self.of_export = columns_of_export(self.names)  # what an export says of the rows, which would tell the labels

    @classmethod
    def read(cls, path: Path, label: str | None = None) -> "Table":
        return cls(read_table(path), path, label)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def kind(self, name: str) -> Any:
        return self.arrow.schema.field(name).type

    # What the columns are for

    @cached_property
    def label(self) -> str:
        likely = [name for name in self.names if name.strip().lower() in _LIKELY_LABEL]
        alone = likely[0] if len(likely) == 1 else None
        found = find_column(self.names, LABEL) or alone if self._named is None else self._named
        if found is None or found not in self.names:
            lacks = "no column label, given_label or y" if found is None else f"no column {found!r}"
            may = likely or self._candidates()
            those = f"It may be {listed(may, 5)}." if may else f"Its columns are {listed(self.names, 20)}."
            raise InputError(
                f"{self.where} has {lacks}; name the column of labels with --label (in Python, label=). {those}"
            )
        return found

    def _candidates(self) -> list[str]:
        """The columns that may hold labels: few values, and each of them more than once; the fewest first."""
        plain = [name for name in self.names if not is_nested(self.kind(name))]
        values = {name: pc.value_counts(self.arrow.column(name)).field("counts") for name in plain}
        few = [name for name, counts in values.items() if 2 <= len(counts) <= min(_CANDIDATES, len(self) // 2)]
        return sorted(few, key=lambda name: len(values[name]))

    @cached_property
    def labels_too(self) -> list[str]:
        """What is called labels beside the column that holds them, and so would tell them. A y may be a place."""
        taken = {self.label, self.true_label, "y", *self.of_export}
        return [name for name in self.names if name not in taken and name.strip().lower() in LABEL]

    @cached_property
    def own(self) -> "Table":
        """What describes the rows: neither labels nor names."""
        taken = {self.label, self.true_label, self.id, *self.labels_too, *self.of_export}
        return self.only([name for name in self.names if name not in taken])

    def only(self, names: Sequence[str]) -> "Table":
        missing = [name for name in names if name not in self.names]
        if missing:
            raise InputError(f"{self.where} has no column {missing[0]!r}; what was learned from has one.")
        return Table(self.arrow.select(names), self.where)

    @cached_property
    def text_columns(self) -> list[str]:
        """The column named like text, or else every column of prose."""
        texts = [name for name in self.names if is_text(self.kind(name))]
        named = find_column(self.names, _TEXT)
        return [named] if named in texts else [name for name in texts if _is_prose(self.texts([name]))]

    @cached_property
    def path_column(self) -> str | None:
        """Where paths of pictures are: a column of such a name, or, where there are no texts, one of nothing else."""
        named = find_column(self.names, _PATH)
        others = [] if self.text_columns else [name for name in self.names if name != self.id]
        for name in filter(None, [named, *others]):
            cells = self.arrow.column(name)[:_SOME].to_pylist() if is_text(self.kind(name)) else []
            found = [is_picture(cell) for cell in cells if cell]
            if any(found) and (name == named or all(found)):
                return name
        return None

    @cached_property
    def picture_column(self) -> str | None:
        """The column of paths, or one that holds pictures: as Hugging Face stores them, or as the bytes of files."""
        for name in () if self.path_column else self.names:
            kind, named = self.kind(name), name == find_column(self.names, _PATH)
            fields = {field.name for field in kind} if pa.types.is_struct(kind) else set()
            if fields >= {"bytes", "path"} or (named and "binary" in str(kind)):
                return name
        return self.path_column

    # What stands in them

    def cells(self, name: str) -> list[Any]:
        """The values of a column, none of them missing; one of blanks alone is."""
        values: list[Any] = self.arrow.column(name).to_pylist()
        blank = (value is None or (isinstance(value, str) and not value.strip()) for value in values)
        lost = [row for row, missing in enumerate(blank, start=1) if missing]
        if lost:
            more = f" ({len(lost):,} rows in all)" if len(lost) > 1 else ""
            raise InputError(f"Row {lost[0]:,} of {self.where} has no {name}{more}: fill it in or take the row out.")
        return values

    def labels(self, column: str | None = None) -> np.ndarray:
        """As text, one per row."""
        return label_names(self.given(column))

    def given(self, column: str | None = None) -> np.ndarray:
        """As they came, where they are numbers."""
        self.refuse_nested([column or self.label])
        return as_given(self.cells(column or self.label))

    def true_labels(self) -> np.ndarray | None:
        return None if self.true_label is None else self.labels(self.true_label)

    def ids(self) -> list[str]:
        """Those of the column of that name, none twice, or the numbers of the rows."""
        ids = [str(name) for name in (range(len(self)) if self.id is None else self.cells(self.id))]
        require_unique(ids, self.where)
        return ids

    def texts(self, columns: Iterable[str]) -> list[str]:
        """The texts of several columns as one, a missing one as an empty text."""
        cells = [self.arrow.column(name).to_pylist() for name in columns]
        return ["\n".join(cell or "" for cell in row).strip() for row in zip(*cells, strict=True)]

    def pictures(self, column: str) -> tuple[list[Source], list[str]]:
        """Where each picture is, relative paths counting from the folder of the table, and its id.

        Without an id column the paths are the ids; of pictures without a path, the numbers of the rows.
        """
        cells, folder = self.cells(column), Path(self.where).parent
        if not is_text(self.kind(column)):
            held: list[Any] = [{"bytes": cell} if isinstance(cell, bytes) else cell for cell in cells]
            return [cell["bytes"] or str(file_of(folder, cell["path"] or "")) for cell in held], self.ids()
        if self.id is None:
            require_unique(cells, f"{self.where} (one picture under two labels needs a column id)")
        return [str(file_of(folder, cell)) for cell in cells], cells if self.id is None else self.ids()

    def features(self) -> np.ndarray:
        """[n, d]: the only column of lists, if there is one; else every column but id and labels."""
        names = [name for name in self.names if name != self.id and name.strip().lower() not in (*LABEL, _TRUE_LABEL)]
        lists = [name for name in names if hasattr(self.kind(name), "value_field")]  # large or of a fixed size too
        if not names or len(lists) > 1:
            many = f"more than one column of lists, {listed(lists)}; keep one of them."
            none = f"no column of features besides {listed(self.names)}."
            raise InputError(f"{self.where} has {many if lists else none}")
        if not lists:
            numbers = [read_numbers(self.arrow.column(name), name, self.where).astype(np.float32) for name in names]
            return np.stack(numbers, axis=1)
        column, where = self.arrow.column(lists[0]), f"the column {lists[0]!r} of {self.where}"
        lengths, values = pc.list_value_length(column).fill_null(0).to_numpy(), pc.list_flatten(column)
        width = int(lengths.max(initial=1))
        odd = np.flatnonzero(lengths != width).tolist()
        if odd:
            raise InputError(
                f"Row {odd[0] + 1} of {where} holds {lengths[odd[0]]} numbers, others {width}; give all rows as many."
            )
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise InputError(f"In {where} are lists of {values.type}; features are numbers.")
        return np.asarray(values.to_numpy(), np.float32).reshape(len(lengths), width)

    def refuse_nested(self, columns: Sequence[str]) -> None:
        for name in columns:
            if is_nested(self.kind(name)):
                raise InputError(
                    f"The column {name!r} of {self.where} holds {self.kind(name)}, not one value per row; "
                    "unpack it into plain columns, or leave it out."
                )

    # Beside what a run says of the rows

    def row_names(self) -> list[str]:
        """As an examples table has them: the ids, the paths of pictures, or the numbers of the rows."""
        path = self.own.path_column
        return self.ids() if path is None or self.id is not None else self.cells(path)

    @property
    def nested(self) -> list[str]:
        """The columns of lists, records and bytes, which a csv cannot hold."""
        return [name for name in self.names if name != self.label and is_nested(self.kind(name))]

    def beside(self, ours: Mapping[str, Any], rows: np.ndarray, folder: Path, *, nested: bool) -> dict[str, Any]:
        """Our columns, then the rows' own, `nested` ones too or not; where both have a name, theirs becomes data_NAME.

        The old labels are not among them: taken for the new ones, they would undo the cleaning. Paths of pictures are
        such as are found from `folder`, where the new table is to be.
        """
        left_out = {self.label, self.id, *self.of_export, *([] if nested else self.nested)}
        columns, root = dict(ours), Path(self.where).absolute().parent
        for name in (name for name in self.names if name not in left_out):
            new, cells = name, self.arrow.column(name).take(rows)
            while new in columns:
                new = f"data_{new}"
            if name == self.own.path_column:
                cells = [
                    path if path is None or Path(path).is_absolute() else seen_from(folder, file_of(root, path))
                    for path in cells.to_pylist()
                ]
            columns[new] = cells
        return columns


class Rows(Sequence[str]):
    """The rows of an Arrow table as a reader would like to see them, made when they are looked at."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, index: Any) -> Any:
        return ", ".join(f"{name} = {value}" for name, value in self.cells(index))

    def cells(self, index: int) -> list[tuple[str, str]]:
        """One row, each column by its name."""
        row = self.table.slice(range(len(self))[index], 1).to_pylist()[0]
        return [(name, "missing" if value is None else str(value)) for name, value in row.items()]


def as_given(labels: Any) -> np.ndarray:
    """Labels as they came, where they are numbers or yes and no; as text where they are anything else."""
    names, array = label_names(labels), np.asarray(labels)
    return array.ravel() if array.dtype.kind in "iubf" else names


def find_column(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    """The first of the wanted names that is there, in any case of letters."""
    by_name = {name.strip().lower(): name for name in reversed(names)}
    return next((by_name[name] for name in wanted if name in by_name), None)


def _is_prose(cells: list[str]) -> bool:
    some = cells[:: -(-len(cells) // _SOME)] if cells else [""]
    words = [len(cell.split()) for cell in some]
    return bool(np.median(list(map(len, some))) >= _LONG and np.median(words) >= _WORDS)
