"""What a person knows of the labels, in a file or as text: rates, a matrix, answers, losses recorded elsewhere."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from smallloss.criterion.labels import label_names
from smallloss.criterion.transition import validate
from smallloss.data.arrays import ids_named
from smallloss.data.columns import LABEL, Table, find_column
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import by_spelling, is_number, read_numbers, read_rows, read_table
from smallloss.errors import InputError
from smallloss.files import read_npy, read_npz, require_file
from smallloss.noise.answers import true_class
from smallloss.words import listed, quoted

_SCORE = ("score", "mean_loss", "loss")
_EPOCH = re.compile(r"(loss|epoch)_?(\d+)")
ANSWERS = ("right", "wrong", "none")
Rates = float | dict[str, float]


def read_rates(text: str | Path, classes: Sequence[str]) -> tuple[Rates, np.ndarray | None]:
    """(the rates, how high they may be where that is said, in the order of the classes).

    text: 0.2 · cat=0.3,dog=0.2 · rates.csv with the columns label and noise_rate, and perhaps `upper`, the upper end of
    the 80 % interval of each rate. A label may be spelled as our own tables spell it; blanks around it are forgiven
    where no class has them.
    """
    said, path, spelled = str(text), Path(text), by_spelling(classes)
    if path.is_file():
        return _from_file(path, classes, spelled)
    if is_number(said):
        return float(said), None
    if "=" not in said:
        raise InputError(
            f"The noise rate {said!r} is neither a number, nor pairs such as cat=0.3,dog=0.2, nor a file that exists."
        )
    rates: dict[str, float] = {}
    for label, _, rate in (part.rpartition("=") for part in said.split(",")):
        _add(rates, _name(label, spelled), rate, "")
    return rates, None


def _from_file(
    path: Path, classes: Sequence[str], spelled: Mapping[str, str]
) -> tuple[dict[str, float], np.ndarray | None]:
    header, rows = _rows(path)
    rates: dict[str, float] = {}
    highest: dict[str, float] = {}
    for number, cells in rows:
        if len(cells) != len(header):
            raise InputError(
                f"Row {number} of {path} has {len(cells)} cells; a table of rates has a label and a rate, or a header "
                "that names the columns label and noise_rate."
            )
        row = dict(zip(header, cells, strict=True))
        name, upper = _name(row["label"], spelled), row.get("upper", "").strip()
        _add(rates, name, row["noise_rate"], f" in {path}")
        if upper and not (is_number(upper) and 0 <= float(upper) < 1):  # a selection would call it the rate
            raise InputError(
                f"The upper of {name!r} in row {number} of {path} is {upper!r}; the upper end of a noise rate must be "
                "a number in [0, 1), or empty where it is not known."
            )
        if upper:
            highest[name] = max(float(upper), rates[name])
    if not highest:
        return rates, None
    return rates, np.array([highest.get(name, rates.get(name, 0.0)) for name in classes])


def _rows(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The names of the columns, and the numbered rows below them; two columns need no names."""
    rows = [(number, row) for number, row in enumerate(read_rows(path), 1) if any(cell.strip() for cell in row)]
    header = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    if {"label", "noise_rate"} <= set(header):
        return header, rows[1:]
    named = len(header) == 2 and not is_number(header[1])
    return ["label", "noise_rate"], rows[1:] if named else rows


def _name(cell: str, spelled: Mapping[str, str]) -> str:
    return next((spelled[spelling] for spelling in (cell, cell.strip()) if spelling in spelled), cell.strip())


def _add(rates: dict[str, float], name: str, rate: str, where: str) -> None:
    if name in rates:
        raise InputError(f"The noise rate of {name!r}{where} is given twice; keep one of the two.")
    if not is_number(rate):
        raise InputError(f"The noise rate of {name!r}{where} is {rate!r}; it must be a number in [0, 1).")
    rates[name] = float(rate)


