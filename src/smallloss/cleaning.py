"""The main job, from noisy labels to a run folder: train, judge, select, learn, report."""

import platform
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

import smallloss
from smallloss import methods
from smallloss.choices import choices, say
from smallloss.criterion import audit as by_hand
from smallloss.criterion.data_verdict import DataVerdict
from smallloss.criterion.selection import Selection
from smallloss.criterion.trust import judge
from smallloss.criterion.verdict import Verdict, check
from smallloss.data.arrays import as_array
from smallloss.data.corrections import read_corrections
from smallloss.data.dataset import Dataset
from smallloss.data.duplicates import conflict_note, duplicate_groups
from smallloss.data.labels import alike_note
from smallloss.errors import TooFewError
from smallloss.learning import checkpoint
from smallloss.learning.embedding import new_features
from smallloss.learning.inference import are_features, predict_probabilities
from smallloss.learning.progress import Progress
from smallloss.learning.scoring import probabilities
from smallloss.learning.stage import Fitted
from smallloss.learning.task import Task, pick_device
from smallloss.learning.views import PLAIN, Inputs, plain_views
from smallloss.methods import fitting
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Learned, Noise, choose, new_network
from smallloss.methods.unknown_noise import NoiseFound, learn_noise
from smallloss.models.backbone import Backbone, load_backbone
from smallloss.noise import Knowledge, given_noise, known_noise
from smallloss.preparing import as_seen, dataset_of, divide, place_of, refuse_early
from smallloss.report.result import Accuracy, Part, Result
from smallloss.run_files import plain_settings, write_run
from smallloss.run_folder import RunFolder

BASELINE = "cross_entropy"


@dataclass
class CleanRun:
    """What `clean` gives back: the result to look at, the classifier, and where the files are."""

    result: Result
    learned: Learned
    folder: Path | None
    backbone: Any = None  # as it was given: what makes the features that the network sees

    @property
    def selection(self) -> Selection:
        """The selection of the training part."""
        return self.result.parts[0].selection

    @property
    def verdict(self) -> Verdict | DataVerdict | None:
        return self.result.verdict

    @property
    def network(self) -> torch.nn.Module:
        return self.learned.fitted.network.module

    def predict(self, X: Any) -> np.ndarray:
        """The class of each new example, by name; inputs are prepared as those of the run were.

        Where the run has a backbone, X are pictures or texts, or features that it made of them.
        """
        seen, network = self.result.dataset, self.learned.fitted.network
        if not len(X):
            return np.array(seen.classes)[:0]
        if self.backbone is not None and not are_features(as_array(X), seen):
            X = new_features(self._loaded, seen, X, network.device)
        return np.array(seen.classes)[predict_probabilities(network, seen, X).argmax(1)]

    @cached_property
    def _loaded(self) -> Backbone:
        return load_backbone(self.backbone, self.result.dataset.kind)


