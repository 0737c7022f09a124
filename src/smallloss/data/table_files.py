"""Tables as files: csv and parquet, read by column name and written atomically."""

import csv
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from smallloss import files
from smallloss.errors import InputError
from smallloss.files import require_file

MISSING = ["", "nan", "null", "none", "na", "n/a", "?"]
CLEANLAB = ("is_label_issue", "label_score", "given_label", "predicted_label")  # first in examples.csv too
EXPORTED = ("id", "label", "given_label", "weight", "split", "reason")  # in every table that `export` writes
_LONGEST_ROW = 1 << 26  # bytes
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def read_table(path: str | Path) -> pa.Table:
    """A csv file (all columns text, empty cells null) or a parquet file as an Arrow table.

    In a csv that `export` wrote, every text is again what it was before it was defused.
    """
    path = require_file(path, "table")
    require_ending(path)
    try:
        table = _read_csv(path) if path.suffix.lower() == ".csv" else parquet.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        advice = "; save it in UTF-8" if "UTF8" in str(error) else ""
        raise InputError(f"{path} cannot be read as a {path.suffix[1:].lower()} file: {error}{advice}") from error
    return plain_table(table, path)


def plain_table(table: pa.Table, where: str | Path) -> pa.Table:
    """No name twice, and no layouts of texts and bytes, as others write them, that not all of Arrow can work with."""
    for name in table.column_names:
        if table.column_names.count(name) > 1:
            raise InputError(f"{where} has more than one column named {name!r}; rename one of them.")
    plain = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in table.schema.types]
    fields = [
        field.with_type(plain.get(str(kind), field.type)) for field, kind in zip(table.schema, kinds, strict=True)
    ]
    return table.cast(pa.schema(fields, table.schema.metadata))


def _read_csv(path: Path) -> pa.Table:
    header = read_rows(path, limit=1)[0]
    faulty: list[Any] = []

    def skip(row: Any) -> str:
        faulty.append(row)
        return "skip"

    table = arrow_csv.read_csv(
        path,
        arrow_csv.ReadOptions(use_threads=False, block_size=_LONGEST_ROW),  # threads do not number rows
        arrow_csv.ParseOptions(delimiter=_separator(path), newlines_in_values=True, invalid_row_handler=skip),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=True, null_values=[""]
        ),
    )
    for row in faulty:
        raise InputError(
            f"Row {row.number - 1} of {path} has {row.actual_columns} cells; the header names {row.expected_columns}."
        )
    table = table.rename_columns([name.strip() for name in header])
    if not columns_of_export(table.column_names):
        return table
    mark = {"pattern": rf"^'({_FORMULA.pattern})", "replacement": r"\1"}  # the inverse of `defuse`
    names = pc.replace_substring_regex(pa.array(table.column_names), **mark).to_pylist()
    return pa.table([pc.replace_substring_regex(column, **mark) for column in table.columns], names)


def columns_of_export(names: Iterable[str]) -> list[str]:
    """Those of the columns that `export` made itself; none if the table is no export of ours.

    All of them together tell one from a user's own table, whatever was put beside them since.
    """
    ours = [name for name in names if name in (*EXPORTED, "audit_answer")]  # the last where a person was asked
    return ours if set(ours).issuperset(EXPORTED) else []


