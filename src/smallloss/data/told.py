"""What a person knows of the labels, in a file or as text: rates, a matrix, answers, losses recorded elsewhere."""

import re
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from smallloss.criterion.transition import validate
from smallloss.data.columns import LABEL, Table, find_column
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import by_spelling, is_number, read_numbers, read_rows, read_table
from smallloss.errors import InputError
from smallloss.files import read_npy, read_npz, require_file
from smallloss.noise.answers import true_class
from smallloss.words import listed, quoted

_SCORE = ("score", "mean_loss", "loss")
_EPOCH = re.compile(r"loss_?\d+")
ANSWERS = ("right", "wrong", "none")
Rates = float | dict[str, float]


def read_rates(text: str | Path, classes: Sequence[str]) -> tuple[Rates, np.ndarray | None]:
    """(the rates, how high they may be where that is said, in the order of the classes).

    text: 0.2 or 20% · cat=0.3,dog=0.2 · rates.csv with the columns label and noise_rate, and perhaps `upper`, the upper
    end of the 80 % interval of each rate. A label may be spelled as our own tables spell it; blanks around it are
    forgiven where no class has them.
    """
    said, path, spelled = str(text), Path(text), by_spelling(classes)
    if path.is_file():
        table = _rows(path, "label", "noise_rate")
        rows = [(f" in row {n} of {path}", row["label"], row["noise_rate"], row.get("upper", "")) for n, row in table]
    elif (overall := _share(said)) is not None:
        return overall, None
    elif "=" in said:
        rows = [("", *pair.rpartition("=")[::2], "") for pair in said.split(",")]
    else:
        raise InputError(
            f"The noise rate {said!r} is neither a number, nor pairs such as cat=0.3,dog=0.2, nor a file that exists."
        )
    rates: dict[str, float] = {}
    highest: dict[str, float] = {}
    for where, label, rate, upper in rows:
        name = next((spelled[spelling] for spelling in (label, label.strip()) if spelling in spelled), label.strip())
        if name in rates:
            raise InputError(f"The noise rate of {name!r}{where} is given twice; keep one of the two.")
        share, most = _share(rate), _share(upper)
        if share is None:
            raise InputError(f"The noise rate of {name!r}{where} is {rate!r}; it must be a number in [0, 1).")
        if upper and not (most is not None and 0 <= most < 1):  # a selection would call it the rate
            raise InputError(
                f"The upper of {name!r}{where} is {upper!r}; the upper end of a noise rate must be a number in [0, 1), "
                "or empty where it is not known."
            )
        rates[name] = share
        highest |= {} if most is None else {name: max(most, share)}
    if not highest:
        return rates, None
    return rates, np.array([highest.get(name, rates.get(name, 0.0)) for name in classes])


def _share(text: str) -> float | None:
    """0.2, also where it is written as 20%; None of what is no number."""
    said = text.strip()
    number = said.removesuffix("%")
    return None if not is_number(number) else float(number) / (1 if number == said else 100)


def _rows(path: str | Path, *names: str) -> list[tuple[int, dict[str, str]]]:
    """Every row of a table that has these columns, after its number; what is not there is an empty text."""
    table = read_table(path)
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}; it must have {', '.join(names)}.")
    rows = [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in table.to_pylist()]
    return [(n, row) for n, row in enumerate(rows, start=1) if any(cell.strip() for cell in row.values())]


def read_matrix(path: str | Path) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """(T, class names or None) from .csv, .npy or .parquet. Rows are true classes.

    A csv may name the classes in a header row, in its first column, or in both; a parquet file names them in
    its columns.
    """
    path = require_file(path, "matrix")
    if path.suffix.lower() == ".npy":
        T = read_npy(path)
        if T.ndim != 2 or T.shape[0] != T.shape[1] or T.dtype.kind not in "iuf":
            raise InputError(
                f"{path} holds {T.dtype} of shape {T.shape}; a matrix of numbers has c rows and c columns."
            )
        return T.astype(np.float64), None
    if path.suffix.lower() == ".csv":
        return _from_cells([[cell.strip() for cell in row] for row in read_rows(path)], path)
    table = read_table(path)
    return _from_cells([table.column_names, *([str(cell) for cell in row.values()] for row in table.to_pylist())], path)


def read_transition(path: str | Path, labels: Sequence[str]) -> np.ndarray:
    """T with its classes in the order of the labels found in the data."""
    T, names = read_matrix(path)
    T = validate(T)
    if names is None and len(T) != len(labels):
        raise InputError(f"{path} is {len(T)} x {len(T)}, but the data has {len(labels)} labels ({listed(labels)}).")
    if names is None:
        return T
    if sorted(names) != sorted(labels):
        raise InputError(f"The classes of {path} ({listed(names)}) are not the labels of the data ({listed(labels)}).")
    order = [names.index(name) for name in labels]
    return T[np.ix_(order, order)]


