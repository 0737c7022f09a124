"""`Dataset`: what every source becomes, and all that the rest of the package knows about data."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Optional, Union

import numpy as np

from smallloss.criterion.theory import NAMES_SHOWN
from smallloss.data.protocol import duplicate_groups
from smallloss.errors import InputError
from smallloss.words import listed, one_line

HIDDEN = 256  # units of the network that features get
_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True)
class Unreadable:
    """An example of the input that could not be read, and so is no row of the dataset."""

    reason: str
    label: str
    before: int  # how many rows of the dataset come before it in the input


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples in input order, their observed labels, and what is known about them.

    `inputs` are uint8 pictures [n, height, width, channels] or float32 features [n, d], in memory or mapped.
    `labels` are the observed, possibly wrong ones, as codes 0..c-1 into `classes`. `true_labels` exist only
    where a benchmark knows them. `normalisation` is a (mean, std) per channel in units of 0..1 for pictures,
    or per feature, or the dataset whose own is used; it is computed from the inputs where there is none.

    `kind` is pictures, features, text or table: what the examples were before they became inputs. `shown` is what
    to show of each where the input says nothing to a reader: the text, the row. `notes` are sentences on what was
    chosen on the way here, `described` those among them on how texts or rows became features; `unreadable` has, by its
    id, each example that could not be.

    `original` are the inputs as they came, where the network sees features of them: those are what a report shows
    and what the fingerprint is of. `sources` are the files of the pictures, where they came from files. `white` is the
    number for white, 1 or 255, where they came as floats. `values` are the classes as the labels came, where those were
    no texts. `fills` are, of features that had gaps, the columns with the median that stands in each: the last of all
    features mark where. `validation` are the rows that a benchmark's own split validates with, for `paper`. `also` are
    further sets that accuracy is taken on, by name.
    """

    inputs: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    name: str = "arrays"
    ids: Sequence[str] = ()
    true_labels: np.ndarray | None = None
    test: Optional["Dataset"] = None
    normalisation: Union[tuple[Sequence[float], Sequence[float]], "Dataset", None] = None
    flip: bool = False
    class_map: tuple[int, ...] | None = None
    kind: str = ""
    shown: Sequence[str] | None = None
    notes: tuple[str, ...] = ()
    described: tuple[str, ...] = ()
    unreadable: Mapping[str, Unreadable] = field(default_factory=dict)
    original: np.ndarray | None = None
    sources: Sequence[str | bytes] | None = None
    white: float | None = None
    values: tuple[Any, ...] | None = None
    fills: tuple[tuple[int, float], ...] = ()
    validation: np.ndarray | None = None
    also: Mapping[str, "Dataset"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.inputs.dtype, self.inputs.ndim) not in ((np.uint8, 4), (np.float32, 2)):
            raise InputError(
                f"Inputs are uint8 pictures [n, height, width, channels] or float32 features [n, d], "
                f"not {self.inputs.dtype} of shape {self.inputs.shape}."
            )
        if not len(self):
            raise InputError(f"{self.name} holds no examples.")
        self._check_codes("labels", self.labels)
        if self.true_labels is not None:
            self._check_codes("true labels", self.true_labels)
        if not len(self.ids):
            object.__setattr__(self, "ids", [str(index) for index in range(len(self))])
        for what, each in (("ids", self.ids), ("texts to show", self.shown)):
            if each is not None and len(each) != len(self):
                raise InputError(f"{self.name} has {len(self):,} inputs but {len(each):,} {what}; give one each.")
        if not self.kind:
            object.__setattr__(self, "kind", "pictures" if self.is_image else "features")
        # A network knows its inputs by the numbers of the training part, however odd a small test part is.
        object.__setattr__(self, "also", {name: self._normalised(part) for name, part in self.also.items()})
        if self.test is not None:
            object.__setattr__(self, "test", self._normalised(self.test))

    def _normalised(self, part: "Dataset") -> "Dataset":
        return part if isinstance(part.normalisation, tuple) else replace(part, normalisation=self)

    def _check_codes(self, what: str, codes: np.ndarray) -> None:
        if codes.shape != (len(self),) or codes.dtype != np.int64:
            raise InputError(
                f"{self.name} has {len(self):,} inputs but {what} of shape {codes.shape} and type {codes.dtype}; give "
                "an int64 code each."
            )
        bad = np.flatnonzero((codes < 0) | (codes >= len(self.classes)))
        if len(bad):
            raise InputError(
                f"The {what} of {self.name} hold the code {codes[bad[0]]} at index {bad[0]}; "
                f"with {len(self.classes)} classes they run from 0 to {len(self.classes) - 1}."
            )

    def __repr__(self) -> str:
        names = listed(self.classes, NAMES_SHOWN, one_line)
        seen = " x ".join(map(str, self.inputs.shape[1:])) + (" pixels" if self.is_image else " features")
        test = "" if self.test is None else f", {len(self.test):,} more to test on"
        lost = f", {len(self.unreadable):,} that cannot be read" if self.unreadable else ""
        return (
            f"<Dataset {one_line(self.name)} ({self.kind}): {len(self):,} examples of {seen} in {len(self.classes):,} "
            f"classes ({names}){test}{lost}>"
        )

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def is_image(self) -> bool:
        return self.inputs.ndim == 4

    @property
    def in_shape(self) -> tuple[int, ...]:
        """One input as a network sees it: (channels, height, width), or (features,)."""
        return shape_of_one(self.inputs)

    @property
    def as_they_came(self) -> np.ndarray:
        """The inputs before any backbone."""
        return self.inputs if self.original is None else self.original

    @property
    def pictures(self) -> np.ndarray | None:
        """The pictures to show, where the examples are pictures, whatever the network sees of them."""
        return self.as_they_came if self.as_they_came.ndim == 4 else None

    @property
    def mean(self) -> np.ndarray:
        return self._mean_and_std[0]

    @property
    def std(self) -> np.ndarray:
        return self._mean_and_std[1]

    @cached_property
    def _mean_and_std(self) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.normalisation, Dataset):
            return self.normalisation._mean_and_std
        if self.normalisation is not None:
            mean, std = (np.asarray(values, dtype=np.float64) for values in self.normalisation)
            return mean, std
        channels = self.inputs.shape[-1]
        scale = 255.0 if self.is_image else 1.0
        count = self.inputs.size // channels
        mean = sum(c.reshape(-1, channels).sum(0, dtype=np.float64) for c in _chunks(self.inputs)) / (count * scale)
        # Around the mean, not from the sum of squares: features far from zero would lose their spread.
        squares = sum(((c.reshape(-1, channels) / scale - mean) ** 2).sum(0) for c in _chunks(self.inputs))
        std = np.sqrt(squares / count)
        std = np.where(std > 0, std, 1.0)  # a constant feature is centred and left alone
        # Where features are more than the net for them has hidden units, each is seen smaller: the length of a row must
        # not grow with their number, or the loss would turn NaN at any usual step.
        return mean, std if self.is_image else std * max(1.0, (channels / HIDDEN) ** 0.5)

    @cached_property
    def groups(self) -> np.ndarray:
        """The number of the group of each example [n]; duplicates, equal or nearly so, share one: see `duplicates`."""
        return duplicate_groups(self.as_they_came)

    def fingerprint(self) -> str:
        """SHA-256 over shapes, types, inputs, labels and classes: the data a run was made from."""
        digest = hashlib.sha256()
        for array in (self.as_they_came, self.labels):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
        for chunk in _chunks(self.as_they_came):
            digest.update(np.ascontiguousarray(chunk).data)
        digest.update(np.ascontiguousarray(self.labels).data)
        digest.update("\0".join(self.classes).encode())
        return digest.hexdigest()

    def with_labels(self, labels: np.ndarray) -> "Dataset":
        """The same examples under other observed labels (noise drawn, human relabelling); truth is kept."""
        return self._alike(replace(self, labels=np.asarray(labels, dtype=np.int64)))

    def seen_as(self, features: np.ndarray, note: str) -> "Dataset":
        """The same examples, of which the network sees features: rows of the training part, then of the test part.

        Without rows for the test part there is none.
        """
        still = [said for said in self.notes if said not in self.described]
        seen = self._alike(replace(self._featured(features[: len(self)]), test=None, also={}, notes=(*still, note)))
        if self.test is None or len(features) == len(self):
            return seen
        return replace(seen, test=self.test._featured(features[len(self) :]))

    def _featured(self, features: np.ndarray) -> "Dataset":
        seen = replace(self, inputs=features, original=self.as_they_came, normalisation=None, flip=False, fills=())
        return self._alike(seen)

    def _alike(self, other: "Dataset") -> "Dataset":
        """The same inputs came: what equals what is not found out again."""
        if "groups" in vars(self):
            vars(other)["groups"] = self.groups
        return other

    def take(self, index: np.ndarray) -> "Dataset":
        """The examples at `index`, in that order, normalised like the whole."""
        each = ((name, getattr(self, name)) for name in _OF_EACH)
        rows: dict[str, Any] = {
            name: values[index] if isinstance(values, np.ndarray) else [values[i] for i in index]
            for name, values in each
            if values is not None
        }
        part = None if self.validation is None else np.flatnonzero(np.isin(index, self.validation))
        whole = self.mean.tolist(), self.std.tolist()
        return replace(self, **rows, normalisation=whole, unreadable={}, validation=part)