def read_rows(path: Path, limit: int | None = None) -> list[list[str]]:
    """The rows of a csv file as text, empty lines left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(islice(filter(None, csv.reader(file, delimiter=_separator(path), strict=True)), limit))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read as a csv file in UTF-8: {error}; save it in UTF-8") from error
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as a csv file in UTF-8: {error}") from error
    if not rows:
        raise InputError(f"{path} is empty.")
    return rows


def _separator(path: Path) -> str:
    """A comma, or the semicolon or tab that stands in the first line instead."""
    with path.open(encoding="utf-8-sig") as file:
        bare = re.sub('"[^"]*"', "", file.readline())  # what stands between cells, and cells without quotes
    return next((one for one in (",", ";", "\t") if one in bare), ",")


def numbers_in(column: Any) -> np.ndarray | None:
    """Numbers, booleans and dates (in days), also where they are written as text, as float64, NaN where one is missing.

    None if a cell is neither one nor a word for a missing one.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    cells = trimmed(column) if is_text(kind) else column.cast(kind)
    for kind in (pa.float64(), pa.bool_(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            plain = cells.cast(kind, safe=False)
            whole = plain if kind == pa.float64() else plain.cast(pa.int64()).cast(pa.float64(), safe=False)
            numbers = np.array(whole.to_numpy())
            return numbers / 86_400e6 if pa.types.is_timestamp(kind) else numbers
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return None


def trimmed(column: Any) -> Any:
    """Texts without the blanks around them, null where they say that something is missing."""
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    missing = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(MISSING))
    return pc.if_else(pc.fill_null(missing, True), pa.scalar(None, pa.string()), texts)


def read_numbers(column: Any, name: str, path: str | Path) -> np.ndarray:
    """A column as float64. Empty cells and NaN are NaN, never seen; any other non-number is an error."""
    numbers = numbers_in(column)
    if numbers is None:  # the first row that makes it so
        rows = range(len(column))
        odd = [bisect_left(rows, True, key=lambda row: numbers_in(column.slice(0, row + 1)) is None)]
    else:
        odd = np.flatnonzero(np.isinf(numbers)).tolist()
    if numbers is None or odd:
        raise InputError(
            f"Row {odd[0] + 1} of column {name!r} in {path} is {column[odd[0]].as_py()!r}, which is not a finite "
            "number; leave a cell empty where there is none."
        )
    return numbers


def is_number(cell: str) -> bool:
    """Is it a number as a person writes one? Python's 1_000 is not."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def column_values(column: Any) -> np.ndarray:
    """A column as it is, numbers in their own precision; a copy, to be written to."""
    if pa.types.is_string(column.type) or pa.types.is_null(column.type):
        return np.array(column.to_pylist(), dtype=object)
    return np.array(column.to_numpy())


def is_text(kind: Any) -> bool:
    """Of an Arrow type, be it of a dictionary."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_nested(kind: Any) -> bool:
    """Is a cell of this Arrow type a list, a record or bytes, and not one value?"""
    if isinstance(kind, pa.BaseExtensionType):  # a picture as a tensor is nested; a UUID is one value, in bytes
        return bool(pa.types.is_nested(kind.storage_type))
    return bool(pa.types.is_nested(kind) or "binary" in str(kind))  # binary, large_binary, binary_view, ...


def write_table(path: str | Path, columns: Mapping[str, Any]) -> Path:
    """Columns of equal length as csv or parquet, by the ending of `path`; parquet keeps every value exactly.

    In csv a text, or the name of a column, that a spreadsheet would take for a formula gets a leading apostrophe;
    numbers never do.
    """
    path = Path(path)
    require_ending(path)
    sink = pa.BufferOutputStream()
    texts = {name for name, one in columns.items() if isinstance(one, np.ndarray) and one.dtype.kind in "OU"}
    table = pa.table({name: one.tolist() if name in texts else one for name, one in columns.items()})
    if path.suffix.lower() == ".parquet":
        parquet.write_table(table, sink)
    else:
        cells = [_csv_cells(name, table.column(name)) for name in table.column_names]
        arrow_csv.write_csv(pa.table(cells, [defuse(name) for name in table.column_names]), sink)
    return files.write_bytes(path, sink.getvalue().to_pybytes())


def is_table(path: str | Path) -> bool:
    return Path(path).suffix.lower() in (".csv", ".parquet") and not Path(path).is_dir()


def require_ending(path: Path) -> None:
    """Refuse a table that could not be read or written, before there is work to lose."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{path} is neither .csv nor .parquet; a table is one of these.")


def _csv_cells(name: str, column: Any) -> Any:
    if is_nested(column.type):
        raise InputError(f"The column {name!r} holds {column.type}, which a csv cannot hold; write a .parquet instead.")
    if is_text(column.type) or isinstance(column.type, pa.BaseExtensionType):  # a UUID: bytes that mean a text
        return pa.array([None if cell is None else defuse(str(cell)) for cell in column.to_pylist()], pa.string())
    if pa.types.is_floating(column.type):
        return pa.array(column.to_numpy(), from_pandas=True)  # NaN: an empty cell
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


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
