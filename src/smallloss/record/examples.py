"""The examples of a run: one row per input example, in input order; what is shown, written and read back of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from smallloss.criterion.selection import (
    CORRECTED,
    KEPT,
    LIKELY_WRONG,
    NEVER_SEEN,
    NO_CLASS,
    REASONS,
    SAFETY,
    UNREADABLE,
    Selection,
)
from smallloss.data.dataset import Dataset, Unreadable
from smallloss.data.table_files import as_cell, column_values, read_table, write_table
from smallloss.errors import InputError
from smallloss.noise.answers import NONE, Labelled

TRAIN, HELD_OUT = "train", "held out"
SPLITS = (TRAIN, HELD_OUT, "")  # the last: in neither
NOBODY = -2  # in the place of a code: nobody was asked, nothing is predicted or suggested


@dataclass(frozen=True, eq=False)
class Part:
    """Examples that were ranked among themselves: the training part, or the part held out."""

    split: str
    index: np.ndarray  # rows of the dataset
    selection: Selection


@dataclass(frozen=True, eq=False)
class Examples:
    """What became of every example that could be read. Labels are codes of `classes`; vectors are in input order."""

    classes: tuple[str, ...]
    ids: Sequence[str]
    label: np.ndarray
    predicted: np.ndarray
    suggested: np.ndarray
    split: np.ndarray  # place in SPLITS
    reason: np.ndarray  # place in REASONS
    label_score: np.ndarray
    score: np.ndarray
    mean_loss: np.ndarray
    rank: np.ndarray
    quota: np.ndarray
    cutoff: np.ndarray
    weight: np.ndarray
    probability: np.ndarray | None = None  # of the class predicted
    answer: np.ndarray | None = None  # the true class by hand, NONE or NOBODY; None where nobody was asked at all
    true: np.ndarray | None = None  # where a benchmark knows it
    unreadable: Mapping[str, Unreadable] = field(default_factory=dict)
    values: Sequence[Any] | None = None  # the classes as the labels came, where those were no texts

    @classmethod
    def of(
        cls, data: Dataset, parts: Sequence[Part], predicted: np.ndarray, mean_loss: np.ndarray,
        probability: np.ndarray | None = None, seen_instead: np.ndarray | None = None,
    ) -> "Examples":  # fmt: skip
        """As the parts were selected. seen_instead: what the method's network takes the likely wrong ones for."""
        return cls(
            classes=tuple(map(as_cell, data.classes)), ids=data.ids, label=data.labels, predicted=predicted,
            suggested=predicted if seen_instead is None else seen_instead, mean_loss=mean_loss,
            probability=probability, true=data.true_labels, unreadable=data.unreadable, values=data.values,
            **_as_selected(parts, len(data)),
        )._telling()  # fmt: skip

    def ranked(self, parts: Sequence[Part]) -> "Examples":
        """The same examples as other parts were selected."""
        return replace(self, **_as_selected(parts, len(self)))._telling()

    def _telling(self) -> "Examples":
        """What they are taken for is suggested of the likely wrong alone, and where it is not their own label."""
        seen = np.where(self.suggested >= 0, self.suggested, self.predicted)
        told = self.likely_wrong & (seen >= 0) & (seen != self.label)
        return replace(self, suggested=np.where(told, seen, NOBODY))

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def kept(self) -> np.ndarray:
        return self.reason == KEPT

    @cached_property
    def likely_wrong(self) -> np.ndarray:
        """And nobody has decided on it."""
        return self.reason == LIKELY_WRONG

    @cached_property
    def worst(self) -> np.ndarray:
        """The rows whose label is likely wrong, or was found wrong by hand, the most suspicious first."""
        rows = np.flatnonzero(self.likely_wrong | self.corrected)
        return rows[np.argsort(self.label_score[rows], kind="stable")]

    @cached_property
    def seen(self) -> np.ndarray:
        """What each is taken for: of the likely wrong what is suggested, and their own label where nothing is."""
        own = np.where(self.predicted >= 0, self.label, NOBODY)
        instead = np.where(self.suggested >= 0, self.suggested, own)
        return np.where(self.likely_wrong, instead, self.predicted)

    @cached_property
    def corrected(self) -> np.ndarray:
        """Found wrong by hand."""
        return np.isin(self.reason, (CORRECTED, NO_CLASS))

    @cached_property
    def set_aside(self) -> np.ndarray:
        return (self.rank > 0) & ~self.kept & ~self.likely_wrong & ~self.corrected

    def rows(self, split: str) -> np.ndarray:
        return np.flatnonzero(self.split == SPLITS.index(split))

    def labelled(self, split: str) -> Labelled:
        """What a verdict is on."""
        rows = self.rows(split)
        return SimpleNamespace(classes=np.array(self.classes), class_index=self.label[rows], mask=self.kept[rows])

    @property
    def splits(self) -> list[str]:
        """Those that have examples, but for the nameless one."""
        return [split for split in SPLITS if split and len(self.rows(split))]

    def answered(self, pins: Mapping[int, int]) -> "Examples":
        """With the answers in it: the wrong under their reason, the right cleared; no suggestion beside an answer."""
        if not pins:
            return self
        rows, true = np.array(list(pins)), np.array(list(pins.values()))
        right = true == self.label[rows]
        answer = np.full(len(self), NOBODY) if self.answer is None else self.answer.copy()
        reason, weight, label_score = self.reason.copy(), self.weight.copy(), self.label_score.copy()
        suggested = self.suggested.copy()
        answer[rows], label_score[rows], suggested[rows] = true, right, NOBODY
        weight[rows[~right]] = 0
        reason[rows[~right]] = np.where(true[~right] == NONE, NO_CLASS, CORRECTED)
        spared = rows[right & (self.reason[rows] == LIKELY_WRONG)]
        reason[spared] = SAFETY  # not learnt from, but nothing is wrong with it
        return replace(self, answer=answer, reason=reason, weight=weight, label_score=label_score, suggested=suggested)

    def table(self) -> dict[str, Any]:
        """The columns, for pandas.DataFrame or pyarrow.table."""
        return {one.name: values for one in COLUMNS if (values := one.values(self)) is not None}

    def as_they_came(self) -> dict[str, Any]:
        """The table with the labels that somebody gave as numbers as these numbers again."""
        if self.values is None:
            return self.table()
        value = dict(zip(self.classes, self.values, strict=True))
        return {
            name: [value.get(cell, cell) for cell in column] if name.endswith("_label") else column
            for name, column in self.table().items()
        }

    def with_unreadable(self) -> dict[str, Any]:
        """The table with the examples that could not be read, each in its place of the input."""
        lost = self.unreadable
        if not lost:
            return self.table()
        said: dict[str, Any] = {one.name: one.blank for one in COLUMNS} | {
            "id": [as_cell(name) for name in lost],
            "given_label": [as_cell(one.label) for one in lost.values()],
        }
        at, columns = [one.before for one in lost.values()], {}
        for name, values in self.table().items():
            column = np.asarray(values)
            if name == "index" or column.dtype.kind == "U":
                column = column.astype(object)
            columns[name] = np.insert(column, at, said[name])
        return columns

    def named(self, codes: np.ndarray) -> np.ndarray:
        """Codes as the names of classes; None for what is no class."""
        return np.array([*self.classes, None], dtype=object)[np.where(codes < 0, len(self.classes), codes)]

    def write(self, folder: Path) -> None:
        """examples.parquet, exact, and examples.csv, for a spreadsheet."""
        table = self.with_unreadable()
        for ending in ("parquet", "csv"):
            write_table(folder / f"examples.{ending}", table)

    @classmethod
    def read(cls, path: Path, classes: Iterable[str]) -> "Examples":
        """What `write` wrote, by this version or one before."""
        table = read_table(path)
        missing = [one.name for one in COLUMNS[: _NEEDED + 1] if one.name not in table.column_names]
        if missing:
            raise InputError(
                f"{path} has no column {missing[0]!r}: it was changed, or made by another version. Run again."
            )
        known, found = tuple(map(as_cell, classes)), table.filter(table.column("index").is_valid())
        has = set(table.column_names)

        def coded(name: str, among: Sequence[Any] = known, kind: Any = np.int64) -> np.ndarray:
            code = {one: k for k, one in enumerate(among)}
            return np.array([code.get(cell, NOBODY) for cell in found.column(name).to_pylist()], kind)

        fields = {one.of: one.name for one in COLUMNS if isinstance(one.of, str) and one.name in has}
        values: dict[str, Any] = {name: column_values(found.column(column)) for name, column in fields.items()}
        if "audit_answer" in has:
            none = np.array(found.column("audit_answer").to_pylist(), dtype=object) == "none"
            values["answer"] = np.where(none, NONE, coded("audited_label"))
        if "true_label" in has:
            values["true"] = coded("true_label")
        return cls(
            classes=known, ids=found.column("id").to_pylist(), label=coded("given_label"),
            predicted=coded("predicted_label"),
            suggested=coded("suggested_label") if "suggested_label" in has else np.full(len(found), NOBODY),
            split=coded("split", SPLITS, np.int8), reason=coded("reason", REASONS, np.int8),
            unreadable=_unreadable(table), **values,
        )  # fmt: skip


