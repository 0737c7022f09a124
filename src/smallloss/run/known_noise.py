"""Noise that the user tells of, in words or files, or that is drawn on purpose for a benchmark."""

from collections.abc import Sequence
from dataclasses import replace
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
from smallloss.noise.model import NoiseModel
from smallloss.words import percent

DIGITS_DEFAULT = "structured:0.3"


def given_noise(noise_rate: Any, transition: Any, prior: Any, classes: Sequence[str]) -> NoiseModel:
    """What the user says of the noise, files read, labels as text."""
    upper = None
    if isinstance(noise_rate, str | Path):
        noise_rate, upper = read_rates(noise_rate, classes)
    if isinstance(transition, str | Path):
        transition = read_transition(transition, classes)
    return NoiseModel.given(classes, _by_text(noise_rate), transition, _by_text(prior), upper)


def _by_text(values: Any) -> Any:
    """Keys as the classes are called: 0 and 0.0 are both '0'."""
    if not hasattr(values, "items"):
        return values
    return dict(zip(label_names(list(values.keys())).tolist(), (value for _, value in values.items()), strict=True))


def without_official(dataset: Dataset) -> Dataset:
    """Labels that came with the data and nobody corrupted are no truth to hold the finds against: their errors are
    what is looked for."""
    same = dataset.true_labels is not None and np.array_equal(dataset.labels, dataset.true_labels)
    return replace(dataset, true_labels=None) if same else dataset


def drawn_noise(dataset: Dataset, spec: str, given: NoiseModel, seed: int) -> tuple[Dataset, NoiseModel, str]:
    """The dataset with labels made wrong on purpose, what is known of them, and that in words.

    What the user says of the noise is taken as it is; otherwise T is that of what was drawn.
    """
    if dataset.true_labels is None:
        raise InputError(
            f"--noise {spec} makes labels wrong on purpose, but the true labels of {dataset.name} are not known."
        )
    if spec.startswith("human:"):
        labels, T, words = _human(dataset, spec)
    else:
        T = from_spec(spec, len(dataset.classes), dataset.class_map)
        labels = corrupt(dataset.true_labels, T, seed)
        wrong = percent(float((labels != dataset.true_labels).mean()))
        words = f"Labels were made wrong on purpose ({spec}, seed {seed}): {wrong} of {len(labels):,}."
    noise = replace(given, drawn=spec)
    if not given.is_known:
        noise = replace(noise, transition=T, source="drawn", told={**given.told, "transition": T})
    return dataset.with_labels(labels), noise, words


def of_rows(noise: NoiseModel, dataset: Dataset, rows: np.ndarray) -> NoiseModel:
    """Where T is that of the noise drawn, the prior is known too: how frequent the true classes are among the rows.
    A prior found by T from noisy counts is much less exact."""
    if noise.source != "drawn" or noise.prior is not None:
        return noise
    assert dataset.true_labels is not None
    counts = np.bincount(dataset.true_labels[rows], minlength=len(dataset.classes))
    prior = counts / len(rows)
    return replace(noise, prior=prior, told={**noise.told, "prior": prior})


def _human(dataset: Dataset, spec: str) -> tuple[np.ndarray, np.ndarray, str]:
    """human:PATH@which: a CIFAR-N file. Its T is counted, since the truth is known."""
    path, _, which = spec.removeprefix("human:").rpartition("@")
    if not path:
        raise InputError(
            f"--noise {spec} does not say which labels: write human:PATH@random1 (or aggre, worst, noisy)."
        )
    labels = human_labels(path, which, dataset)
    assert dataset.true_labels is not None
    counts = np.zeros((len(dataset.classes),) * 2)
    np.add.at(counts, (dataset.true_labels, labels), 1)
    wrong = float((labels != dataset.true_labels).mean())
    words = f"Human labels from {Path(path).name}: {percent(wrong)} are wrong; T is counted from the true labels."
    return labels, counts / counts.sum(1, keepdims=True), words
