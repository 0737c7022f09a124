"""Protocols: which examples train, which validate and with which labels, which test.

Duplicates, equal or nearly so, are groups that stay on one side; where their labels differ, one is likely wrong.

Every draw is a pure function of (seed, purpose, index): example i gets the i-th number of a stream, and the
smallest numbers of each class are drawn.
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from smallloss.data.table_files import as_cell
from smallloss.errors import InputError
from smallloss.words import counted, listed

if TYPE_CHECKING:
    from smallloss.data.dataset import Dataset

PROTOCOLS = ("paper", "full", "honest")
_VALIDATION, _HELD_OUT = 1, 2
_VALIDATES, _HOLDS_OUT = 0.1, 0.2  # of each class: CIFAR's 5,000 of 50,000, a fifth
_CHUNK_BYTES = 4096 * 32 * 32 * 3
_BITS = 3  # of 64 in which the difference hashes of near duplicates may differ
_NEIGHBOURS = 32
_CORRELATION = 0.98  # of their gray values; two blank pages with one stroke each share most of a hash


@dataclass(frozen=True, eq=False)
class Split:
    """Indices into the dataset, rising, and the labels to validate with: the true ones or those observed."""

    train: np.ndarray
    validation: np.ndarray
    labels: np.ndarray


def split(dataset: "Dataset", protocol: str, seed: int, *, groups: np.ndarray | None = None) -> Split:
    """Divide a dataset as a protocol says.

    paper: a tenth of each true class validates with its true labels (CIFAR: 45,000 and 5,000), or the part that the
    dataset names itself, as the authors drew it.
    full: all examples train, none validates.
    honest: a tenth of each observed class validates with the labels as they are.
    Examples of the same one of the `groups` (duplicates, pictures of one person) stay on one side.
    """
    if protocol not in PROTOCOLS:
        raise InputError(f"There is no protocol {protocol!r}; the known ones are {', '.join(PROTOCOLS)}.")
    labels = dataset.true_labels if protocol == "paper" else dataset.labels
    if labels is None:
        raise InputError(
            f"The protocol paper validates with true labels, and those of {dataset.name} are not known; "
            "use honest or full."
        )
    if protocol == "full":
        validation = np.empty(0, dtype=np.int64)
    elif protocol == "paper" and dataset.validation is not None:
        validation = dataset.validation
    else:
        validation = _draw(labels, _VALIDATES, seed, _VALIDATION, groups)
    return Split(_rest(dataset, validation), validation, labels[validation])


def hold_out(dataset: "Dataset", seed: int, *, groups: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(kept, held out): a test part for data without an official one, a fifth of each observed class."""
    held_out = _draw(dataset.labels, _HOLDS_OUT, seed, _HELD_OUT, groups)
    return _rest(dataset, held_out), held_out


def _draw(strata: np.ndarray, share: float, seed: int, purpose: int, groups: np.ndarray | None) -> np.ndarray:
    """`share` of each stratum, rounded, and never the last example of one; a group of which a part is drawn stays."""
    stream = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, purpose])))
    apart = np.arange(len(strata)) if groups is None else groups
    _, first, group = np.unique(apart, return_index=True, return_inverse=True)
    u = stream.random(len(strata))[first][group]  # one number for a whole group, to draw most of its members together
    drawn = []
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        count = min(int(np.floor(share * len(members) + 0.5)), len(members) - 1)
        drawn.append(members[np.argsort(u[members], kind="stable")[:count]])
    chosen = np.sort(np.concatenate(drawn))
    return chosen[~np.isin(group[chosen], np.delete(group, chosen))]


def _rest(dataset: "Dataset", taken: np.ndarray) -> np.ndarray:
    """What is left to learn from: of each class something."""
    train = np.setdiff1d(np.arange(len(dataset)), taken, assume_unique=True)
    counts = np.bincount(dataset.labels[train], minlength=len(dataset.classes))
    missing = [dataset.classes[code] for code in np.flatnonzero(counts == 0)]
    if missing:
        raise InputError(
            f"No training example of {dataset.name} carries the label {listed(missing)}; give each class one, or "
            "remove the class."
        )
    return train


# Duplicates


def duplicate_groups(inputs: np.ndarray) -> np.ndarray:
    """The number of the group of each example [n]; duplicates share one, all others are alone in theirs."""
    pairs = _exact_pairs(inputs)
    if inputs.ndim == 4:
        pairs = np.concatenate([pairs, _near_pairs(inputs)])
    links = coo_array((np.ones(len(pairs), bool), tuple(pairs.T)), shape=(len(inputs), len(inputs)))
    _, groups = connected_components(links, directed=False)
    return groups.astype(np.int64)


def conflicting_duplicates(dataset: "Dataset") -> list[np.ndarray]:
    """The groups of duplicates that carry more than one label, each as rising indices."""
    order = np.argsort(dataset.groups, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(dataset.groups[order])) + 1)
    return [index for index in members if len(np.unique(dataset.labels[index])) > 1]