_OF_EACH = ("inputs", "labels", "ids", "true_labels", "shown", "original", "sources")  # a value for every example


def shape_of_one(inputs: np.ndarray) -> tuple[int, ...]:
    """(channels, height, width) of a picture, or (features,)."""
    _, *shape = inputs.shape
    return (shape[2], shape[0], shape[1]) if inputs.ndim == 4 else tuple(shape)


def require_unique(ids: Sequence[str], where: str) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(ids, start=1):
        if first.setdefault(name, row) != row:
            raise InputError(
                f"The id {name!r} is in row {first[name]:,} and in row {row:,} of {where}; make ids unique."
            )


def require_classes(labels: np.ndarray, where: str) -> None:
    """Labels that can be learnt: two classes or more, and not a class of its own for each example."""
    unique = np.unique(labels)
    if len(unique) == 1:
        raise InputError(
            f"All {len(labels):,} examples of {where} carry the label {str(unique[0])!r}; "
            "a classifier needs at least two classes."
        )
    if len(unique) == len(labels):
        raise InputError(
            f"No label of {where} occurs twice: {len(unique):,} classes for as many examples; "
            "is this the column (or folder) of the labels?"
        )


def _chunks(array: np.ndarray) -> Iterator[np.ndarray]:
    rows = max(1, _CHUNK_BYTES // max(1, array[0].nbytes))
    for start in range(0, len(array), rows):
        yield array[start : start + rows]
