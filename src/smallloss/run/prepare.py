"""From what the user names to what can be learnt from: the dataset, its parts, and what accuracy is taken on."""

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smallloss.criterion.labels import alike_note
from smallloss.data import source
from smallloss.data.arrays import from_arrays
from smallloss.data.dataset import Dataset
from smallloss.data.duplicates import conflict_note
from smallloss.data.features import with_features
from smallloss.data.protocol import hold_out, split
from smallloss.data.told import read_corrections
from smallloss.engine.embedding import Fill, embedded, no_fill
from smallloss.engine.task import Check
from smallloss.errors import InputError
from smallloss.files import place
from smallloss.methods.settings import settings_for
from smallloss.models.backbone import name_of
from smallloss.models.registry import require_known
from smallloss.noise import answers as by_hand
from smallloss.noise.model import NoiseModel
from smallloss.run.files import DUPLICATES
from smallloss.run.known_noise import DIGITS_DEFAULT, drawn_noise, of_rows, without_official
from smallloss.words import counted


def refuse_early(
    data: Any,
    out: str | Path | None,
    preset: str | None,
    device: str,
    net: Any,
    epochs: int | None,
    changes: Mapping[str, Any],
    files: Mapping[str, Any],
) -> None:
    """What can be refused before any data is read: it may take minutes to read it all."""
    if out is not None and not isinstance(out, str | Path):
        raise InputError(f"out is a {type(out).__name__}; it names a folder. Give data and labels as a pair: (X, y).")
    _refuse_inside(data, out)
    asked = settings_for(preset, device, None, net=net, epochs=epochs, changes=changes)
    for name in (asked.net, asked.last_net):
        require_known(name)
    for option, file in files.items():
        if isinstance(file, str | Path) and not Path(file).is_file():
            raise InputError(f"{option} {file}: there is no such file.")
    if out is None:
        return
    there = next(path for path in (Path(out), *Path(out).absolute().parents) if path.exists())
    if not there.is_dir():
        raise InputError(f"--out {out} cannot be a folder: {there} is a file; name another place")
    try:
        tempfile.TemporaryDirectory(prefix=".smallloss-", dir=there).cleanup()
    except OSError as error:
        raise InputError(
            f"--out {out}: nothing can be written in {there} ({error.strerror}); name another place"
        ) from None


def _refuse_inside(data: Any, out: str | Path | None) -> None:
    """A run among the pictures would be read as one of their classes the next time."""
    if out is None or not isinstance(data, str | Path) or not data or not Path(data).expanduser().is_dir():
        return
    if place(out).is_relative_to(place(data)):
        raise InputError(f"--out {out} lies inside the data, {data}; name a place outside of it.")


def dataset_of(data: Any, label: str | None, labels: str | Path | None) -> Dataset:
    if isinstance(data, str | Path):
        return source.load(data, label=label, labels=labels)
    if label is not None or labels is not None:
        raise InputError("label and labels go with data in a file; here the labels are given with the data.")
    if isinstance(data, Dataset):
        return data
    if isinstance(data, tuple | list) and len(data) == 2:
        return from_arrays(data[0], data[1])
    raise InputError(f"data is a {type(data).__name__}; give a path or name, a Dataset, or (X, y).")


def as_seen(
    dataset: Dataset, features: Any, backbone: Any, device: torch.device, out: Path | None
) -> tuple[Dataset, Fill, dict[str, str]]:
    """The dataset as the network sees it, what fills in what is not there yet, and what config.json says of it."""
    if features is not None and backbone is not None:
        raise InputError("features and backbone are two ways to say what the network sees; give one of them.")
    if backbone is not None:
        return *embedded(dataset, backbone, device, out), {"backbone": name_of(backbone)}
    if features is None:
        return dataset, no_fill, {}
    seen = with_features(dataset, features)
    digest = hashlib.sha256()
    for part in (seen, seen.test):
        digest.update(b"" if part is None else np.ascontiguousarray(part.inputs).data)
    return seen, no_fill, {"features": digest.hexdigest()}


def place_of(data: Any) -> str | None:
    """Where the data came from, as another command will find it; None for arrays."""
    if not isinstance(data, str | Path):
        return None
    return source.place_of(data)


@dataclass
class Ready:
    """The data of a run, ready to be learnt from, and what is known of it."""

    dataset: Dataset
    noise: NoiseModel
    notes: list[str]
    train: np.ndarray
    checks: dict[str, Check]
    accuracy_on: str
    protocol: str
    pins: dict[int, int]  # rows answered by hand -> true class, or NONE
    alike: list[str]  # a sentence on labels that are nearly equal, or none


