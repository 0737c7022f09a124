"""Tables as files: csv and parquet, read by column name and written atomically."""

import csv
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from smallloss import files
from smallloss.errors import InputError
from smallloss.files import require_file

_NEVER_SEEN = {"", "nan", "null", "none", "na"}
CLEANLAB = ("is_label_issue", "label_score", "given_label", "predicted_label")  # first in examples.csv too
EXPORTED = ("id", "label", "given_label", "weight", "split", "reason")  # in every table that `export` writes
_LONGEST_ROW = 1 << 26  # bytes
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def read_table(path: str | Path) -> Any:
    """A csv file (all columns text, empty cells null) or a parquet file as an Arrow table.

    In a csv that `export` wrote, every text is again what it was before it was defused.
    """
    path = require_file(path, "table")
    import pyarrow as pa
    from pyarrow import parquet

    ending = path.suffix.lower()
    try:
        if ending == ".parquet":
            table = _without_views(parquet.read_table(path, partitioning=None))
        elif ending == ".csv":
            table = _read_csv(path)
        else:
            raise InputError(f"{path} is neither .csv nor .parquet; give the table in one of these.")
    except (pa.ArrowException, OSError) as error:
        advice = "; save it in UTF-8" if "UTF8" in str(error) else ""
        raise InputError(f"{path} cannot be read as a {ending[1:]} file: {error}{advice}") from error
    for name in table.column_names:
        if table.column_names.count(name) > 1:
            raise InputError(f"{path} has more than one column named {name!r}; rename one of them.")
    return table


def _without_views(table: Any) -> Any:
    """Texts and bytes in the layouts that all of Arrow can work with; other tools also write views."""
    import pyarrow as pa

    plain = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    fields = [field.with_type(plain.get(str(field.type), field.type)) for field in table.schema]
    return table.cast(pa.schema(fields, table.schema.metadata))


def _read_csv(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    header = read_rows(path, limit=1)[0]
    faulty: list[Any] = []

    def skip(row: Any) -> str:
        faulty.append(row)
        return "skip"

    table = arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_LONGEST_ROW),  # threads do not number rows
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in header}, null_values=[""], strings_can_be_null=True
        ),
    )
    if faulty:
        row = faulty[0]
        raise InputError(
            f"Row {row.number - 1} of {path} has {row.actual_columns} cells; the header names {row.expected_columns}."
        )
    table = table.rename_columns([name.strip() for name in header])
    return _undefused(table) if columns_of_export(table.column_names) else table


def columns_of_export(names: Iterable[str]) -> list[str]:
    """Those of the columns that `export` made itself; none if the table is no export of ours.

    All of them together tell one from a user's own table, whatever was put beside them since.
    """
    there = set(names)
    ours = (*EXPORTED, "audit_answer")  # the last where a person was asked
    return [name for name in ours if name in there] if there.issuperset(EXPORTED) else []


def _undefused(table: Any) -> Any:
    """The inverse of `defuse`, for every cell and every name of a column."""
    import pyarrow as pa
    from pyarrow import compute as pc

    def undone(texts: Any) -> Any:
        return pc.replace_substring_regex(texts, pattern=rf"^'({_FORMULA.pattern})", replacement=r"\1")

    return pa.table([undone(column) for column in table.columns], undone(pa.array(table.column_names)).to_pylist())