def _as_selected(parts: Sequence[Part], n: int) -> dict[str, Any]:
    """The columns of n examples that their parts were given by a selection; nothing is said of those in no part."""
    columns: dict[str, Any] = {
        "split": np.full(n, SPLITS.index(""), np.int8), "reason": np.full(n, NEVER_SEEN, np.int8),
        **{name: np.full(n, np.nan) for name in ("label_score", "score", "cutoff")},
        "rank": np.zeros(n, np.int32), "quota": np.zeros(n, np.int32), "weight": np.zeros(n, np.float32),
    }  # fmt: skip
    for part in parts:
        one, k = part.selection, part.selection.class_index
        found = {
            "split": SPLITS.index(part.split), "reason": one.reason_code, "label_score": one.label_score,
            "score": one.score, "cutoff": one.cutoff[k], "rank": one.rank_in_class, "quota": one.quota.num[k],
            "weight": one.weight,
        }  # fmt: skip
        for name, values in found.items():
            columns[name][part.index] = values
    return columns


def _unreadable(table: Any) -> dict[str, Unreadable]:
    """Of what could not be read the table keeps no reason; unreadable.csv does."""
    lost, before = {}, 0
    columns = (table.column(name).to_pylist() for name in ("index", "id", "given_label"))
    for index, name, label in zip(*columns, strict=True):
        if index is None:
            lost[name] = Unreadable("", label, before)
        else:
            before += 1
    return lost


