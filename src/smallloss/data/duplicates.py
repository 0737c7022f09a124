"""Examples that are the same, or nearly so, under different labels: one of the labels is likely wrong."""

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from smallloss.data.table_files import as_cell
from smallloss.words import counted

if TYPE_CHECKING:
    from smallloss.data.dataset import Dataset

_CHUNK = 4096
_BITS = 3  # of 64 in which the difference hashes of near duplicates may differ
_NEIGHBOURS = 32
_CORRELATION = 0.98  # of their gray values; two blank pages with one stroke each share most of a hash


def duplicate_groups(inputs: np.ndarray) -> np.ndarray:
    """The number of the group of each example [n]; duplicates share one, all others are alone in theirs.

    Given to `split` and `hold_out`, it keeps duplicates on one side.
    """
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
    carry = "carries" if len(found) == 1 else "carry"
    said = f"{groups} {carry} different labels, for example {named}."
    wrong = "Of labels on equal examples at least one is wrong, unless nothing in them tells the classes apart."
    so = wrong if equal else "Look at them: they may show the same thing."
    return [" ".join([said, so, *([f"{file} lists them all."] if file else [])])]


def conflict_table(dataset: "Dataset") -> dict[str, list[str] | list[int]]:
    """Every member of each group of duplicates with different labels; groups are numbered from 1."""
    found = conflicting_duplicates(dataset)
    members = [(number, int(i)) for number, index in enumerate(found, start=1) for i in index]
    return {
        "id": [as_cell(dataset.ids[i]) for _, i in members],
        "label": [as_cell(dataset.classes[dataset.labels[i]]) for _, i in members],
        "group": [number for number, _ in members],
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
            close = _popcount(hashes[left] ^ hashes[right]) <= _BITS
            found.append(np.sort(np.stack([left[close], right[close]], axis=1), axis=1))
    pairs = np.unique(np.concatenate(found), axis=0)
    alike = [_alike(inputs, pairs[start : start + _CHUNK]) for start in range(0, len(pairs), _CHUNK)]
    return pairs[np.concatenate([np.empty(0, bool), *alike])]


def difference_hash(inputs: np.ndarray) -> np.ndarray:
    """64 bits per picture: is each of 8 x 8 places darker than the one to its right?"""
    down, across = _averaging(inputs.shape[1], 8), _averaging(inputs.shape[2], 9)
    hashes = []
    for start in range(0, len(inputs), _CHUNK):
        small = np.einsum("ih,nhw,jw->nij", down, _gray(inputs[start : start + _CHUNK]), across, optimize=True)
        darker = np.diff(small, axis=2) > 0.5  # rounding alone must not set a bit of an even surface
        hashes.append(np.packbits(darker.reshape(len(small), 64), axis=1).view(np.uint64)[:, 0])
    return np.concatenate(hashes)


def _averaging(length: int, parts: int) -> np.ndarray:
    """[parts, length]: the share of each pixel in each of equal parts of a side."""
    edges = np.linspace(0, length, parts + 1)
    pixel = np.arange(length)
    overlap = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
    return (np.clip(overlap, 0, None) * parts / length).astype(np.float32)


def _gray(pictures: np.ndarray) -> np.ndarray:
    return pictures.mean(axis=3, dtype=np.float32)


def _alike(inputs: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Does the correlation of the gray values of each pair reach 0.98? An even surface is like nothing."""
    left, right = (_gray(inputs[column]).reshape(len(pairs), -1) for column in pairs.T)
    left, right = left - left.mean(1, keepdims=True), right - right.mean(1, keepdims=True)
    spread = np.sqrt((left**2).sum(1) * (right**2).sum(1))
    return (left * right).sum(1) >= _CORRELATION * np.where(spread > 0, spread, np.inf)


def _popcount(bits: np.ndarray) -> np.ndarray:
    """The number of ones of each uint64."""
    return np.unpackbits(bits.view(np.uint8).reshape(len(bits), 8), axis=1).sum(axis=1)
