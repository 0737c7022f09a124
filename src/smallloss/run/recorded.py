"""Runs that are not trained here: a run folder of the ledger of anybody's training, the page of a run. No torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.settings import Criterion
from smallloss.data import source
from smallloss.data.dataset import Dataset
from smallloss.errors import InputError
from smallloss.files import read_npy, read_npz
from smallloss.noise.estimate import count, matrices_of
from smallloss.noise.model import NoiseModel
from smallloss.noise.verdict import require_promise
from smallloss.record.folder import RunFolder
from smallloss.record.judge import Evidence, judge, made_of, parts_of, select_rows
from smallloss.record.run import Run, data_of_run
from smallloss.report.page import write_page
from smallloss.run.known_noise import given_noise


def page_anew(folder: Path, data: Any, label: str | None, labels: str | Path | None) -> Run:
    """report.html of a run as it stands, after an audit too; pictures where its data still lies."""
    run = Run.read(folder)
    dataset = data_of_run(folder) if data is None else source.load(data, label=label, labels=labels)
    if dataset is not None:
        run.require(dataset, folder)
        run = run.shown_with(dataset)
    write_page(run, folder / "report.html")
    return run


def of_ledger(asked: Mapping[str, Any]) -> Run:
    """Nothing was held out, so every example is ranked with the others of its label."""
    require_promise(asked["promise"])
    file, probabilities = Path(asked["recorded"]), asked["probabilities"]
    dataset = source.load(asked["data"], label=asked["label"], labels=asked["labels"])
    ledger = read_ledger(file, dataset)
    matrices = None if probabilities is None else _matrices(Path(probabilities), dataset)
    noise, rows, how = _noise(asked, matrices, dataset), np.arange(len(dataset)), Criterion()
    evidence = Evidence(ledger, ledger.mean_loss, "the mean loss, as it was recorded",
                        *_predicted(file, ledger, matrices, dataset))  # fmt: skip
    place = {"source": source.place_of(asked["data"]), "label": asked["label"]}
    config = {**made_of(dataset, place, noise, {}), "promise": asked["promise"], "settings": dict(vars(how))}
    chosen = select_rows(dataset, rows, evidence.score, noise, how, {})
    parts = parts_of(dataset, rows, chosen, evidence.score, noise, how, {})
    run = judge(dataset, parts, evidence, noise, config, notes=list(dataset.notes))
    with RunFolder(Path(asked["out"]), config) as folder:
        run.write(folder.path)
        write_page(run, folder / "report.html")
    return run


def read_ledger(file: Path, dataset: Dataset) -> LossLedger:
    """A ledger of these examples, in their order; an array `ids` in the file, one for each, says another."""
    arrays = LossLedger.load(file).arrays()
    ids, n = read_npz(file).get("ids"), len(arrays["count"])
    if ids is not None:
        arrays = _in_order(arrays, [str(one) for one in ids.tolist()], dataset, file)
    elif n != len(dataset):
        lost = f", without the {len(dataset.unreadable):,} that cannot be read" if dataset.unreadable else ""
        raise InputError(
            f"{file} is a ledger of {n:,} examples, but {dataset.name} has {len(dataset):,}{lost}: give what its "
            "losses were recorded of, in the same order, or put an array `ids` into it."
        )
    ledger = LossLedger.from_arrays(arrays)
    if not ledger.count.any():
        raise InputError(f"{file} has nothing to rank by: no epoch was closed. Call end_epoch() before save().")
    return ledger


def _in_order(
    arrays: dict[str, np.ndarray], ids: list[str], dataset: Dataset, file: Path
) -> dict[str, np.ndarray]:  # fmt: skip
    """The vectors of a ledger in the order of the dataset; what it could not read is left out."""
    n, place = len(arrays["count"]), {name: row for row, name in enumerate(ids)}
    if len(ids) != n or len(place) != n:
        raise InputError(f"{file} has {n:,} examples and {len(place):,} different ids: give one id each.")
    missing = [name for name in dataset.ids if name not in place]
    strange = [name for name in place if name not in set(dataset.ids) | dataset.unreadable.keys()]
    if missing or strange:
        what = f"has no losses of {missing[0]!r}" if missing else f"has losses of {strange[0]!r}, which is no example"
        raise InputError(f"{file} {what} of {dataset.name}: its ids must be those of the examples.")
    rows = np.array([place[name] for name in dataset.ids])
    of_examples = {name for name, one in arrays.items() if name != "window" and one.shape[-1:] == (n,)}
    return {
        name: one[..., rows] if name in of_examples else one
        for name, one in arrays.items()
        if name in of_examples or name in ("epochs", "window")  # a sample of loss curves cannot be put in order
    }


def _matrices(file: Path, dataset: Dataset) -> list[np.ndarray]:
    probabilities, n, c = read_npy(file), len(dataset), len(dataset.classes)
    if probabilities.shape[-2:] != (n, c) or probabilities.ndim > 3:
        raise InputError(
            f"{file} has the shape {probabilities.shape}; for {n:,} examples in {c} classes it must be ({n}, {c}), or "
            f"(networks, {n}, {c}), the columns in the order {', '.join(map(repr, dataset.classes[:5]))}."
        )
    return matrices_of(probabilities)


def _noise(asked: Mapping[str, Any], matrices: list[np.ndarray] | None, dataset: Dataset) -> NoiseModel:
    """As it was given, or else by the probabilities."""
    given = given_noise(asked["noise_rate"], asked["transition"], asked["prior"], dataset.classes)
    if given.is_known:
        return given
    if matrices is None:
        raise InputError(
            "How many labels are wrong must be known here: give --noise-rate (0.2, or cat=0.3,dog=0.1, or a csv), "
            "--transition (a file that holds T), or --probabilities out of sample, from which it is estimated."
        )
    return given.beside(count(matrices, dataset.labels, list(dataset.classes)))


def _predicted(
    file: Path, ledger: LossLedger, matrices: list[np.ndarray] | None, dataset: Dataset
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """What each example is taken for, and how surely: out of sample where that is known, or else by the ledger."""
    if matrices is not None:
        several = np.array(matrices, np.float64)
        seen = (~np.isnan(several[:, :, 0])).sum(axis=0)
        g = np.nansum(several, axis=0) / np.maximum(seen, 1)[:, None]
        return np.where(seen > 0, g.argmax(axis=1), -1), np.where(seen > 0, g.max(axis=1), np.nan)
    predicted = ledger.arrays().get("predicted")
    if predicted is not None and predicted.max() >= len(dataset.classes):
        raise InputError(
            f"{file} has predicted class {predicted.max()}, but {dataset.name} has {len(dataset.classes)} classes, "
            "counted from 0."
        )
    return None if predicted is None else predicted.astype(np.int64), None