def clean(
    data: str | Path | Dataset | Sequence[Any],
    out: str | Path | None = None,
    *,
    label: str | None = None,
    labels: str | Path | None = None,
    features: str | Path | np.ndarray | None = None,
    backbone: Any = None,
    method: str = "rsl",
    preset: str | None = None,
    noise: str | None = None,
    noise_rate: float | Sequence[float] | Mapping[Any, float] | str | Path | None = None,
    transition: np.ndarray | str | Path | None = None,
    prior: np.ndarray | Mapping[Any, float] | str | None = None,
    estimate: bool = False,
    corrections: str | Path | None = None,
    protocol: str | None = None,
    net: Any = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "auto",
    path: str = "auto",
    workers: int = 0,
    deterministic: bool = False,
    progress: bool | None = False,
) -> CleanRun:
    """Train on noisy labels, find the wrong ones, and learn a classifier in spite of them.

    data: anything `smallloss clean DATA` takes, a Dataset, or (X, y).
    label: the column of labels in a table. labels: a file of labels, where data is an .npy of inputs.
    features: what the network sees in place of the data: an array, .npy, .npz or .parquet, a row per example or by id.
    backbone: what makes such features: "timm:NAME", "hf:NAME", "module:function", a torch module or a function.
    noise: labels corrupted on purpose ("structured:0.3"), for a benchmark whose true labels are known.
    noise_rate (or transition): what is known of the noise, or a file of it; where nothing is, or with estimate=True, it
    is estimated.
    corrections: a table of id, answer and true_label, made by hand: what was answered wrong is never selected.
    settings: any knob by name, {"stage1.epochs": 20}.
    out: everything is written there, and the same call goes on after an interruption.
    """
    chosen_method, where = methods.get(method), pick_device(device)
    files = {"--transition": transition, "--corrections": corrections}
    refuse_early(out, preset, where.type, net, epochs, settings or {}, files)
    dataset = dataset_of(data, label, labels)
    dataset, fill, seen = as_seen(dataset, features, backbone, where, None if out is None else Path(out))
    asked = {"device": device, "preset": preset, "net": net, "epochs": epochs, "settings": settings or {}}
    asked |= {"method": method, "estimate": estimate}
    chosen = fitting.choose(preset, where.type, dataset, net=net, epochs=epochs, changes=settings)
    if hasattr(chosen_method, "refuse"):
        chosen_method.refuse(chosen)
    embedded = isinstance(data, str) and data == "digits"
    given = given_noise(noise_rate, transition, prior, dataset.classes)
    dataset, known = known_noise(dataset, noise, given, seed, is_default=embedded)
    if estimate:
        known.noise = Noise(prior=given.prior)
    pins = {} if corrections is None else read_corrections(corrections, dataset)
    if pins:
        known.notes.append(by_hand.in_words(dataset.labels, pins))
    groups = duplicate_groups(dataset)
    alike = alike_note(dataset.classes)
    known.notes += [*dataset.notes, *alike, *conflict_note(dataset, groups)]
    train, checks, accuracy_on, protocol = divide(dataset, protocol, seed, groups)
    config: dict[str, Any] = {
        "version": smallloss.__version__,
        "data": {
            "name": dataset.name,
            "fingerprint": dataset.fingerprint(),
            "examples": len(dataset),
            "source": place_of(data),
            "label": label,
            **seen,
        },
        "noise": known.describe(),
        "corrections": sorted(pins.items()),
        "method": method,
        "protocol": protocol,
        "seed": seed,
        "device": where.type,
        "deterministic": deterministic,
        "settings": plain_settings(chosen),
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
    }
    task = Task(
        dataset,
        train,
        checks,
        seed=seed,
        device=where,
        path=path,
        workers=workers,
        deterministic=deterministic,
        pins=pins,
    )
    # Refuse now what would be refused in training or after; any rate does where none is known yet.
    for net in {net for net in (chosen.net, chosen.last_net) if isinstance(net, str)}:
        new_network(task, net, "tried")
    choose(task, chosen, known.noise if known.noise.is_known else Noise(0.0, prior=given.prior), np.zeros(len(dataset)))
    config["chosen"] = choices(task, chosen, known, accuracy_on=accuracy_on, asked=asked)
    if alike:
        config["chosen"]["labels"] = alike[0]
    with nullcontext() if out is None else RunFolder(out, config) as task.folder:
        if progress is not False:
            say(config["chosen"])
        with Progress(enabled=progress) as task.progress:
            fill(None if out is None else Path(out), task.progress)
            if task.folder is not None:
                task.folder.start_metrics(checkpoint.committed_rows(task.folder.path))
            return _run(task, method, chosen, known, config, accuracy_on, backbone)


