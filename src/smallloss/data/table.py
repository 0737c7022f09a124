"""A csv or parquet file with a column of labels: of pictures, of texts, or of numbers and categories.

Rows and texts become float32 features without any download: numbers stay what they are, a category gets a column, a
text TF-IDF of words and of pieces of words, then an SVD. What describes them (medians, categories, terms) is learnt
from the first part alone; a test part follows it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from smallloss.data.arrays import from_arrays
from smallloss.data.columns import Rows, Table
from smallloss.data.dataset import Dataset, require_classes
from smallloss.data.pictures import Listing, picture_dataset
from smallloss.data.source import Source
from smallloss.data.table_files import CLEANLAB, MISSING, is_nested, is_text, numbers_in, read_numbers, trimmed
from smallloss.errors import InputError
from smallloss.words import listed

MOST_CATEGORIES = 32  # of one column; the rest become "other"
FEATURES = 256  # of a text
_VOCABULARY = 20_000  # of words and pairs of words, and as many pieces
_COUNTED = 20_000_000  # characters that a vocabulary is made of; more would fill the memory
_SEED = 0
_INDEX = ("", "index", "unnamed: 0", "__index_level_0__")  # what tables are saved with beside what they hold
_USED = {
    "numbers": "used as numbers (a missing one becomes the median, and is marked)",
    "categories": f"used as categories (at most {MOST_CATEGORIES} each)",
    "": "left out (empty, or different in every row)",
}
_LIKE_A_NUMBER = r"^[^\w\s]*\d[\d.,:\s]*[^\w\s]*$"


def load_table(path: Path, label: str | None = None) -> Dataset:
    """The rows of a file; `label` names the column of labels."""
    return table_dataset(Table.read(path, label), path.name)


SOURCE = Source("a .csv or .parquet file", load_table, endings=(".csv", ".parquet"), options=("label",))


def table_dataset(table: Table, name: str, test: Table | None = None) -> Dataset:
    """The rows of a table: pictures where it has some, else texts, else features."""
    if not len(table):
        raise InputError(f"{table.where} has no rows below its header.")
    labels, own, n = table.given(), table.own, len(table)
    require_classes(labels, table.where)
    ids, truth = table.ids(), table.true_labels()
    if own.picture_column is not None:
        return _pictures(table, own.picture_column, name, test)
    written = own.text_columns
    if not written and set(CLEANLAB) <= set(table.names):  # a network would learn them instead of what they are of
        raise InputError(
            f"{table.where} holds what a tool thinks of the examples ({', '.join(CLEANLAB)}), which must not be "
            "learned from; clean the data itself, or leave these columns out."
        )
    more = None if test is None else test.only(own.names)
    rows, shown, described = _described(own, more)
    tested = None if test is None else (rows[n:], test.given())
    dataset = from_arrays(rows[:n], labels, name=name, ids=ids, true_labels=truth, test=tested)
    notes = [f"The labels are in the column {table.label!r}."]
    if written:
        notes += [f"The text is in the column{'s'[: len(written) - 1]} {' and '.join(map(repr, written))}.", *described]
        # The last features of an SVD hold little but noise: scaled one by one, they would drown the first.
        spread = float(np.sqrt(rows[:n].var(0, dtype=np.float64).mean())) or 1.0
        dataset = replace(dataset, normalisation=(rows[:n].mean(0).tolist(), [spread] * rows.shape[1]))
    else:
        notes += described
        notes += ["Columns that an earlier export added are not learned from."] if table.of_export else []
        notes += _copies_note(own, labels)
    notes += [f"Not learned from, being called labels: {listed(table.labels_too)}."] if table.labels_too else []
    kind = "text" if written else "table"
    if dataset.test is not None:
        dataset = replace(dataset, test=replace(dataset.test, kind=kind, shown=shown[1]))
    return replace(dataset, kind=kind, shown=shown[0], notes=tuple(notes), described=tuple(described))


def shown_again(dataset: Dataset) -> Table:
    """The texts or rows that it was made of."""
    rows = dataset.shown
    return Table(rows.table if isinstance(rows, Rows) else pa.table({"text": rows}), dataset.name)


def new_rows(own: Table, new: Table) -> tuple[np.ndarray, np.ndarray]:
    """Features of the table that was learnt from, and those of `new` rows, made as they were."""
    own = own.only(
        own.text_columns or [name for name, (_, block) in _blocks(own, len(own)).items() if block is not None]
    )
    more = new.only(own.names)
    for name in () if own.text_columns else own.names:  # a cell that is no number would make the column another
        if numbers_in(own.arrow.column(name)) is not None:
            read_numbers(more.arrow.column(name), name, new.where)
    features, _, _ = _described(own, more)
    return features[: len(own)], features[len(own) :]


def _pictures(table: Table, column: str, name: str, test: Table | None) -> Dataset:
    parts = []
    for part in [table] if test is None else [table, test]:
        truth = part.true_labels()
        parts.append(Listing(*part.pictures(column), part.given().tolist(), None if truth is None else truth.tolist()))
    notes = [f"The pictures are in the column {column!r}, the labels in {table.label!r}."]
    if others := [other for other in table.own.names if other != column]:
        notes.append(f"Columns not used: {listed(others)}.")
    return picture_dataset(name, *parts, notes=notes)


def _copies_note(table: Table, labels: np.ndarray) -> list[str]:
    """A sentence on columns that tell every label, as a second spelling of it does, where there are any."""
    classes, told = len(np.unique(labels)), []
    for name, column in zip(table.names, table.arrow.columns, strict=True):
        if len(column.unique()) == classes == len(set(zip(map(str, column.to_pylist()), labels, strict=True))):
            told.append(name)
    if not told:
        return []
    return [
        f"The label of every row can be told from {listed(told, 5)} alone. If that was made from the labels, leave it "
        "out: what is learned from it finds no wrong label."
    ]


def _described(table: Table, more: Table | None) -> tuple[np.ndarray, list[Sequence[str]], list[str]]:
    """The rows of a table, then `more` like them, as features: of their texts, or of all where there is no text.

    Also what to show of each of the two, and the sentences on how they were made.
    """
    parts, written = [table] if more is None else [table, more], table.text_columns
    if not written:
        features, notes = _tabular(parts)
        return features, [Rows(part.arrow) for part in parts], notes
    texts = [part.texts(written) for part in parts]
    features, said = text_features(texts[0], table.where, *texts[1:])
    return features, [*texts], [said]


def _tabular(parts: Sequence[Table]) -> tuple[np.ndarray, list[str]]:
    """float32 [n, d] of all rows, the columns in their order, and the sentences that say what became of them."""
    first = parts[0]
    rows = pa.concat_tables([_as_text(part, parts) for part in parts], promote_options="permissive")
    whole = Table(rows, first.where)
    whole.refuse_nested(first.names)
    blocks = _blocks(whole, len(first))
    found = [block for _, block in blocks.values() if block is not None]
    if not found:
        among = f"; left out, being empty or different in every row: {listed(first.names)}" if first.names else ""
        raise InputError(f"{first.where} has no column to learn from besides the labels{among}.")
    used = {what: [name for name, (how, _) in blocks.items() if how == what] for what in _USED}
    notes = [f"Columns {_USED[what]}: {listed(names)}." for what, names in used.items() if names]
    return np.concatenate(found, axis=1), notes + _misread_note(first)


def _as_text(table: Table, parts: Sequence[Table]) -> pa.Table:
    """Its columns as text where another part has text: one may be from a csv, and one from memory."""
    found = table.arrow
    for place, name in enumerate(table.names):
        kinds = {part.kind(name) for part in parts}
        if len(kinds) > 1 and any(map(is_text, kinds)) and not any(map(is_nested, kinds)):
            found = found.set_column(place, name, found.column(name).cast(pa.string()))
    return found


def _misread_note(table: Table) -> list[str]:
    """A sentence on numbers and dates written as we do not read them, where there are any."""
    columns = {name: table.arrow.column(name) for name in table.names if is_text(table.kind(name))}
    texts = {name: pc.drop_null(trimmed(column)) for name, column in columns.items() if numbers_in(column) is None}
    alike = [name for name, cells in texts.items() if pc.all(pc.match_substring_regex(cells, _LIKE_A_NUMBER)).as_py()]
    if not alike:
        return []
    return [
        f"The cells of {listed(alike, 5)} look like numbers or dates (the first: {texts[alike[0]][0].as_py()!r}), yet "
        "are not read as such: write numbers as 1234.5 and dates as 2024-12-31."
    ]


def _blocks(table: Table, learnt: int) -> dict[str, tuple[str, np.ndarray | None]]:
    """What each column was used as, and its features; none where it was left out."""
    found = {name: _block(name, table.arrow.column(name), learnt) for name in table.names}
    return {name: ("" if block is None else how, block) for name, (how, block) in found.items()}


def _block(name: str, column: pa.ChunkedArray, learnt: int) -> tuple[str, np.ndarray | None]:
    from sklearn.impute import SimpleImputer

    numbers = numbers_in(column)
    if numbers is None:
        return "categories", _one_hot(column.to_pylist(), learnt)
    first = numbers[:learnt]
    # 0, 1, 2, ... or 1, 2, 3, ..., in any order where it is called an index, says nothing about the rows.
    is_index = name.strip().lower() in _INDEX and len(np.unique(first)) == learnt
    if is_index or (learnt > 2 and first[0] in (0, 1) and (np.diff(first) == 1).all()):
        return "", None
    numbers[np.abs(numbers) > np.finfo(np.float32).max] = np.nan  # infinite, or so in float32
    if np.isnan(first).all():
        return "", None
    imputer = SimpleImputer(strategy="median", add_indicator=True).fit(first[:, None])
    return "numbers", np.asarray(imputer.transform(numbers[:, None]), np.float32)


def _one_hot(cells: list[Any], learnt: int) -> np.ndarray | None:
    """A column per category, the most frequent first, then 'other'; None if no category occurs twice."""
    missing = [cell is None or str(cell).strip().lower() in MISSING for cell in cells]  # a category of its own
    names = np.array(["" if none else str(cell) for cell, none in zip(cells, missing, strict=True)])
    categories, counts = np.unique(names[:learnt], return_counts=True)
    if counts.max() < 2:
        return None
    block = names[:, None] == categories[np.argsort(-counts, kind="stable")][:MOST_CATEGORIES]
    if len(categories) > MOST_CATEGORIES:
        block = np.column_stack([block, np.isin(names, categories) & ~block.any(1)])
    return block.astype(np.float32)


def text_features(texts: list[str], where: str, new: list[str] | None = None) -> tuple[np.ndarray, str]:
    """float32 [n, at most 256], the same on every call, and the sentence that says how they were made.

    The terms and their weights are those of `texts`; the rows of `new` texts, of a test part, follow theirs.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # Words tell the subject; pieces of words forgive spelling and endings.
    rare = 2 if len(texts) >= 1000 else 1
    limits = {"min_df": rare, "max_features": _VOCABULARY, "sublinear_tf": True, "dtype": np.float32}
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b", **limits)
    weighed = make_union(words, TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), **limits))
    step = 1 + sum(map(len, texts)) // _COUNTED
    try:
        terms = weighed.fit_transform(texts) if step == 1 else weighed.fit(texts[::step]).transform(texts)
    except ValueError as error:  # scikit-learn's word for texts that hold no term at all
        raise InputError(f"The texts of {where} contain no words: {error}") from error
    new_terms = weighed.transform(new) if new else terms[:0]
    size = min(FEATURES, len(texts) - 1, terms.shape[1] - 1)
    if size < 1:
        only = np.concatenate([terms.toarray(), new_terms.toarray()])
        return only.astype(np.float32), "Texts are described by the only term they contain."
    with threadpool_limits(1), np.errstate(all="ignore"):  # the number of threads would change the last digits
        svd = TruncatedSVD(size, n_iter=3, random_state=_SEED)
        features = svd.fit_transform(terms)
        if new:
            features = np.concatenate([features, svd.transform(new_terms)])
    said = f"Each text becomes {size} features: TF-IDF of {terms.shape[1]:,} terms, reduced by an SVD."
    return features.astype(np.float32), said
