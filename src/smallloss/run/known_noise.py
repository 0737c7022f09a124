"""What a run knows of its noise: drawn on purpose for a benchmark, given by the user, or neither."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.labels import label_names
from smallloss.criterion.transition import from_spec
from smallloss.data.cifar import human_labels
from smallloss.data.dataset import Dataset
from smallloss.data.told import read_rates, read_transition
from smallloss.errors import InputError
from smallloss.methods.small_loss import Noise
from smallloss.words import percent

DIGITS_DEFAULT = "structured:0.3"


@dataclass
class Knowledge:
    """The noise a selection may use, and how it came to be known."""

    noise: Noise
    drawn: str | None = None
    notes: list[str] = field(default_factory=list)
    is_of_drawn: bool = False  # T is that of the noise drawn; the user said nothing else of it

    def describe(self) -> dict[str, Any]:
        """As config.json says it."""
        known = {name: getattr(self.noise, name) for name in ("noise_rate", "transition", "prior", "upper")}
        return {"drawn": self.drawn} | {name: _plain(value) for name, value in known.items()}


def _plain(value: Any) -> Any:
    """Arrays and sequences become lists; names, numbers, mappings and nothing stay what they are."""
    return value if isinstance(value, str | Mapping | None) else np.asarray(value).tolist()


def given_noise(noise_rate: Any, transition: Any, prior: Any, classes: Sequence[str]) -> Noise:
    """What the user says of the noise, files read, labels as text."""
    upper = None
    if isinstance(noise_rate, str | Path):
        noise_rate, upper = read_rates(noise_rate, classes)
    if isinstance(transition, str | Path):
        transition = read_transition(transition, classes)
    return Noise(_by_text(noise_rate), transition, _by_text(prior), upper)


def _by_text(values: Any) -> Any:
    """Keys as the classes are called: 0 and 0.0 are both '0'."""
    if not hasattr(values, "items"):
        return values
    return dict(zip(label_names(list(values.keys())).tolist(), (value for _, value in values.items()), strict=True))


def of_part(known: Knowledge, dataset: Dataset, rows: np.ndarray) -> Noise:
    """The noise of some rows. Where T is that of the noise drawn, the prior is known too: how frequent the true
    classes are among them. A prior found by T from noisy counts is much less exact."""
    if not known.is_of_drawn or known.noise.prior is not None:
        return known.noise
    assert dataset.true_labels is not None
    counts = np.bincount(dataset.true_labels[rows], minlength=len(dataset.classes))
    return replace(known.noise, prior=counts / len(rows))


def without_official(dataset: Dataset) -> Dataset:
    """Labels that came with the data and nobody corrupted are no truth to hold the finds against: their errors are
    what is looked for."""
    same = dataset.true_labels is not None and np.array_equal(dataset.labels, dataset.true_labels)
    return replace(dataset, true_labels=None) if same else dataset


def known_noise(
    dataset: Dataset, spec: str | None, given: Noise, seed: int, *, is_default: bool
) -> tuple[Dataset, Knowledge]:
    """The dataset with its noisy labels, and what may be known of them.

    Rates the user gives are used as they are; otherwise those of the noise that was drawn on purpose.
    """
    if spec is None and is_default and not given.is_known:
        spec = DIGITS_DEFAULT
    if spec is None:
        return dataset, Knowledge(given)
    if dataset.true_labels is None:
        raise InputError(
            f"--noise {spec} makes labels wrong on purpose, but the true labels of {dataset.name} are not known."
        )
    if spec.startswith("human:"):
        return _human(dataset, spec, given)
    T = from_spec(spec, len(dataset.classes), dataset.class_map)
    noisy = dataset.with_labels(corrupt(dataset.true_labels, T, seed))
    wrong = float((noisy.labels != noisy.true_labels).mean())
    note = f"Labels were made wrong on purpose ({spec}, seed {seed}): {percent(wrong)} of {len(noisy):,}."
    return noisy, _drawn(given, T, spec, note)


def _human(dataset: Dataset, spec: str, given: Noise) -> tuple[Dataset, Knowledge]:
    """human:PATH@which: a CIFAR-N file. Its T is counted, since the truth is known."""
    path, _, which = spec.removeprefix("human:").rpartition("@")
    if not path:
        raise InputError(
            f"--noise {spec} does not say which labels: write human:PATH@random1 (or aggre, worst, noisy)."
        )
    labels = human_labels(path, which, dataset)
    noisy = dataset.with_labels(labels)
    assert dataset.true_labels is not None
    counts = np.zeros((len(dataset.classes),) * 2)
    np.add.at(counts, (dataset.true_labels, labels), 1)
    T = counts / counts.sum(1, keepdims=True)
    wrong = float((labels != dataset.true_labels).mean())
    note = f"Human labels from {Path(path).name}: {percent(wrong)} are wrong; T is counted from the true labels."
    return noisy, _drawn(given, T, spec, note)


def _drawn(given: Noise, T: np.ndarray, spec: str, note: str) -> Knowledge:
    noise = given if given.is_known else replace(given, transition=T)
    return Knowledge(noise, spec, [note], is_of_drawn=not given.is_known)