def conflict_note(dataset: "Dataset", file: str = "") -> list[str]:
    """What is to be said of duplicates with different labels, with an example; nothing where there are none.

    `file` is the one that lists them all, if there is one.
    """
    found = conflicting_duplicates(dataset)
    if not found:
        return []
    inputs, first = dataset.as_they_came, found[0]
    equal = sum(bool((inputs[index] == inputs[index[0]]).all()) for index in found)
    kinds = [(equal, "equal"), (len(found) - equal, "nearly equal")]
    groups = " and ".join(f"{counted(count, 'group')} of {kind} examples" for count, kind in kinds if count)
    other = next(i for i in first if dataset.labels[i] != dataset.labels[first[0]])
    named = " and ".join(f"{dataset.ids[i]} (labelled {dataset.classes[dataset.labels[i]]})" for i in (first[0], other))
    wrong = "Of labels on equal examples at least one is wrong, unless nothing in them tells the classes apart."
    so = wrong if equal else "Look at them: they may show the same thing."
    said = f"{groups} {'carries' if len(found) == 1 else 'carry'} different labels, for example {named}. {so}"
    return [f"{said} {file} lists them all." if file else said]


def conflict_table(dataset: "Dataset") -> dict[str, list[str] | list[int]]:
    """Every member of each group of duplicates with different labels; groups are numbered from 1."""
    found = conflicting_duplicates(dataset)
    rows = np.concatenate([np.empty(0, np.int64), *found])
    return {
        "id": [as_cell(dataset.ids[i]) for i in rows],
        "label": [as_cell(dataset.classes[code]) for code in dataset.labels[rows]],
        "group": [number for number, index in enumerate(found, start=1) for _ in index],
    }


def _exact_pairs(inputs: np.ndarray) -> np.ndarray:
    """Each example, with the first of those that equal it; equal means equal bytes."""
    digests = [hashlib.blake2b(np.ascontiguousarray(one).data, digest_size=16).digest() for one in inputs]
    _, first, member = np.unique(np.array(digests, "S16"), return_index=True, return_inverse=True)
    return np.stack([first[member], np.arange(len(inputs))], axis=1)


def _near_pairs(inputs: np.ndarray) -> np.ndarray:
    """Pairs whose difference hashes differ in at most 3 bits and whose gray values agree.

    Of 4 parts of 16 bits at least one is then equal, so that sorting by each part in turn brings a pair close
    together; only the 32 nearest are compared, and in a crowd of like hashes a pair may be missed.
    """
    hashes = difference_hash(inputs)
    found = [np.empty((0, 2), np.int64)]
    for turn in (0, 16, 32, 48):
        turned = hashes if turn == 0 else (hashes << np.uint64(turn)) | (hashes >> np.uint64(64 - turn))
        order = np.argsort(turned, kind="stable")
        for step in range(1, min(_NEIGHBOURS, len(order) - 1) + 1):
            left, right = order[:-step], order[step:]
            differ = (hashes[left] ^ hashes[right]).view(np.uint8).reshape(len(left), 8)
            close = np.unpackbits(differ, axis=1).sum(axis=1) <= _BITS
            found.append(np.sort(np.stack([left[close], right[close]], axis=1), axis=1))
    pairs = np.unique(np.concatenate(found), axis=0)
    rows = _at_a_time(inputs)
    alike = [_alike(inputs, pairs[start : start + rows]) for start in range(0, len(pairs), rows)]
    return pairs[np.concatenate([np.empty(0, bool), *alike])]


def difference_hash(inputs: np.ndarray) -> np.ndarray:
    """64 bits per picture: is each of 8 x 8 places darker than the one to its right?"""
    down, across = _averaging(inputs.shape[1], 8), _averaging(inputs.shape[2], 9)
    hashes, rows = [], _at_a_time(inputs)
    for start in range(0, len(inputs), rows):
        gray = inputs[start : start + rows].mean(axis=3, dtype=np.float32)
        small = np.einsum("ih,nhw,jw->nij", down, gray, across, optimize=True)
        darker = np.diff(small, axis=2) > 0.5  # rounding alone must not set a bit of an even surface
        bits = np.ascontiguousarray(np.packbits(darker.reshape(len(small), 64), axis=1))
        hashes.append(bits.view(np.uint64)[:, 0])
    return np.concatenate(hashes)


def _at_a_time(inputs: np.ndarray) -> int:
    return max(1, _CHUNK_BYTES // inputs[0].nbytes)


def _averaging(length: int, parts: int) -> np.ndarray:
    """[parts, length]: the share of each pixel in each of equal parts of a side."""
    edges = np.linspace(0, length, parts + 1)
    pixel = np.arange(length)
    overlap = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
    return (np.clip(overlap, 0, None) * parts / length).astype(np.float32)


def _alike(inputs: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Does the correlation of the gray values of each pair reach 0.98? An even surface is like nothing."""
    gray = (inputs[column].mean(axis=3, dtype=np.float32).reshape(len(pairs), -1) for column in pairs.T)
    left, right = (values - values.mean(1, keepdims=True) for values in gray)
    spread = np.sqrt((left**2).sum(1) * (right**2).sum(1))
    return (left * right).sum(1) >= _CORRELATION * np.where(spread > 0, spread, np.inf)
