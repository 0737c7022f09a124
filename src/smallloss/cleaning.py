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
from smallloss.criterion.verdict import Verdict
from smallloss.data.corrections import read_corrections
from smallloss.data.dataset import Dataset
from smallloss.data.duplicates import conflict_note, duplicate_groups
from smallloss.data.labels import alike_note
from smallloss.errors import TooFewError
from smallloss.learning import checkpoint
from smallloss.learning.classifier import Classifier
from smallloss.learning.inference import outputs
from smallloss.learning.progress import Progress
from smallloss.learning.task import Task, pick_device
from smallloss.methods import fitting
from smallloss.methods.presets import Settings
from smallloss.methods.small_loss import Learned, Noise, choose, try_nets
from smallloss.methods.unknown_noise import learn_noise
from smallloss.noise import Knowledge, given_noise, known_noise, of_part, without_official
from smallloss.outcome import accuracy_of, judge_by_stage1, parts_of, stages_of, verdict_of
from smallloss.preparing import as_seen, dataset_of, divide, place_of, refuse_early
from smallloss.report.result import Result
from smallloss.run_files import DUPLICATES, classifier_of, plain_settings, write_duplicates, write_run
from smallloss.run_folder import RunFolder
from smallloss.values import whole

BASELINE = "cross_entropy"


@dataclass
class CleanRun:
    """What `clean` gives back: the result to look at, the classifier, and where the files are."""

    result: Result
    learned: Learned
    folder: Path | None
    backbone: Any = None  # as it was given: what makes the features that the network sees

    def __repr__(self) -> str:
        report = "" if self.folder is None else f"\nreport: {self.folder / 'report.html'}"
        return f"<CleanRun of {self.result.in_short}{report}>"

    @property
    def selection(self) -> Selection:
        """The selection of the training part."""
        return self.result.parts[0].selection

    @property
    def verdict(self) -> Verdict | DataVerdict | None:
        return self.result.verdict

    @property
    def network(self) -> torch.nn.Module:
        return self.classifier.network

    @cached_property
    def classifier(self) -> Classifier:
        """What `sl.load_classifier` makes of the run folder, later and elsewhere."""
        return classifier_of(self.learned, self.result.dataset, self.backbone)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each new example, by name; inputs are prepared as those of the run were.

        Where the run has a backbone, X are pictures or texts, or features that it made of them.
        """
        return self.classifier.predict(X)


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
    is estimated. prior: how frequent the true classes are, "uniform" or by class; where noise is drawn, it is known.
    corrections: a table of id, answer and true_label, made by hand: what was answered wrong is never selected.
    settings: any knob by name, {"stage1.epochs": 20}.
    path: where the inputs are: "resident" on the device, "streaming" batch by batch, "auto" by their size.
    workers: processes that read the batches of a streaming run.
    out: everything is written there, and the same call goes on after an interruption.
    """
    chosen_method, where = methods.get(method), pick_device(device)
    seed, workers = whole(seed, "seed"), whole(workers, "workers")
    files = {"--transition": transition, "--corrections": corrections}
    refuse_early(out, preset, where.type, net, epochs, settings or {}, files)
    dataset = dataset_of(data, label, labels)
    dataset, fill, seen = as_seen(dataset, features, backbone, where, None if out is None else Path(out))
    asked = {"device": device, "preset": preset, "net": net, "epochs": epochs, "settings": settings or {}}
    asked |= {"method": method, "estimate": estimate, "prior": prior}
    chosen = fitting.choose(preset, where.type, dataset, net=net, epochs=epochs, changes=settings)
    if hasattr(chosen_method, "refuse"):
        chosen_method.refuse(chosen)
    embedded = isinstance(data, str) and data == "digits"
    given = given_noise(noise_rate, transition, prior, dataset.classes)
    dataset, known = known_noise(dataset, noise, given, seed, is_default=embedded)
    pins = {} if corrections is None else read_corrections(corrections, dataset)
    if pins:
        known.notes.append(by_hand.in_words(dataset.labels, pins))
    groups = duplicate_groups(dataset)
    alike = alike_note(dataset.classes)
    known.notes += [*dataset.notes, *alike, *conflict_note(dataset, groups, "" if out is None else DUPLICATES)]
    told = dataset if known.drawn is not None else without_official(dataset)
    # The protocol paper may be asked for: official labels are what it validates with.
    train, checks, accuracy_on, protocol = divide(dataset if protocol == "paper" else told, protocol, seed, groups)
    dataset = told
    known.noise = Noise(prior=given.prior) if estimate else of_part(known, dataset, train)
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
        "settings": plain_settings(chosen, method, dataset),
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
    try_nets(task, chosen)
    choose(task, chosen, known.noise if known.noise.is_known else Noise(0.0, prior=given.prior), np.zeros(len(dataset)))
    config["chosen"] = choices(task, chosen, known, accuracy_on=accuracy_on, asked=asked)
    if alike:
        config["chosen"]["labels"] = alike[0]
    with nullcontext() if out is None else RunFolder(out, config) as task.folder:
        if task.folder is not None and task.folder.changed:
            config["chosen"]["changed"] = f"on the way: {task.folder.changed}."
            known.notes.append(f"Changed on the way: {task.folder.changed}.")
        if task.folder is not None:
            write_duplicates(task.folder, dataset, groups)
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
    evidence = learned if learned.score is not None else judge_by_stage1(everything[BASELINE], settings)
    assert evidence.ledger is not None
    parts = parts_of(task, settings, noise, evidence)
    g = outputs(task, learned.fitted.network, task.dataset, np.arange(len(task.dataset)))
    result = Result(
        dataset=task.dataset,
        parts=parts,
        mean_loss=evidence.ledger.mean_loss,
        predicted=g.argmax(1),
        evidence=evidence.evidence,
        verdict=verdict_of(task, noise, found, parts[0].selection),
        accuracies=[accuracy_of(task, name, one) for name, one in everything.items()],
        accuracy_on=accuracy_on,
        history=[row for stage in stages_of(everything).values() for row in stage.history],
        settings=config,
        notes=[*known.notes, *(() if found is None else found.estimate.notes)],
        probability=g.max(1),
        estimate=None if found is None else found.estimate,
        ledger=evidence.ledger,
        pins=task.pins,
    )
    run = CleanRun(result, learned, None if task.folder is None else task.folder.path, backbone)
    if task.folder is not None:
        write_run(task.folder, result, run.classifier, evidence, found)
    return run