def read_matrix(path: str | Path) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """(T, class names or None) from .csv, .npy or .parquet. Rows are true classes.

    A csv may name the classes in a header row, in its first column, or in both; a parquet file names them in
    its columns.
    """
    path = require_file(path, "matrix")
    ending = path.suffix.lower()
    if ending == ".npy":
        T = read_npy(path)
        if T.ndim != 2 or T.shape[0] != T.shape[1] or T.dtype.kind not in "iuf":
            raise InputError(
                f"{path} holds {T.dtype} of shape {T.shape}; a matrix of numbers has c rows and c columns."
            )
        return T.astype(np.float64), None
    if ending == ".parquet":
        table = read_table(path)
        columns = [[str(cell) for cell in column.to_pylist()] for column in table.columns]
        rows = [table.column_names, *map(list, zip(*columns, strict=True))]
    elif ending == ".csv":
        rows = [[cell.strip() for cell in row] for row in read_rows(path)]
    else:
        raise InputError(f"{path} is not a .csv, .npy or .parquet file; give the matrix in one of these.")
    return _from_cells(rows, path)


def read_transition(path: str | Path, labels: Sequence[str]) -> np.ndarray:
    """T with its classes in the order of the labels found in the data."""
    T, names = read_matrix(path)
    T = validate(T)
    if names is None:
        if len(T) != len(labels):
            raise InputError(
                f"{path} is {len(T)} x {len(T)}, but the data has {len(labels)} labels ({listed(labels)})."
            )
        return T
    missing = [name for name in labels if name not in names]
    if missing or len(names) != len(labels):
        culprit = missing[0] if missing else next(name for name in names if name not in labels)
        raise InputError(
            f"The classes of {path} and the labels of the data differ: {culprit!r} is only in one of them."
        )
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
    header = framed or height == width + 1
    named = framed or width == height + 1
    if height - header != width - named:
        raise InputError(f"{path} has {height} lines and {width} columns; a matrix has as many rows as columns.")
    body = [row[named:] for row in rows[header:]]
    across = tuple(rows[0][named:]) if header else None
    down = tuple(row[0] for row in rows[header:]) if named else None
    if across and down and across != down:
        raise InputError(f"{path} names its columns {listed(across)} but its rows {listed(down)}; they must agree.")
    for i, row in enumerate(body, start=1):
        for j, cell in enumerate(row, start=1):
            if not (is_number(cell) and isfinite(float(cell))):
                raise InputError(f"Row {i}, column {j} of the matrix in {path} is {cell!r}, which is not a number.")
    return np.array(body, dtype=np.float64), across or down


