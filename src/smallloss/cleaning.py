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
from smallloss.choices import choices, options, say
from smallloss.criterion.selection import Selection
from smallloss.data.dataset import Dataset
from smallloss.errors import InputError, TooFewError
from smallloss.files import place
from smallloss.known_noise import given_noise
from smallloss.learning import backend, checkpoint
from smallloss.learning.classifier import Classifier
from smallloss.learning.inference import outputs
from smallloss.learning.last_layer import features as features_of
from smallloss.learning.progress import Progress
from smallloss.learning.task import Task, pick_device
from smallloss.methods import fitting
from smallloss.methods.presets import Settings, idle
from smallloss.methods.small_loss import RELABELLED, Learned, Noise, choose, retrain_relabelled, try_nets, try_views
from smallloss.methods.unknown_noise import learn_noise, verdict_of
from smallloss.noise.answers import PROMISE
from smallloss.noise.verdict import Judgement, require_promise
from smallloss.outcome import accuracy_of, by_true_labels, judge_by_stage1, parts_of, stages_of
from smallloss.preparing import Ready, as_seen, dataset_of, make_ready, place_of, refuse_early
from smallloss.record.examples import Examples
from smallloss.record.folder import RunFolder
from smallloss.record.run import Run
from smallloss.report.compare import SHIP, choose_shipped
from smallloss.run_files import classifier_of, plain_settings, write_duplicates, write_run
from smallloss.values import whole

BASELINE = "cross_entropy"


@dataclass
class CleanRun:
    """What `clean` gives back: the result to look at, the classifier, and where the files are."""

    result: Run
    learned: Learned
    shipped: Learned  # that of the method, or another that is better on the held-out part
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
    def verdict(self) -> Judgement:
        return self.result.verdict

    @property
    def network(self) -> torch.nn.Module:
        return self.classifier.network

    @cached_property
    def classifier(self) -> Classifier:
        """What `sl.load_classifier` makes of the run folder, later and elsewhere."""
        assert self.result.dataset is not None
        return classifier_of(self.shipped, self.result.dataset, self.backbone)

    def table(self) -> dict[str, Any]:
        """What became of every example, held-out ones included, in input order: the columns of examples.csv.

        Labels are as they came: numbers where they were numbers.
        """
        return self.result.examples.as_they_came()

    def predict(self, X: Any) -> np.ndarray:
        """The class of each new example, as the labels came; inputs are prepared as those of the run were.

        Where the run has a backbone, X are pictures or texts, or features that it made of them.
        """
        return self.classifier.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """g(x) of each new example: [n, c], the columns in the order of `classifier.classes`."""
        return self.classifier.predict_proba(X)