def _run(
    task: Task,
    method: str,
    settings: Settings,
    known: Knowledge,
    config: dict[str, Any],
    accuracy_on: str,
    backbone: Any,
) -> CleanRun:
    everything = {BASELINE: methods.get(BASELINE).train(task, settings, known.noise)}
    found = None if known.noise.is_known else learn_noise(task, settings, known.noise)
    noise = known.noise if found is None else found.noise
    if method != BASELINE:
        try:
            everything[method] = methods.get(method).train(task, settings, noise)
        except TooFewError as error:  # every example is judged all the same
            known.notes.append(f"{error} The model is that of plain cross entropy.")
    learned = everything.get(method, everything[BASELINE])
    evidence = learned if learned.score is not None else _judge_by_stage1(everything[BASELINE], settings)
    assert evidence.ledger is not None
    parts = _parts(task, settings, noise, evidence)
    outputs = _outputs(task, learned.fitted, task.dataset, np.arange(len(task.dataset)))
    result = Result(
        dataset=task.dataset,
        parts=parts,
        mean_loss=evidence.ledger.mean_loss,
        predicted=outputs.argmax(1),
        evidence=evidence.evidence,
        verdict=_verdict(task, noise, found, parts[0].selection),
        accuracies=[_accuracy(task, name, one) for name, one in everything.items()],
        accuracy_on=accuracy_on,
        history=[row for stage in _stages(everything).values() for row in stage.history],
        settings=config,
        notes=[*known.notes, *(() if found is None else found.estimate.notes)],
        probability=outputs.max(1),
        estimate=None if found is None else found.estimate,
        ledger=evidence.ledger,
        pins=task.pins,
    )
    if task.folder is not None:
        write_run(task.folder, result, learned, evidence, found)
    return CleanRun(result, learned, None if task.folder is None else task.folder.path, backbone)


def _judge_by_stage1(baseline: Learned, settings: Settings) -> Learned:
    """A method that keeps no ledger of its own is judged beside plain cross entropy's."""
    assert baseline.ledger is not None
    baseline.score = baseline.ledger.score(settings.score)
    baseline.evidence = f"{settings.score} over stage 1"
    return baseline


def _parts(task: Task, settings: Settings, noise: Noise, evidence: Learned) -> list[Part]:
    """The training part as the method selected it; the held-out part ranked among itself, out of sample."""
    assert evidence.score is not None
    score = evidence.score
    train = evidence.selection or choose(task, settings, noise, score)
    parts = [Part("train", task.train, train)]
    if len(task.held_out):
        # Rates and prior as the training part had them: of a small class perhaps nobody is held out.
        names, quota = train.classes.tolist(), train.quota
        prior = None if quota.prior is None else dict(zip(names, quota.prior.tolist(), strict=True))
        known = Noise(dict(zip(names, quota.noise_rate.tolist(), strict=True)), prior=prior, upper=noise.upper)
        parts.append(Part("held out", task.held_out, choose(task, settings, known, score, index=task.held_out)))
    return parts


def _accuracy(task: Task, name: str, learned: Learned) -> Accuracy:
    on = "test" if "test" in task.checks else "validation"
    fitted = learned.fitted
    at = task.checks[on]
    right = _outputs(task, fitted, at.dataset, at.index).argmax(1) == at.labels
    return Accuracy(name, fitted.best[on], fitted.last[on], fitted.seconds, right)


def _outputs(task: Task, fitted: Fitted, dataset: Dataset, index: np.ndarray) -> np.ndarray:
    """The final network's probabilities for some rows."""
    inputs = Inputs(dataset, task.device, PLAIN, resident=task.resident())
    rows = torch.from_numpy(np.asarray(index)).to(task.device)
    return probabilities(fitted.network, inputs, plain_views(rows, 0)).cpu().numpy()


def _verdict(task: Task, noise: Noise, found: NoiseFound | None, selection: Selection) -> Verdict | DataVerdict | None:
    """What the theory says: of T where it is known, of the estimate where that is all there is."""
    if found is not None:
        rows = task.train
        return judge(
            found.estimate,
            selection,
            found.probabilities[rows].astype(np.float32),  # as the folder keeps them, so that an audit says the same
            np.array(task.dataset.classes)[task.dataset.labels[rows]],
        )
    return None if noise.transition is None else check(noise.transition, task.dataset.classes)


def _stages(everything: dict[str, Learned]) -> dict[str, Fitted]:
    return {name: stage for learned in everything.values() for name, stage in learned.stages.items()}