class Column(NamedTuple):
    """A column of the table: the field that it holds and is read back to, or how it is made of several, None where a
    run has none; what it says of an example that was not read."""

    name: str
    of: str | Callable[[Examples], Any]
    blank: Any
    doc: str

    def values(self, examples: Examples) -> Any:
        return getattr(examples, self.of) if isinstance(self.of, str) else self.of(examples)


_SAID = np.array(["right", "wrong", "none", None], dtype=object)


def _answer(e: Examples) -> np.ndarray | None:
    if e.answer is None:
        return None
    return _SAID[np.select([e.answer == NOBODY, e.answer == NONE, e.answer == e.label], [3, 2, 0], 1)]


def _split(e: Examples) -> np.ndarray:
    return np.array(SPLITS, dtype=object)[e.split]


def _suggested(e: Examples) -> np.ndarray | None:
    return e.named(e.suggested) if e.probability is not None or (e.suggested >= 0).any() else None


COLUMNS = (
    Column("is_label_issue", lambda e: e.likely_wrong | e.corrected, False,
           "likely wrong: `rank_in_class` is beyond (1 - noise rate) n of its label; or found wrong by hand"),
    Column("label_score", "label_score", np.nan,
           "in [0, 1], low is suspicious: how probable it is that the label is right, by rank, below 1/2 exactly for "
           "the likely wrong; after an audit by its answers"),
    Column("given_label", lambda e: e.named(e.label), None, "the label as it came"),
    Column("predicted_label", lambda e: e.named(e.predicted), None, "what the classifier says"),
    Column("id", lambda e: np.array([as_cell(name) for name in e.ids], dtype=object), None,
           "your name for the example; its position if you gave none"),
    Column("index", lambda e: np.arange(len(e)), None,
           "its position in the input, from 0, unreadable examples not counted"),
    Column("split", _split, "", "`train`, or `held out`: never trained on, and ranked among the held out"),
    Column("score", "score", np.nan,
           "what examples are ranked by, high is suspicious: the mean loss, or minus the mean margin (how far the "
           "label's output is above the others); after an audit 1 - label score"),
    Column("mean_loss", "mean_loss", np.nan, "the mean of its losses over the recorded epochs"),
    Column("rank_in_class", "rank", 0, "1 for the smallest score among the examples with this label; 0 if never seen"),
    Column("quota", "quota", 0, "how many examples of this label are kept"),
    Column("cutoff", "cutoff", np.nan, "the score of the last one kept"),
    Column("weight", "weight", 0.0, "between exp(-kappa) and 1 for a kept example, 0 for the others"),
    Column("selected", lambda e: e.kept, False, "safe to learn from: `rank_in_class` is within the quota"),
    Column("reason", lambda e: np.array(REASONS, dtype=object)[e.reason], REASONS[UNREADABLE],
           "see [reasons](#reasons)"),
    Column("suggested_label", _suggested, None,
           "for a likely wrong label, what the network that did not learn it sees instead. Never applied unless you "
           "ask"),
    Column("predicted_probability", "probability", np.nan, "how sure the classifier is"),
    Column("audit_answer", _answer, None, "with answers by hand: `right`, `wrong` or `none`"),
    Column("audited_label", lambda e: None if e.answer is None else e.named(e.answer), None,
           "with them: the class that the person named"),
    Column("true_label", lambda e: None if e.true is None else e.named(e.true), None,
           "only where a benchmark knows it"),
)  # fmt: skip
_NEEDED = [one.name for one in COLUMNS].index("reason")  # every run has the columns up to this one
