"""Pictures with their ids and labels become a `Dataset`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smallloss.criterion.labels import encode_labels
from smallloss.data.columns import require_classes
from smallloss.data.dataset import Dataset, Unreadable, codes_of_test
from smallloss.data.decode import Source
from smallloss.data.pictures import Pictures, choose_target, read_pictures, require_some
from smallloss.words import listed


@dataclass(frozen=True)
class Listing:
    """Pictures before they are read: where each is, its id, its label and, where known, its true label."""

    sources: Sequence[Source]
    ids: Sequence[str]
    labels: Sequence[str]
    true_labels: Sequence[str] | None = None


def picture_dataset(name: str, train: Listing, test: Listing | None = None, notes: Sequence[str] = ()) -> Dataset:
    """Read the pictures; the test part gets the size and the channels of the training part."""
    require_classes(np.array(train.labels), name)
    target, said = choose_target(train.sources)
    pictures, target = read_pictures(train.sources, target)
    require_some(pictures, train.ids, name)
    labels = [train.labels[i] for i in pictures.readable]
    require_classes(np.array(labels), name)
    true_labels = None if train.true_labels is None else [train.true_labels[i] for i in pictures.readable]
    codes, classes = encode_labels(np.array([*labels, *(true_labels or ())]))
    unreadable = _unreadable(train, pictures)
    said_of_test: tuple[str, ...] = ()
    test_set = None
    if test is not None:
        seen, _ = read_pictures(test.sources, target, keep_gray=True)
        require_some(seen, test.ids, f"{name} test")
        test_set = _test_dataset(f"{name} test", test, seen, classes)
        said_of_test = test_set.notes
    return Dataset(
        pictures.inputs,
        codes[: len(labels)],
        classes,
        name=name,
        ids=[train.ids[i] for i in pictures.readable],
        true_labels=None if true_labels is None else codes[len(labels) :],
        test=test_set,
        flip=not target.gray,  # gray pictures are mostly characters, which have a reading direction
        notes=(said, *notes, *_say_unreadable(unreadable, len(train.ids), name, classes), *said_of_test),
        unreadable=unreadable,
        sources=[train.sources[i] for i in pictures.readable],
    )


def _test_dataset(name: str, test: Listing, pictures: Pictures, classes: tuple[str, ...]) -> Dataset:
    labels = [test.labels[i] for i in pictures.readable]
    codes = codes_of_test(labels, classes, name, "picture")
    unreadable = _unreadable(test, pictures)
    return Dataset(
        pictures.inputs,
        codes,
        classes,
        name=name,
        ids=[test.ids[i] for i in pictures.readable],
        true_labels=codes,
        notes=_say_unreadable(unreadable, len(test.ids), name, classes),
        unreadable=unreadable,
        sources=[test.sources[i] for i in pictures.readable],
    )


def _unreadable(listing: Listing, pictures: Pictures) -> dict[str, Unreadable]:
    before = np.searchsorted(pictures.readable, list(pictures.unreadable))
    return {
        listing.ids[i]: Unreadable(reason, listing.labels[i], int(row))
        for (i, reason), row in zip(pictures.unreadable.items(), before, strict=True)
    }


def _say_unreadable(unreadable: dict[str, Unreadable], n: int, name: str, classes: tuple[str, ...]) -> tuple[str, ...]:
    if not unreadable:
        return ()
    first, one = next(iter(unreadable.items()))
    lost = sorted({one.label for one in unreadable.values()} - set(classes))
    return (
        f"{len(unreadable):,} of the {n:,} pictures of {name} cannot be read and are not judged; "
        f"the first is {first!r} ({one.reason}).",
        *([f"No picture of the class {listed(lost, 5)} can be read."] if lost else []),
    )
