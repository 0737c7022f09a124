"""Pictures with their ids and labels become a `Dataset`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from smallloss.criterion.labels import encode_labels
from smallloss.data.dataset import Dataset, Unreadable, codes_of_test, require_classes
from smallloss.data.decode import Source
from smallloss.data.pictures import Pictures, choose_target, read_pictures
from smallloss.errors import InputError
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
    _require_some(pictures, train.ids, name)
    labels = [train.labels[i] for i in pictures.readable]
    require_classes(np.array(labels), name)
    true_labels = [] if train.true_labels is None else [train.true_labels[i] for i in pictures.readable]
    codes, classes = encode_labels(np.array([*labels, *true_labels]))
    part = _part(name, train, pictures, codes[: len(labels)], classes)
    tested = None
    if test is not None:
        seen, _ = read_pictures(test.sources, target, keep_gray=True)
        _require_some(seen, test.ids, f"{name} test")
        given = codes_of_test([test.labels[i] for i in seen.readable], classes, f"{name} test")
        tested = replace(_part(f"{name} test", test, seen, given, classes), true_labels=given)
    return replace(
        part,
        true_labels=codes[len(labels) :] if true_labels else None,
        test=tested,
        flip=not target.gray,  # gray pictures are mostly characters, which have a reading direction
        notes=(said, *notes, *part.notes, *(() if tested is None else tested.notes)),
    )


def _part(name: str, listing: Listing, pictures: Pictures, codes: np.ndarray, classes: tuple[str, ...]) -> Dataset:
    before = np.searchsorted(pictures.readable, list(pictures.unreadable)).tolist()
    unreadable = {
        listing.ids[i]: Unreadable(reason, listing.labels[i], row)
        for (i, reason), row in zip(pictures.unreadable.items(), before, strict=True)
    }
    notes = []
    if unreadable:
        first, one = next(iter(unreadable.items()))
        notes.append(
            f"{len(unreadable):,} of the {len(listing.ids):,} pictures of {name} cannot be read and are not judged; "
            f"the first is {first!r} ({one.reason})."
        )
    if lost := sorted({one.label for one in unreadable.values()} - set(classes)):
        notes.append(f"No picture of the class {listed(lost, 5)} can be read.")
    return Dataset(
        pictures.inputs,
        codes,
        classes,
        name=name,
        ids=[listing.ids[i] for i in pictures.readable],
        notes=tuple(notes),
        unreadable=unreadable,
        sources=[listing.sources[i] for i in pictures.readable],
    )


def _require_some(pictures: Pictures, ids: Sequence[str], where: str) -> None:
    if not len(pictures.readable):
        position, reason = next(iter(pictures.unreadable.items()))
        raise InputError(
            f"None of the {len(ids):,} pictures of {where} can be read; the first, {ids[position]!r}: {reason}."
        )