def read_corrections(path: str | Path, dataset: Dataset) -> dict[int, int]:
    """Row of the dataset -> its true class by hand, or NONE.

    Columns: id, answer (right, wrong, none) and true_label, which only the right ones may do without. It is the truth
    whatever the label is today: one that was wrong may have been mended since, and one that was right changed.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"corrections is a {type(path).__name__}; give the path of a table of id, answer, true_label.")
    table = read_table(path)
    for name in ("id", "answer", "true_label"):
        if name not in table.column_names:
            raise InputError(f"{path} has no column {name!r}; corrections have id, answer and true_label.")
    row_of = {name: index for index, name in enumerate(dataset.ids)}
    place = {spelling: row_of[name] for spelling, name in by_spelling(dataset.ids).items()}
    code, spelled = {name: k for k, name in enumerate(dataset.classes)}, by_spelling(dataset.classes)
    pins: dict[int, int] = {}
    columns = (table[name].to_pylist() for name in ("id", "answer", "true_label"))
    for row, (name, answer, label) in enumerate(zip(*columns, strict=True), 1):
        if str(name) not in place:
            raise InputError(
                f"Row {row} of {path} names {name!r}, which is not an example of {dataset.name}. If it was moved or "
                "renamed, write its new id there; if it is gone, take the row out."
            )
        word, index = str(answer or "").strip().lower(), place[str(name)]
        if word not in ANSWERS:
            raise InputError(f"Row {row} of {path} has the answer {answer!r}; it must be {', '.join(ANSWERS)}.")
        if index in pins:
            raise InputError(f"Row {row} of {path} answers for {quoted(str(name))} a second time; keep one of the two.")
        true = "" if label is None else spelled.get(str(label), str(label))
        where = f"Row {row} of {path} ({name!r})"
        if true and true in code and word != "none":
            pins[index] = code[true]
        else:
            pins[index] = true_class(word, true, int(dataset.labels[index]), code, where)
    return pins


@dataclass(frozen=True, eq=False)
class Scores:
    """`losses` [n, epochs] in input order, one column if they came averaged; NaN where never seen."""

    labels: np.ndarray
    losses: np.ndarray
    ids: tuple[str, ...] | None

    @property
    def mean(self) -> np.ndarray:
        """The mean over the epochs in which an example was seen; NaN if in none."""
        seen = ~np.isnan(self.losses)
        count = seen.sum(axis=1)
        total = np.where(seen, self.losses, 0.0).sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def read_scores(path: str | Path) -> Scores:
    """Labels and losses by name.

    A table has the columns label (given_label, y), score (mean_loss, loss) or one per epoch (loss_0, ... or
    epoch_0, ...), and may have id. An npz has `labels` and `loss`: [n], [n, epochs] or [epochs, n].
    """
    path = Path(path)
    return _scores_of_npz(path) if path.suffix.lower() == ".npz" else _scores_of_table(path)


def _scores_of_table(path: Path) -> Scores:
    table = Table.read(path)
    label, score = find_column(table.names, LABEL), find_column(table.names, _SCORE)
    columns = [score] if score else _epoch_columns(table.names, path)
    if label is None or not columns:
        raise InputError(
            f"{path} has the columns {listed(table.names)}; it needs label (or given_label, y) and score "
            "(or mean_loss, loss, or loss_0, loss_1, ... per epoch)."
        )
    losses = np.stack([read_numbers(table.arrow.column(column), column, path) for column in columns], axis=1)
    return Scores(table.labels(), losses, tuple(table.ids()) or None)


def _epoch_columns(names: Sequence[str], path: Path) -> list[str]:
    """The per-epoch columns in the order of their numbers."""
    found = [match for match in map(_EPOCH.fullmatch, names) if match]
    if len({match[1] for match in found}) > 1:
        raise InputError(f"{path} has both loss_... and epoch_... columns; keep one kind.")
    return [match[0] for match in sorted(found, key=lambda match: int(match[2]))]


def _scores_of_npz(path: Path) -> Scores:
    arrays = read_npz(path)
    label, score = find_column(list(arrays), LABEL), find_column(list(arrays), _SCORE)
    if label is None or score is None:
        raise InputError(f"{path} has the arrays {', '.join(arrays)}; it needs labels and loss.")
    labels, losses = label_names(arrays[label]), arrays[score]
    n = len(labels)
    if losses.dtype.kind not in "iuf" or losses.ndim not in (1, 2) or n not in losses.shape:
        raise InputError(
            f"{score} in {path} is {losses.dtype} of shape {losses.shape}; for {n:,} labels it must hold "
            f"numbers of shape ({n},), ({n}, epochs) or (epochs, {n})."
        )
    losses = losses.astype(np.float64)
    if losses.ndim == 1:
        losses = losses[:, None]
    elif losses.shape[0] != n:
        losses = losses.T
    bad = np.argwhere(np.isinf(losses))
    if len(bad):
        raise InputError(
            f"{score} in {path} is infinite for the example at index {bad[0][0]}; write NaN if never seen."
        )
    ids = ids_named(arrays, path, n)
    return Scores(labels, losses, None if ids is None else tuple(ids))
