"""Rows and texts become float32 features, without any download.

Numbers stay what they are, a category gets a column, a text TF-IDF of words and of pieces of words, then an SVD.
What describes them (medians, categories, terms) is learnt from the first part alone; a test part follows it.
"""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from smallloss.data.columns import Table, is_text
from smallloss.errors import InputError
from smallloss.words import listed

MOST_CATEGORIES = 32  # of one column; the rest become "other"
FEATURES = 256  # of a text
MISSING = ["", "nan", "null", "none", "na", "n/a", "?"]
_VOCABULARY = 20_000  # of words and pairs of words, and as many pieces
_COUNTED = 20_000_000  # characters; beyond them a vocabulary would fill the memory, and terms are hashed
_SEED = 0
_INDEX = ("", "index", "unnamed: 0", "__index_level_0__")  # what tables are saved with beside what they hold
_USED = {
    "numbers": "used as numbers (a missing one becomes the median, and is marked)",
    "categories": f"used as categories (at most {MOST_CATEGORIES} each)",
    "": "left out (empty, or different in every row)",
}
_LIKE_A_NUMBER = r"^[^\w\s]*\d[\d.,:\s]*[^\w\s]*$"


class Rows(Sequence[str]):
    """The rows of an Arrow table as a reader would like to see them, made when they are looked at."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return ", ".join(f"{name} = {value}" for name, value in self.cells(index))

    def cells(self, index: int) -> list[tuple[str, str]]:
        """One row, each column by its name."""
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        row = self.table.slice(int(index) % len(self), 1).to_pylist()[0]
        return [(name, "missing" if value is None else str(value)) for name, value in row.items()]


def tabular_features(parts: Sequence[Table]) -> tuple[np.ndarray, list[str]]:
    """float32 [n, d] of all rows, the columns in their order, and the sentences that say what became of them."""
    import pyarrow as pa

    first = parts[0]
    whole = Table(pa.concat_tables([part.arrow for part in parts], promote_options="permissive"), first.where)
    whole.refuse_nested(first.names)
    blocks = _blocks(whole, len(first))
    found = [block for _, block in blocks.values() if block is not None]
    if not found:
        among = f"; left out, being empty or different in every row: {listed(first.names)}" if first.names else ""
        raise InputError(f"{first.where} has no column to learn from besides the labels{among}.")
    used = {what: [name for name, (how, _) in blocks.items() if how == what] for what in _USED}
    notes = [f"Columns {_USED[what]}: {listed(names)}." for what, names in used.items() if names]
    return np.concatenate(found, axis=1), notes + _misread_note(first)


def _misread_note(table: Table) -> list[str]:
    """A sentence on numbers and dates written as we do not read them, where there are any."""
    from pyarrow import compute as pc

    columns = {name: table.arrow.column(name) for name in table.names if table.is_text(name)}
    texts = {name: pc.drop_null(_trimmed(column)) for name, column in columns.items() if _numbers(column) is None}
    alike = [name for name, cells in texts.items() if pc.all(pc.match_substring_regex(cells, _LIKE_A_NUMBER)).as_py()]
    if not alike:
        return []
    return [
        f"The cells of {listed(alike, 5)} look like numbers or dates (the first: {texts[alike[0]][0].as_py()!r}), yet "
        "are not read as such: write numbers as 1234.5 and dates as 2024-12-31."
    ]


def used_columns(table: Table) -> list[str]:
    """The columns that features are made of: the others are empty, or different in every row."""
    return [name for name, (_, block) in _blocks(table, len(table)).items() if block is not None]


def refuse_other_kinds(new: Table, table: Table) -> None:
    """Refuse a cell of new rows that is no number where the table has only such: the column would become another."""
    for name in new.names:
        column = new.arrow.column(name)
        if _numbers(table.arrow.column(name)) is None or _numbers(column) is not None:
            continue
        row = next(row for row in range(len(column)) if _numbers(column.slice(row, 1)) is None)
        raise InputError(
            f"Row {row + 1} of the new ones has {column[row].as_py()!r} in the column {name!r}, where {table.where} "
            "has numbers."
        )


def _blocks(table: Table, learnt: int) -> dict[str, tuple[str, np.ndarray | None]]:
    """What each column was used as, and its features; none where it was left out."""
    found: dict[str, tuple[str, np.ndarray | None]] = {}
    for name in table.names:
        column = table.arrow.column(name)
        numbers = _numbers(column)
        if numbers is None:
            how, block = "categories", _one_hot(column.to_pylist(), learnt)
        else:
            how, block = "numbers", None if _is_row_number(name, numbers[:learnt]) else _impute(numbers, learnt)
        found[name] = "" if block is None else how, block
    return found


def _numbers(column: Any) -> np.ndarray | None:
    """Numbers, also where they are written as text; None if one cell is neither one nor a word for a missing one."""
    return _as_numbers(_trimmed(column) if is_text(column.type) else column)


def _trimmed(column: Any) -> Any:
    """Texts without the blanks around them, null where they say that something is missing."""
    import pyarrow as pa
    from pyarrow import compute as pc

    trimmed = pc.utf8_trim_whitespace(column.cast(pa.string()))
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING))
    return pc.if_else(pc.fill_null(missing, True), pa.scalar(None, pa.string()), trimmed)


def _as_numbers(column: Any) -> np.ndarray | None:
    """Numbers, booleans and dates (in days) as float64, NaN where missing; None for anything else."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _as_numbers(column.cast(kind.value_type))
    is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    for time in (*(() if is_date else (None,)), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            if time is None:
                return _finite(column.cast(pa.float64(), safe=False))
            microseconds = column.cast(time, safe=False).cast(pa.int64())
            return _finite(microseconds.cast(pa.float64(), safe=False)) / 86_400e6
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return None


def _finite(column: Any) -> np.ndarray:
    numbers = np.array(column.to_numpy(), dtype=np.float64)
    numbers[np.abs(numbers) > np.finfo(np.float32).max] = np.nan  # infinite, or so in float32
    return numbers


def _is_row_number(name: str, numbers: np.ndarray) -> bool:
    """0, 1, 2, ... or 1, 2, 3, ..., in any order where it is called an index: it says nothing about the rows."""
    n = len(numbers)
    if name.strip().lower() in _INDEX and len(np.unique(numbers)) == n:
        return True
    return n > 2 and bool(numbers[0] in (0, 1)) and bool((np.diff(numbers) == 1).all())


def _impute(numbers: np.ndarray, learnt: int) -> np.ndarray | None:
    from sklearn.impute import SimpleImputer

    if np.isnan(numbers[:learnt]).all():
        return None
    imputer = SimpleImputer(strategy="median", add_indicator=True).fit(numbers[:learnt, None])
    return np.asarray(imputer.transform(numbers[:, None]), np.float32)


def _one_hot(cells: list[Any], learnt: int) -> np.ndarray | None:
    """A column per category, the most frequent first, then 'other'; None if no category occurs twice."""
    names = [_category(cell) for cell in cells]
    categories, counts = np.unique(np.array(names[:learnt]), return_counts=True)
    if counts.max() < 2:
        return None
    order = np.argsort(-counts, kind="stable")
    rank = {name: place for place, name in enumerate(categories[order].tolist())}
    width = len(categories) if len(categories) <= MOST_CATEGORIES else MOST_CATEGORIES + 1
    block = np.zeros((len(cells), width + 1), np.float32)  # the last is for what only the test part has
    block[np.arange(len(cells)), [min(rank[name], width - 1) if name in rank else width for name in names]] = 1
    return block[:, :width]


def _category(cell: Any) -> str:
    """Missing is a category of its own."""
    return "" if cell is None or str(cell).strip().lower() in MISSING else str(cell)


def text_features(texts: list[str], where: str, new: list[str] | None = None) -> tuple[np.ndarray, str]:
    """float32 [n, at most 256], the same on every call, and the sentence that says how they were made.

    The terms and their weights are those of `texts`; the rows of `new` texts, of a test part, follow theirs.
    """
    from sklearn.decomposition import TruncatedSVD
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    hashed = sum(map(len, texts)) > _COUNTED
    try:
        weighed = _terms(len(texts), hashed)
        terms = weighed.fit_transform(texts)
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
    counted = "hashed terms" if hashed else f"{terms.shape[1]:,} terms"
    return features.astype(np.float32), f"Each text becomes {size} features: TF-IDF of {counted}, reduced by an SVD."


def _terms(n: int, hashed: bool) -> Any:
    """Weighs terms. Words tell the subject; pieces of words forgive spelling and endings."""
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union

    views: list[dict[str, Any]] = [
        {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b", "dtype": np.float32},
        {"analyzer": "char_wb", "ngram_range": (3, 4), "dtype": np.float32},
    ]
    if hashed:
        counts = [HashingVectorizer(n_features=2**18, norm=None, alternate_sign=False, **how) for how in views]
        return make_union(*(make_pipeline(one, TfidfTransformer(sublinear_tf=True)) for one in counts))
    rare = 2 if n >= 1000 else 1
    limits = {"min_df": rare, "max_features": _VOCABULARY, "sublinear_tf": True}
    return make_union(*(TfidfVectorizer(**limits, **how) for how in views))
