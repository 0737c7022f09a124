"""A csv or parquet file with a column of labels: of pictures, of texts, or of numbers and categories."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.arrays import from_arrays
from smallloss.data.columns import Table
from smallloss.data.dataset import Dataset, require_classes
from smallloss.data.described import MISSING, Rows, refuse_other_kinds, tabular_features, text_features, used_columns
from smallloss.data.picture_set import Listing, picture_dataset
from smallloss.data.source import Source
from smallloss.data.table_files import CLEANLAB
from smallloss.errors import InputError
from smallloss.words import listed


def load_table(path: Path, label: str | None = None) -> Dataset:
    """The rows of a file; `label` names the column of labels."""
    return table_dataset(Table.read(path, label), path.name)


SOURCE = Source("a .csv or .parquet file", load_table, endings=(".csv", ".parquet"), options=("label",))


def table_dataset(table: Table, name: str, test: Table | None = None) -> Dataset:
    """The rows of a table: pictures where it has some, else texts, else features.

    What describes the rows of `test`, a table like it, is learnt from the others alone.
    """
    if not len(table):
        raise InputError(f"{table.where} has no rows below its header.")
    labels, rest = table.labels(), table.own
    require_classes(labels, table.where)
    ids, truth = table.ids(), table.true_labels()
    if rest.picture_column is not None:
        return _pictures(table, rest.picture_column, name, test)
    written = rest.text_columns
    if not written:
        _refuse_judgements(table)
    more = None if test is None else _like(test, rest.names, f"the test part of {table.where}", "the training part")
    features, shown, notes = _described(rest, more, written)
    kind, n = "text" if written else "table", len(table)
    tested = None if test is None else (features[n:], test.labels())
    features = features[:n]
    dataset = from_arrays(features, labels, name=name, ids=ids, true_labels=truth, test=tested)
    if dataset.test is not None:
        dataset = replace(dataset, test=replace(dataset.test, kind=kind, shown=shown[1]))
    said = []
    if written:
        # The last features of an SVD hold little but noise: scaled one by one, they would drown the first.
        spread = float(np.sqrt(features.var(0, dtype=np.float64).mean())) or 1.0
        dataset = replace(dataset, normalisation=(features.mean(0).tolist(), [spread] * features.shape[1]))
    else:
        said = ["Columns that an earlier export added are not learned from."] if table.of_export else []
        said += _copies_note(rest, labels)
    said += [f"Not learned from, being called labels: {listed(table.labels_too)}."] if table.labels_too else []
    described = tuple(notes[1:2] if written else notes)  # the first sentence on texts names their column
    notes = [f"The labels are in the column {table.label!r}.", *notes, *said, *_missing_note(labels)]
    return replace(dataset, kind=kind, shown=shown[0], notes=tuple(notes), described=described)


def new_rows(path: Path, label: str | None, new: Table) -> tuple[np.ndarray, np.ndarray]:
    """Features of the table at `path` as it was learnt from, and those of `new` rows, made as they were."""
    rest = Table.read(path, label).own
    written = rest.text_columns
    used = rest if written else rest.only(used_columns(rest))
    more = _like(new, written or used.names, "the new rows", rest.where)
    if not written:
        refuse_other_kinds(more, used)
    features, _, _ = _described(used, more, written)
    return features[: len(rest)], features[len(rest) :]


def _listing(table: Table, column: str) -> Listing:
    truth = table.true_labels()
    labels = table.labels().tolist()
    return Listing(*table.pictures(column), labels, None if truth is None else truth.tolist())


def _pictures(table: Table, column: str, name: str, test: Table | None) -> Dataset:
    train, tested = _listing(table, column), None if test is None else _listing(test, column)
    notes = [f"The pictures are in the column {column!r}, the labels in {table.label!r}."]
    if others := [other for other in table.own.names if other != column]:
        notes.append(f"Columns not used: {listed(others)}.")
    return picture_dataset(name, train, tested, notes)


def _copies_note(table: Table, labels: np.ndarray) -> list[str]:
    """A sentence on columns that tell every label, as a second spelling of it does, where there are any."""
    classes, codes = np.unique(labels, return_inverse=True)
    told = []
    for name, column in zip(table.names, table.arrow.columns, strict=True):
        if len(column.unique()) == len(classes):
            _, at = np.unique([str(cell) for cell in column.to_pylist()], return_inverse=True)
            told += [name] if len(np.unique(at * len(classes) + codes)) == len(classes) else []
    if not told:
        return []
    return [
        f"The label of every row can be told from {listed(told, 5)} alone. If that was made from the labels, leave it "
        "out: what is learned from it finds no wrong label."
    ]


def _missing_note(labels: np.ndarray) -> list[str]:
    """A sentence on labels that read like a missing one, where there are any."""
    blank = [name for name in np.unique(labels).tolist() if name.strip().lower() in MISSING]
    if not blank:
        return []
    return [f"The label {listed(blank)} counts as a class; leave its rows out if it says that there is no label."]


def _refuse_judgements(table: Table) -> None:
    """What a run said of the examples tells their labels: a network would learn it instead of what they are."""
    if set(CLEANLAB) <= set(table.names):
        raise InputError(
            f"{table.where} holds what a tool thinks of the examples ({', '.join(CLEANLAB)}), which must not be "
            "learned from; clean the data itself, or leave these columns out."
        )
    if table.of_export and not table.own.names:
        raise InputError(f"{table.where} holds only what an export says of the examples; add their own columns.")


def _like(table: Table, columns: list[str], where: str, other: str) -> Table:
    missing = [name for name in columns if name not in table.names]
    if missing:
        raise InputError(f"There is no column {missing[0]!r} in {where}, but {other} has one.")
    return Table(table.arrow.select(columns), where)


def _described(table: Table, more: Table | None, written: list[str]) -> tuple[np.ndarray, list[Any], list[str]]:
    """The rows of a table, then `more` like them, as features: of the texts in the columns `written`, or of all.

    Also what to show of each of the two, and sentences on both.
    """
    parts = [table] if more is None else [table, more]
    if not written:
        features, notes = tabular_features(parts)
        return features, [Rows(part.arrow) for part in parts], notes
    texts = [part.texts(written) for part in parts]
    features, said = text_features(texts[0], table.where, *texts[1:])
    column = f"The text is in the column{'s'[: len(written) - 1]} {' and '.join(map(repr, written))}."
    return features, [*texts], [column, said, *_empty_note(texts[0])]


def _empty_note(cells: list[str]) -> list[str]:
    """A sentence on the rows without a text, where there are any: nothing tells what their labels should be."""
    rows = [row for row, cell in enumerate(cells, start=1) if not cell]
    if not rows:
        return []
    one = f"1 text is empty, in row {rows[0]:,}."
    return [one if len(rows) == 1 else f"{len(rows):,} texts are empty, the first in row {rows[0]:,}."]