@backend.put_back()
def clean(
    data: str | Path | Dataset | Sequence[Any],
    out: str | Path | None = None,
    *,
    label: str | None = None,
    labels: str | Path | None = None,
    features: str | Path | np.ndarray | None = None,
    backbone: Any = None,
    method: str = "rsl",
    ship: str = "best",
    relabel: bool = False,
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
    promise: float = PROMISE,
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
    corrections: a table of id, answer and true_label, made by hand: what was answered wrong is never selected, but
    learnt with the true label that was given.
    ship: "best" leaves behind the classifier that is best on the held-out part, that of the method where no other is
    seen to be better; "method" leaves behind the method's whatever is seen.
    promise: the share of the kept labels that must be right for the verdict to be green.
    relabel: train on all labels once more, the likely wrong ones replaced by the suggested; it is shipped if best.
    settings: any knob by name, {"stage1.epochs": 20}.
    path: where the inputs are: "resident" on the device, "streaming" batch by batch, "auto" by their size.
    workers: processes that read the batches of a streaming run.
    out: everything is written there, and the same call goes on after an interruption.
    """
    chosen_method, where = methods.get(method), pick_device(device)
    seed, workers = whole(seed, "seed"), whole(workers, "workers")
    changes = dict(settings or {})
    if ship not in SHIP:
        raise InputError(f"There is no ship={ship!r}; choose best or method.")
    require_promise(promise)
    refuse_early(
        data, out, preset, where.type, net, epochs, changes, {"--transition": transition, "--corrections": corrections}
    )
    folder = None if out is None else Path(out)
    dataset, fill, seen = as_seen(dataset_of(data, label, labels), features, backbone, where, folder)
    chosen = fitting.choose(preset, where.type, dataset, net=net, epochs=epochs, changes=changes)
    if hasattr(chosen_method, "refuse"):
        chosen_method.refuse(chosen)
    given = given_noise(noise_rate, transition, prior, dataset.classes)
    ready = make_ready(
        dataset, given, noise, corrections, protocol, seed,
        is_demo=isinstance(data, str) and data == "digits", estimate=estimate, writes=out is not None,
    )  # fmt: skip
    task = Task(
        ready.dataset, ready.train, ready.checks, seed=seed, device=where, path=path, workers=workers,
        deterministic=deterministic, pins=ready.pins,
    )  # fmt: skip
    _refuse_now(task, chosen, method, ready.known.noise, given)
    ready.known.notes += idle(changes, method)
    asked = {"device": device, "preset": preset, "net": net, "epochs": epochs, "settings": changes}
    asked |= {"method": method, "estimate": estimate, "prior": prior}
    config = _config(task, ready, chosen, method, {"source": place_of(data), "label": label, **seen})
    config["options"] = options(
        backbone=backbone, features=features, labels=labels, method=method, ship=ship, relabel=relabel, preset=preset,
        noise=noise, prior=prior, protocol=protocol, net=net, epochs=epochs, seed=seed, device=device, path=path,
        workers=workers, deterministic=deterministic, promise=promise, settings=changes,
    )  # fmt: skip
    config["promise"] = promise
    if isinstance(transition, str | Path):
        config["given"] = ["--transition", str(place(transition))]
    config["chosen"] = choices(task, chosen, ready.known, accuracy_on=ready.accuracy_on, asked=asked)
    if ready.alike:
        config["chosen"]["labels"] = ready.alike[0]
    with nullcontext() if out is None else RunFolder(out, config) as task.folder:
        if task.folder is not None:
            _begin(task.folder, config, ready)
        if progress is not False:
            say(config["chosen"])
        with Progress(enabled=progress) as task.progress:
            fill(folder, task.progress)
            if task.folder is not None:
                task.folder.start_metrics(checkpoint.committed_rows(task.folder.path))
            return _run(task, method, chosen, ready, config, backbone, ship, relabel=relabel)


def _refuse_now(task: Task, settings: Settings, method: str, noise: Noise, given: Noise) -> None:
    """What would be refused in training or after it; any rate does where none is known yet."""
    try_nets(task, settings)
    try_views(task, settings, method)
    choose(task, settings, noise if noise.is_known else Noise(0.0, prior=given.prior), np.zeros(len(task.dataset)))


def _config(task: Task, ready: Ready, settings: Settings, method: str, place: dict[str, Any]) -> dict[str, Any]:
    """What config.json says: all that makes this run and no other, and what it was made with."""
    data = task.dataset
    threads = {"threads": torch.get_num_threads()}  # another number sums in another order
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
    return {
        "version": smallloss.__version__,
        "data": {"name": data.name, "fingerprint": data.fingerprint(), "examples": len(data), **place},
        "noise": ready.known.describe(),
        "corrections": sorted(task.pins.items()),
        "method": method,
        "protocol": ready.protocol,
        "seed": task.seed,
        "device": task.device.type,
        "deterministic": task.deterministic,
        "settings": plain_settings(settings, method, data),
        "versions": versions | threads,
    }


def _begin(folder: RunFolder, config: dict[str, Any], ready: Ready) -> None:
    """What stands in the folder, and is said, before anything is trained."""
    if folder.changed:
        config["chosen"]["changed"] = f"on the way: {folder.changed}."
        ready.known.notes.append(f"Changed on the way: {folder.changed}.")
    write_duplicates(folder, ready.dataset, ready.groups)


def _run(
    task: Task,
    method: str,
    settings: Settings,
    ready: Ready,
    config: dict[str, Any],
    backbone: Any,
    ship: str,
    *,
    relabel: bool,
) -> CleanRun:
    known, everywhere = ready.known, np.arange(len(task.dataset))
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
    g = outputs(task, learned.fitted.network, task.dataset, everywhere)
    suggested = g.argmax(1)
    if relabel:
        wrong = task.train[parts[0].selection.is_label_issue]
        everything[RELABELLED] = retrain_relabelled(task, settings, wrong, suggested[wrong])
    true = by_true_labels(task, parts[0].selection, noise, found)
    accuracies = [accuracy_of(task, name, one, true) for name, one in everything.items()]
    shipped = choose_shipped(accuracies, method, ship)
    final = learned if shipped is None else everything[shipped.method]
    if final is not learned:
        g = outputs(task, final.fitted.network, task.dataset, everywhere)
        wrong = np.concatenate([part.index[part.selection.is_label_issue] for part in parts])
        suggested = np.where(np.isin(everywhere, wrong), suggested, g.argmax(1))
    examples = Examples.of(
        task.dataset, parts, g.argmax(1), evidence.ledger.mean_loss, g.max(1),
        seen_instead=None if final is learned else suggested,
    )  # fmt: skip
    result = Run(
        examples=examples.answered(task.pins),
        noise_rate=np.asarray(parts[0].selection.quota.noise_rate, np.float64),
        evidence=evidence.evidence,
        verdict=verdict_of(noise, found, parts[0].selection, config["promise"]),
        accuracies=accuracies,
        accuracy_on=ready.accuracy_on,
        history=[row for stage in stages_of(everything).values() for row in stage.history],
        settings=config,
        notes=[*known.notes, *(() if found is None else found.estimate.notes), *parts[0].selection.notes],
        estimate=None if found is None else found.estimate,
        ledger=evidence.ledger,
        shipped=shipped,
        dataset=task.dataset,
        parts=parts,
    )
    run = CleanRun(result, learned, final, None if task.folder is None else task.folder.path, backbone)
    if task.folder is not None:
        task.folder.add(options=config["options"], shipped=None if shipped is None else shipped._asdict())
        taught_by = features_of(task, everything[BASELINE].fitted.network)
        write_run(task.folder, result, run.classifier, found, taught_by)
    return run