def _from_cells(rows: list[list[str]], path: Path) -> tuple[np.ndarray, tuple[str, ...] | None]:
    height, width = len(rows), len(rows[0])
    commas = [cell for cell in rows[-1] if "," in cell and is_number(cell.replace(",", "."))]
    if commas:
        raise InputError(f"The numbers of {path} have decimal commas ({commas[0]!r}); write them with points.")
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InputError(f"Line {number} of {path} has {len(row)} cells, the first has {width}.")
    # One line more than columns is a header, one column more than lines holds names; a square with both has a
    # corner that is no number.
    framed = height == width and not is_number(rows[0][0])
    header, named = framed or height == width + 1, framed or width == height + 1
    if height - header != width - named:
        raise InputError(f"{path} has {height} lines and {width} columns; a matrix has as many rows as columns.")
    across, down = rows[0][named:] if header else [], [row[0] for row in rows[header:]] if named else []
    if across and down and across != down:
        raise InputError(f"{path} names its columns {listed(across)} but its rows {listed(down)}; they must agree.")
    body = [row[named:] for row in rows[header:]]
    for (i, j), cell in np.ndenumerate(np.array(body, object)):
        if not (is_number(cell) and isfinite(float(cell))):
            raise InputError(f"Row {i + 1}, column {j + 1} of the matrix in {path} is {cell!r}, which is not a number.")
    return np.array(body, dtype=np.float64), tuple(across or down) or None


def read_corrections(path: str | Path, dataset: Dataset) -> dict[int, int]:
    """Row of the dataset -> its true class by hand, or NONE.

    Columns: id, answer (right, wrong, none) and true_label, which only the right ones may do without. It is the truth
    whatever the label is today: one that was wrong may have been mended since, and one that was right changed.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"corrections is a {type(path).__name__}; give the path of a table of id, answer, true_label.")
    place = {name: row for row, name in enumerate(dataset.ids)}
    code, spelled = {name: k for k, name in enumerate(dataset.classes)}, by_spelling(dataset.classes)
    ids, pins = by_spelling(dataset.ids), dict[int, int]()
    for n, row in _rows(path, "id", "answer", "true_label"):
        where, name, word = f"Row {n} of {path}", row["id"], row["answer"].strip().lower()
        true = spelled.get(row["true_label"], row["true_label"])
        if name not in ids:
            raise InputError(
                f"{where} names {name!r}, which is not an example of {dataset.name}. If it was moved or renamed, write "
                "its new id there; if it is gone, take the row out."
            )
        if word not in ANSWERS:
            raise InputError(f"{where} has the answer {row['answer']!r}; it must be {', '.join(ANSWERS)}.")
        index = place[ids[name]]
        if index in pins:
            raise InputError(f"{where} answers for {quoted(name)} a second time; keep one of the two.")
        if true in code and word != "none":
            pins[index] = code[true]
        else:
            pins[index] = true_class(word, true, int(dataset.labels[index]), code, f"{where} ({name!r})")
    return pins


class Scores(NamedTuple):
    """In input order; the mean is over the epochs in which an example was seen, NaN if in none."""

    labels: np.ndarray
    mean: np.ndarray
    ids: list[str] | None


def read_scores(path: str | Path) -> Scores:
    """Labels and losses by name.

    A table has the columns label (given_label, y), score (mean_loss, loss) or one per epoch (loss_0, ...), and may have
    id. An npz has `labels` and `loss`: [n] or [n, epochs].
    """
    path = Path(path)
    table = Table(_columns_of_npz(path), path) if path.suffix.lower() == ".npz" else Table.read(path)
    score = find_column(table.names, _SCORE)
    columns = [name for name in table.names if _EPOCH.fullmatch(name)] if score is None else [score]
    if find_column(table.names, LABEL) is None or not columns:
        raise InputError(
            f"{path} has {listed(table.names)}; it needs label (or given_label, y) and score (or mean_loss, loss, or "
            "loss_0, loss_1, ... per epoch)."
        )
    losses = np.stack([read_numbers(table.arrow.column(column), column, path) for column in columns], axis=1)
    seen = (~np.isnan(losses)).sum(axis=1)
    mean = np.where(seen > 0, np.nansum(losses, axis=1) / np.maximum(seen, 1), np.nan)
    return Scores(table.labels(), mean, None if table.id is None else table.ids())


def _columns_of_npz(path: Path) -> pa.Table:
    """The vectors of an archive as columns; a matrix of losses has one for each epoch."""
    columns: dict[str, Any] = {}
    for name, array in read_npz(path).items():
        matrix = {f"{name}_{k}": column for k, column in enumerate(array.T)} if array.ndim == 2 else {}
        columns |= matrix or {"id" if name == "ids" else name: array.astype(str) if array.dtype.kind == "S" else array}
    lengths = {name: array.shape for name, array in columns.items()}
    if len(set(lengths.values())) != 1:
        raise InputError(
            f"The arrays of {path} are not as long as each other: {lengths}; labels, loss and ids must be."
        )
    return pa.table({name: array.tolist() for name, array in columns.items()})