def read_rows(path: Path, limit: int | None = None) -> list[list[str]]:
    """The rows of a csv file as text, empty lines left out."""
    rows: list[list[str]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.reader(file, strict=True):
                if row:
                    rows.append(row)
                if len(rows) == limit:
                    break
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read as a csv file in UTF-8: {error}; save it in UTF-8") from error
    except csv.Error as error:
        _refuse_separator(path)
        raise InputError(f"{path} cannot be read as a csv file in UTF-8: {error}") from error
    if not rows:
        raise InputError(f"{path} is empty.")
    if len(rows[0]) == 1:
        _refuse_separator(path)
    return rows


def _refuse_separator(path: Path) -> None:
    with path.open(encoding="utf-8-sig") as file:
        header = file.readline().rstrip("\n")
    bare = re.sub('"[^"]*"', "", header)  # what stands between cells, and cells without quotes
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if separator in bare and "," not in bare:
            raise InputError(f"The cells of {path} are separated by {name} ({header!r}); save it with commas.")


def read_numbers(column: Any, name: str, path: str | Path) -> np.ndarray:
    """A column as float64. Empty cells and NaN are NaN, never seen; any other non-number is an error."""
    import pyarrow as pa

    try:
        numbers: np.ndarray = column.cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        numbers = np.array([np.inf])
    if np.isinf(numbers).any():  # cell by cell, to say which one it is, or to find that all are well after all
        where = f"of column {name!r} in {path}"
        cells = enumerate(column.to_pylist(), start=1)
        numbers = np.array([_number(cell, f"Row {row} {where}") for row, cell in cells])
    return numbers


def _number(cell: Any, where: str) -> float:
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in _NEVER_SEEN):
        return math.nan
    try:
        number = float(cell)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number) or (isinstance(cell, str) and "_" in cell):
        raise InputError(f"{where} is {cell!r}, which is not a finite number; leave a cell empty where there is none.")
    return number


def is_number(cell: str) -> bool:
    """Is it a number as a person writes one? Python's 1_000 is not."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def column_values(column: Any) -> np.ndarray:
    """A column as it is, numbers in their own precision; a copy, to be written to."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_null(column.type):
        return np.array(column.to_pylist(), dtype=object)
    return np.array(column.to_numpy())


def is_nested(kind: Any) -> bool:
    """Is a cell of this Arrow type a list, a record or bytes, and not one value?"""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):  # a picture as a tensor is nested; a UUID is one value, in bytes
        return bool(pa.types.is_nested(kind.storage_type))
    return bool(pa.types.is_nested(kind) or "binary" in str(kind))  # binary, large_binary, binary_view, ...


def write_table(path: str | Path, columns: Mapping[str, Any]) -> Path:
    """Columns of equal length as csv or parquet, by the ending of `path`; parquet keeps every value exactly.

    In csv a text, or the name of a column, that a spreadsheet would take for a formula gets a leading apostrophe;
    numbers never do.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    path = Path(path)
    require_ending(path)
    sink = pa.BufferOutputStream()
    if path.suffix == ".parquet":
        parquet.write_table(pa.table({name: _arrow(values) for name, values in columns.items()}), sink)
    else:
        arrow_csv.write_csv(
            pa.table({defuse(name): _csv_column(name, values) for name, values in columns.items()}), sink
        )
    return files.write_bytes(path, sink.getvalue().to_pybytes())


def require_ending(path: Path) -> None:
    """Refuse a table that could not be written, before there is work to lose."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path} is neither .csv nor .parquet; tables are written as one of these.")


def _arrow(values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        return values
    return pa.array(values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "OU" else values)


def _csv_column(name: str, values: Any) -> Any:
    import pyarrow as pa

    column = _arrow(values)
    if is_nested(column.type):
        raise InputError(f"The column {name!r} holds {column.type}, which a csv cannot hold; write a .parquet instead.")
    if isinstance(column, pa.ChunkedArray):
        column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        column = column.combine_chunks()
    special = isinstance(column.type, pa.BaseExtensionType)  # a UUID: bytes that mean a text
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or special:
        return pa.array([None if cell is None else defuse(str(cell)) for cell in column.to_pylist()], pa.string())
    if pa.types.is_floating(column.type):
        return pa.array(column.to_numpy(zero_copy_only=False), from_pandas=True)  # NaN: an empty cell
    return column


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def defuse(text: str) -> str:
    """A text that no spreadsheet runs as a formula.

    One that would be read as another's defused form, for it has an apostrophe before the sign by nature, gets a second.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def as_cell(name: str) -> str:
    """A file name need not be valid Unicode, a table cell must be: stray bytes are escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def by_spelling(names: Iterable[str]) -> dict[str, str]:
    """How our own csv files may spell each name -> the name. Whatever reads such files back looks names up in this.

    Where a name is spelled as another is defused, it means itself.
    """
    known = list(names)
    return {defuse(as_cell(name)): name for name in known} | {as_cell(name): name for name in known}