def make_ready(
    dataset: Dataset,
    given: NoiseModel,
    noise: str | None,
    corrections: str | Path | None,
    protocol: str | None,
    seed: int,
    *,
    is_demo: bool,
    estimate: bool,
    writes: bool,
) -> Ready:
    """Draw the noise, read the answers, look for duplicates, divide. `given` is what the user says of the noise;
    `writes`: does the run have a folder to list duplicates in?"""
    drawn = DIGITS_DEFAULT if noise is None and is_demo and not given.is_known else noise
    notes: list[str] = []
    if drawn is not None:
        dataset, given, words = drawn_noise(dataset, drawn, given, seed)
        notes.append(words)
    if not dataset.groups.any():  # one group, of equal or nearly equal examples
        raise InputError(f"Nothing in {dataset.name} tells one example from another: there is nothing to learn from.")
    pins = {} if corrections is None else read_corrections(corrections, dataset)
    if pins:
        notes.append(by_hand.in_words(dataset.labels, pins))
    alike = alike_note(dataset.classes)
    notes += [*dataset.notes, *alike, *conflict_note(dataset, DUPLICATES if writes else "")]
    told = dataset if drawn is not None else without_official(dataset)
    # The protocol paper may be asked for: official labels are what it validates with.
    divided = dataset if protocol == "paper" else told
    train, checks, accuracy_on, protocol = divide(divided, protocol, seed, dataset.groups)
    checks, by_answers = _as_answered(checks, divided, pins)
    accuracy_on = f"{accuracy_on.removesuffix(')')}; {by_answers})" if by_answers else accuracy_on
    given = given.without_rates() if estimate else of_rows(given, told, train)
    return Ready(told, given, notes, train, checks, accuracy_on, protocol, pins, alike)


def _as_answered(checks: dict[str, Check], dataset: Dataset, pins: Mapping[int, int]) -> tuple[dict[str, Check], str]:
    """Checks by given labels: by the class that a person named where they did, without what belongs to none.

    And what to say of it, of the last check, which accuracy is reported on.
    """
    found, said = {}, list[str]()
    for name, check in checks.items():
        found[name], said = check, []
        given = check.dataset is dataset and np.array_equal(check.labels, dataset.labels[check.index])
        if given and pins:
            labels = np.array([pins.get(int(row), dataset.labels[row]) for row in check.index], np.int64)
            known = (labels != by_hand.NONE) | (labels == by_hand.NONE).all()  # something must be left to measure on
            labels = np.where(labels == by_hand.NONE, check.labels, labels)
            found[name] = Check(dataset, check.index[known], labels[known])
            named = int((labels != check.labels)[known].sum())
            none = int((~known).sum())
            said = [f"{counted(named, 'label')} corrected by hand"] if named else []
            said += [f"{none:,} in none of the classes left out"] if none else []
    return found, ", ".join(said)


def divide(
    dataset: Dataset, protocol: str | None, seed: int, groups: np.ndarray
) -> tuple[np.ndarray, dict[str, Check], str, str]:
    """The rows to learn from, the checks, and what accuracy is taken on."""
    if dataset.test is None and protocol is None:
        train, held_out = hold_out(dataset, seed, groups=groups)
        if not len(held_out):  # a few rows repeated over and over, as in a table of categories: every group is cut
            train, held_out = hold_out(dataset, seed)
        if not len(held_out):
            raise InputError(
                f"Nothing of {dataset.name} can be held out to measure accuracy on: no label has 3 examples or more."
            )
        checks = {"validation": Check(dataset, held_out, dataset.labels[held_out])}
        if dataset.true_labels is None:
            return (
                train,
                checks,
                f"{len(held_out):,} held-out examples (by their given labels, so repeating a mistake counts as right)",
                "hold out",
            )
        checks["test"] = Check(dataset, held_out, dataset.true_labels[held_out])
        return train, checks, f"{len(held_out):,} held-out examples (by their true labels)", "hold out"
    protocol = protocol or ("paper" if dataset.true_labels is not None else "honest")
    # The paper validates with a tenth of each true class, duplicates or not.
    parts = split(dataset, protocol, seed, groups=groups if protocol == "honest" else None)
    checks = {}
    if len(parts.validation):
        truth = dataset.true_labels if parts.validation_labels == "clean" else dataset.labels
        assert truth is not None
        checks["validation"] = Check(dataset, parts.validation, truth[parts.validation])
    if parts.test is not None:
        checks["test"] = Check(parts.test, np.arange(len(parts.test)), parts.test.labels)
    if not checks:
        raise InputError(
            f"The protocol {protocol} leaves nothing of {dataset.name} to measure accuracy on; use honest."
        )
    if parts.test is not None:
        on = f"the official test set ({len(parts.test):,} examples)"
    else:
        on = f"the validation part ({len(parts.validation):,} examples)"
    return parts.train, checks, on, protocol
