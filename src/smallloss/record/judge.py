"""What became of the examples of a dataset, by losses that a run or anybody else has recorded of them: numpy alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smallloss import __version__
from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.selection import Selection
from smallloss.criterion.settings import Criterion
from smallloss.data.dataset import Dataset
from smallloss.noise.answers import PROMISE
from smallloss.noise.choose import select_by
from smallloss.noise.model import NoiseModel
from smallloss.noise.verdict import judge as judge_noise
from smallloss.record.examples import HELD_OUT, TRAIN, Examples, Part
from smallloss.record.run import Run


@dataclass(frozen=True, eq=False)
class Evidence:
    """What tells right labels from wrong ones. Vectors are over the dataset."""

    ledger: LossLedger
    score: np.ndarray  # examples are ranked by it; higher is more suspicious
    words: str
    predicted: np.ndarray | None = None  # codes, by the classifier that is left behind; -1 for none
    probability: np.ndarray | None = None  # of what is predicted
    seen_instead: np.ndarray | None = None  # what the likely wrong are taken for, where that is not what is predicted


def made_of(
    dataset: Dataset, place: Mapping[str, Any], noise: NoiseModel, pins: Mapping[int, int]
) -> dict[str, Any]:  # fmt: skip
    """What config.json says first of any run. place: the source and the label of the data, and whatever else it has."""
    return {
        "version": __version__,
        "data": {"name": dataset.name, "fingerprint": dataset.fingerprint(), "examples": len(dataset), **place},
        "noise": noise.as_told(),
        "corrections": sorted(pins.items()),
    }


def select_rows(
    dataset: Dataset, rows: np.ndarray, score: np.ndarray, noise: NoiseModel, how: Criterion, pins: Mapping[int, int]
) -> Selection:
    """Algorithm 1, lines 8-14, of some rows among themselves; `pins` has the true class of rows answered by hand."""
    answers = {at: pins[row] for at, row in enumerate(rows.tolist()) if row in pins}
    labels, classes = dataset.labels[rows], np.array(dataset.classes)
    return select_by(noise, score[rows], labels, how, classes=classes, answers=answers)


def parts_of(
    dataset: Dataset, train: np.ndarray, chosen: Selection, score: np.ndarray, noise: NoiseModel, how: Criterion,
    pins: Mapping[int, int],
) -> list[Part]:  # fmt: skip
    """What was trained on, as it was chosen; and the others, ranked among themselves, out of sample."""
    held_out = np.setdiff1d(np.arange(len(dataset)), train)
    parts = [Part(TRAIN, train, chosen)]
    if len(held_out):
        # Rates and prior as the training part had them: of a small class perhaps nobody is held out.
        known = replace(noise, noise_rate=chosen.quota.noise_rate, prior=chosen.quota.prior, towards=None)
        parts.append(Part(HELD_OUT, held_out, select_rows(dataset, held_out, score, known, how, pins)))
    return parts


def judge(
    dataset: Dataset, parts: list[Part], evidence: Evidence, noise: NoiseModel, config: dict[str, Any], *,
    pins: Mapping[int, int] | None = None, notes: list[str] | None = None, **more: Any,
) -> Run:  # fmt: skip
    """The run of it. config: what config.json says; more: what was measured beside, by the names of `Run`."""
    predicted = np.full(len(dataset), -1) if evidence.predicted is None else evidence.predicted
    examples = Examples.of(
        dataset, parts, predicted, evidence.ledger.mean_loss, evidence.probability, evidence.seen_instead
    )
    train = parts[0].selection
    verdict = judge_noise(train, noise, promise=config.get("promise", PROMISE), learnt_from=len(pins or {}))
    parts = [replace(parts[0], selection=replace(train, verdict=verdict)), *parts[1:]]
    return Run(
        examples=examples.answered(pins or {}),
        noise_rate=np.asarray(train.quota.noise_rate, np.float64),
        evidence=evidence.words,
        verdict=verdict,
        settings=config,
        notes=[*(notes or []), *train.notes],
        noise=noise,
        ledger=evidence.ledger,
        dataset=dataset,
        parts=parts,
        **more,
    )
