"""Protocols: which examples train, which validate and with which labels, which test.

Every draw is a pure function of (seed, purpose, index): example i gets the i-th number of a stream, and the
smallest numbers of each class are drawn.
"""

from dataclasses import dataclass

import numpy as np

from smallloss.data.dataset import Dataset
from smallloss.errors import InputError
from smallloss.words import listed

PROTOCOLS = ("paper", "full", "honest")
_VALIDATION, _HELD_OUT = 1, 2
_VALIDATES, _HOLDS_OUT = 0.1, 0.2  # of each class: CIFAR's 5,000 of 50,000, a fifth


@dataclass(frozen=True, eq=False)
class Split:
    """Indices into the dataset, rising, and the labels to validate with: the true ones or those observed."""

    train: np.ndarray
    validation: np.ndarray
    labels: np.ndarray


def split(dataset: Dataset, protocol: str, seed: int, *, groups: np.ndarray | None = None) -> Split:
    """Divide a dataset as a protocol says.

    paper: a tenth of each true class validates with its true labels (CIFAR: 45,000 and 5,000), or the part that the
    dataset names itself, as the authors drew it.
    full: all examples train, none validates.
    honest: a tenth of each observed class validates with the labels as they are.
    Examples of the same one of the `groups` (duplicates, pictures of one person) stay on one side.
    """
    labels = dataset.labels
    if protocol == "paper":
        if dataset.true_labels is None:
            raise InputError(
                f"The protocol paper validates with true labels, and those of {dataset.name} are not known; "
                "use honest or full."
            )
        labels, own = dataset.true_labels, dataset.validation
        validation = _draw(labels, _VALIDATES, seed, _VALIDATION, groups) if own is None else own
    elif protocol == "honest":
        validation = _draw(labels, _VALIDATES, seed, _VALIDATION, groups)
    elif protocol == "full":
        validation = np.empty(0, dtype=np.int64)
    else:
        raise InputError(f"There is no protocol {protocol!r}; the known ones are {', '.join(PROTOCOLS)}.")
    train = np.setdiff1d(np.arange(len(dataset)), validation, assume_unique=True)
    _require_every_class(dataset, train)
    return Split(train, validation, labels[validation])


def hold_out(dataset: Dataset, seed: int, *, groups: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(kept, held out): a test part for data without an official one, a fifth of each observed class."""
    held_out = _draw(dataset.labels, _HOLDS_OUT, seed, _HELD_OUT, groups)
    kept = np.setdiff1d(np.arange(len(dataset)), held_out, assume_unique=True)
    _require_every_class(dataset, kept)
    return kept, held_out


def _draw(strata: np.ndarray, share: float, seed: int, purpose: int, groups: np.ndarray | None) -> np.ndarray:
    """`share` of each stratum, rounded, and never the last example of one; a group of which a part is drawn stays."""
    stream = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, purpose])))
    u = stream.random(len(strata))
    if groups is not None:
        _, first, groups = np.unique(groups, return_index=True, return_inverse=True)
        u = u[first][groups]  # one number for the whole group, so that its members are mostly drawn together
    drawn = []
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        count = min(int(np.floor(share * len(members) + 0.5)), len(members) - 1)
        drawn.append(members[np.argsort(u[members], kind="stable")[:count]])
    chosen = np.sort(np.concatenate(drawn))
    if groups is None:
        return chosen
    split_up = np.intersect1d(groups[chosen], np.delete(groups, chosen))
    return chosen[~np.isin(groups[chosen], split_up)]


def _require_every_class(dataset: Dataset, train: np.ndarray) -> None:
    counts = np.bincount(dataset.labels[train], minlength=len(dataset.classes))
    missing = [dataset.classes[code] for code in np.flatnonzero(counts == 0)]
    if missing:
        raise InputError(
            f"No training example of {dataset.name} carries the label {listed(missing)}; give each class one, or "
            "remove the class."
        )
