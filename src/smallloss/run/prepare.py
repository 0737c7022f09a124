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
from smallloss.data.arrays import with_features
from smallloss.data.dataset import Dataset
from smallloss.data.protocol import conflict_note, hold_out, split
from smallloss.data.told import read_corrections
from smallloss.engine import losses
from smallloss.engine.embedding import Fill, embedded, no_fill
from smallloss.engine.task import Check, Task
from smallloss.errors import InputError
from smallloss.files import place
from smallloss.methods.settings import settings_for
from smallloss.models.backbone import name_of
from smallloss.models.registry import require_known
from smallloss.noise import answers as by_hand
from smallloss.noise.model import NoiseModel
from smallloss.run.files import DUPLICATES
from smallloss.run.known_noise import DIGITS_DEFAULT, drawn_noise, given_noise, of_rows, without_official
from smallloss.words import counted


def refuse_early(asked: Mapping[str, Any], device: torch.device) -> None:
    """What can be refused before any data is read: it may take minutes to read it all."""
    out = asked["out"]
    if out is not None and not isinstance(out, str | Path):
        raise InputError(f"out is a {type(out).__name__}; it names a folder. Give data and labels as a pair: (X, y).")
    _refuse_inside(asked["data"], out)
    settings = settings_for(
        asked["preset"], device.type, None, net=asked["net"], epochs=asked["epochs"], changes=asked["settings"]
    )
    for name in (settings.net, settings.last_net):
        require_known(name)
    if asked["loss"] is not None:
        losses.require(asked["loss"])
    for option in ("transition", "corrections"):
        if isinstance(file := asked[option], str | Path) and not Path(file).is_file():
            raise InputError(f"--{option} {file}: there is no such file.")
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


@dataclass
class Ready:
    """What is to be learnt, and what is known of it."""

    task: Task
    noise: NoiseModel
    notes: list[str]
    accuracy_on: str
    protocol: str


def make_ready(asked: Mapping[str, Any], dataset: Dataset, device: torch.device) -> Ready:
    """Draw the noise, read the answers, look for duplicates, divide."""
    noise = given_noise(asked["noise_rate"], asked["transition"], asked["prior"], dataset.classes)
    spec, protocol, seed = asked["noise"], asked["protocol"], asked["seed"]
    if spec is None and isinstance(asked["data"], str) and asked["data"] == "digits" and not noise.is_known:
        spec = DIGITS_DEFAULT
    notes: list[str] = []
    if spec is not None:
        dataset, noise, words = drawn_noise(dataset, spec, noise, seed)
        notes.append(words)
    if not dataset.groups.any():  # one group, of equal or nearly equal examples
        raise InputError(f"Nothing in {dataset.name} tells one example from another: there is nothing to learn from.")
    pins = {} if asked["corrections"] is None else read_corrections(asked["corrections"], dataset)
    if pins:
        notes.append(by_hand.in_words(dataset.labels, pins))
    listed_in = "" if asked["out"] is None else DUPLICATES
    notes += [*dataset.notes, *alike_note(dataset.classes), *conflict_note(dataset, listed_in)]
    told = dataset if spec is not None else without_official(dataset)
    # The protocol paper may be asked for: official labels are what it validates with.
    divided = dataset if protocol == "paper" else told
    train, checks, accuracy_on, protocol = divide(divided, protocol, seed, dataset.groups)
    by_answers = ""
    for name, check in checks.items():
        checks[name], by_answers = _as_answered(check, divided, pins)  # accuracy is reported on the last one
    if by_answers:
        accuracy_on = f"{accuracy_on.removesuffix(')')}; {by_answers})"
    noise = noise.without_rates() if asked["estimate"] else of_rows(noise, told, train)
    loss = asked["loss"] or "cross_entropy"
    losses.require_transition(loss, noise.transition)
    if loss != "cross_entropy":
        notes.append(f"Plain training descends the loss {loss}; it is what stands here as Cross Entropy.")
    task = Task(
        told, train, checks, seed=seed, device=device, path=asked["path"], workers=asked["workers"],
        deterministic=asked["deterministic"], pins=pins, loss=loss, transition=noise.transition,
    )  # fmt: skip
    return Ready(task, noise, notes, accuracy_on, protocol)


def _as_answered(check: Check, dataset: Dataset, pins: Mapping[int, int]) -> tuple[Check, str]:
    """A check by given labels: by the class that a person named where they did, without what belongs to none. And what
    to say of that. True labels nobody corrects."""
    given = dataset.labels[check.index]
    if not pins or check.dataset is not dataset or not np.array_equal(check.labels, given):
        return check, ""
    labels = np.array([pins.get(row, label) for row, label in zip(check.index.tolist(), given.tolist(), strict=True)])
    none = labels == by_hand.NONE
    labels[none] = given[none]
    none &= not none.all()  # something must be left to measure on
    named = int((labels != given).sum())
    said = [f"{counted(named, 'label')} corrected by hand"] if named else []
    said += [f"{none.sum():,} in none of the classes left out"] if none.any() else []
    return Check(dataset, check.index[~none], labels[~none]), ", ".join(said)


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
        by = "by their given labels, so repeating a mistake counts as right"
        if dataset.true_labels is not None:
            checks["test"], by = Check(dataset, held_out, dataset.true_labels[held_out]), "by their true labels"
        return train, checks, f"{len(held_out):,} held-out examples ({by})", "hold out"
    protocol = protocol or ("paper" if dataset.true_labels is not None else "honest")
    # The paper validates with a tenth of each true class, duplicates or not.
    parts = split(dataset, protocol, seed, groups=groups if protocol == "honest" else None)
    checks, on = {}, f"the validation part ({len(parts.validation):,} examples)"
    if len(parts.validation):
        checks["validation"] = Check(dataset, parts.validation, parts.labels)
    if dataset.test is not None:
        checks["test"] = Check(dataset.test, np.arange(len(dataset.test)), dataset.test.labels)
        on = f"the official test set ({len(dataset.test):,} examples)"
    checks |= {name: Check(part, np.arange(len(part)), part.labels) for name, part in dataset.also.items()}
    if not checks:
        raise InputError(
            f"The protocol {protocol} leaves nothing of {dataset.name} to measure accuracy on; use honest."
        )
    return parts.train, checks, on, protocol
