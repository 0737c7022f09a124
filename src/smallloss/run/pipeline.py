"""The main job, from noisy labels to a run folder: train, judge, select, learn, report."""

import platform
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smallloss import files, methods
from smallloss.auditing.session import heard_again
from smallloss.criterion.labels import alike_note
from smallloss.criterion.selection import Selection
from smallloss.data import source
from smallloss.data.memory import frame_of
from smallloss.engine import checkpoint
from smallloss.engine.device import pick_device, put_back
from smallloss.engine.last_layer import features as features_of
from smallloss.engine.progress import Progress
from smallloss.engine.scoring import outputs
from smallloss.engine.task import Task
from smallloss.errors import InputError, TooFewError
from smallloss.knobs import said_again, whole
from smallloss.methods.cross import half_work, learn_noise
from smallloss.methods.settings import STAGE1, Settings, idle, settings_for
from smallloss.methods.small_loss import Learned, choose, rank, retrain_relabelled, try_nets, try_views
from smallloss.models.ensemble import Ensemble
from smallloss.noise.accuracy import TrueAccuracy, without_answers
from smallloss.noise.model import NoiseModel
from smallloss.noise.verdict import require_promise
from smallloss.record import judge as judging
from smallloss.record.examples import Part
from smallloss.record.folder import RunFolder
from smallloss.record.judge import Evidence, judge, made_of
from smallloss.record.run import RELABELLED, Accuracy
from smallloss.report.compare import SHIP, choose_shipped
from smallloss.run.clean import CleanRun, clean
from smallloss.run.explain import choices, say
from smallloss.run.files import net_name, plain_settings, write_duplicates, write_run
from smallloss.run.photos import backbone_for
from smallloss.run.prepare import Ready, as_seen, make_ready, refuse_early
from smallloss.words import stage_words

BASELINE = "cross_entropy"


@put_back()
def start(asked: dict[str, Any]) -> CleanRun:
    """Everything that `clean` was asked, by name: refuse what is wrong, say what is chosen, train, judge, write."""
    data, out, method = asked["data"], asked["out"], asked["method"]
    methods.get(method)
    where = pick_device(asked["device"])
    asked |= {name: whole(asked[name], name) for name in ("seed", "workers")}
    asked["settings"] = changes = dict(asked["settings"] or {})
    if asked["ship"] not in SHIP:
        raise InputError(f"There is no ship={asked['ship']!r}; choose best or method.")
    require_promise(asked["promise"])
    refuse_early(asked, where)
    folder = None if out is None else Path(out)
    loaded = source.load(data, label=asked["label"], labels=asked["labels"])
    backbone, by_default = backbone_for(loaded, asked, where)
    dataset, fill, seen = as_seen(loaded, asked["features"], backbone, where, folder)
    chosen = settings_for(
        asked["preset"], where.type, dataset, net=asked["net"], epochs=asked["epochs"], changes=changes
    )
    methods.refuse(method, chosen)
    ready = make_ready(asked, dataset, where)
    task = ready.task
    _refuse_now(task, chosen, method, ready.noise)
    ready.notes += [*by_default, *idle(changes, method)]
    place = {"source": source.place_of(data), "label": asked["label"], "frame": frame_of(data), **seen}
    config = _config(ready, chosen, asked, place)
    config |= {"options": said_again(clean, asked), "promise": asked["promise"]}
    if isinstance(asked["transition"], str | Path):
        config["given"] = ["--transition", str(files.place(asked["transition"]))]
    config["chosen"] = choices(task, chosen, ready.noise, accuracy_on=ready.accuracy_on, asked=asked)
    if by_default and backbone is not None:
        config["chosen"]["backbone"] = by_default[0]
    if alike := alike_note(task.dataset.classes):
        config["chosen"]["labels"] = alike[0]
    with nullcontext() if out is None else RunFolder(out, config) as task.folder:
        if task.folder is not None:
            _begin(task.folder, config, ready)
            if asked.get("stages_of") is not None:  # another run of a comparison has trained them
                checkpoint.take_over(task.folder.path, asked["stages_of"])
        if asked["progress"] is not False:
            say(config["chosen"])
        with Progress(enabled=asked["progress"]) as task.progress:
            task.progress.plan(_work(chosen, method, ready.noise, asked))
            fill(folder, task.progress)
            if task.folder is not None:
                task.folder.start_metrics(checkpoint.committed_rows(task.folder.path))
            return _run(ready, chosen, config, asked | {"backbone": backbone})


def _work(settings: Settings, method: str, noise: NoiseModel, asked: Mapping[str, Any]) -> dict[str, float]:
    """Every stage to come, as it is shown, and about how many epochs of stage 1 it takes."""
    stages: dict[str, float] = {STAGE1: settings.recipe(STAGE1).epochs}
    stages |= {} if noise.is_known else half_work(settings)
    stages |= {} if method == BASELINE else methods.work(method, settings)
    stages |= {RELABELLED: settings.recipe("rsl").epochs} if asked["relabel"] else {}
    return {stage_words(name): work for name, work in stages.items()}


def _refuse_now(task: Task, settings: Settings, method: str, noise: NoiseModel) -> None:
    """What would be refused in training or after it; any rate does where none is known yet."""
    try_nets(task, settings, method)
    try_views(task, settings, method)
    methods.refuse_task(method, task, settings, noise)
    choose(task, settings, noise if noise.is_known else replace(noise, noise_rate=0.0), np.zeros(len(task.dataset)))


def _config(ready: Ready, settings: Settings, asked: Mapping[str, Any], place: dict[str, Any]) -> dict[str, Any]:
    """What config.json says: all that makes this run and no other, and what it was made with."""
    task, method = ready.task, asked["method"]
    threads = {"threads": torch.get_num_threads()}  # another number sums in another order
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
    return {
        **made_of(task.dataset, place, ready.noise, task.pins),
        "method": method,
        "protocol": ready.protocol,
        "seed": task.seed,
        "device": task.device.type,
        "deterministic": task.deterministic,
        "settings": plain_settings(settings, method, task.dataset) | {"loss": asked["loss"]},
        "versions": versions | threads,
    }


def _begin(folder: RunFolder, config: dict[str, Any], ready: Ready) -> None:
    """What stands in the folder, and is said, before anything is trained."""
    if folder.changed:
        config["chosen"]["changed"] = f"on the way: {folder.changed}."
        ready.notes.append(f"Changed on the way: {folder.changed}.")
    write_duplicates(folder, ready.task.dataset)


def _run(ready: Ready, settings: Settings, config: dict[str, Any], asked: Mapping[str, Any]) -> CleanRun:
    task, method, everywhere = ready.task, asked["method"], np.arange(len(ready.task.dataset))
    everything = {BASELINE: methods.train(BASELINE, task, settings, ready.noise)}
    noise = ready.noise if ready.noise.is_known else learn_noise(task, settings, ready.noise)
    if method != BASELINE:
        try:
            everything[method] = methods.train(method, task, settings, noise)
        except TooFewError as error:  # every example is judged all the same
            ready.notes.insert(0, f"{error} The model is that of plain cross entropy.")
    baseline = everything[BASELINE]
    learned = everything.get(method, baseline)
    ready.notes += learned.notes
    evidence = learned if learned.score is not None else judge_by_stage1(baseline, settings)
    ledger = evidence.ledger or baseline.ledger
    assert ledger is not None
    assert evidence.score is not None
    parts = parts_of(task, settings, noise, evidence)
    g = outputs(task, learned.fitted.network, task.dataset, everywhere)
    suggested = g.argmax(1)
    if asked["relabel"]:
        wrong = task.train[parts[0].selection.is_label_issue]
        everything[RELABELLED] = retrain_relabelled(task, settings, wrong, suggested[wrong])
    accuracies = [accuracy_of(task, name, one, parts[0].selection, noise) for name, one in everything.items()]
    shipped = choose_shipped(accuracies, method, asked["ship"], "true" if ready.protocol == "paper" else "given")
    final = learned if shipped is None else everything[shipped.method]
    if final is not learned:
        g = outputs(task, final.fitted.network, task.dataset, everywhere)
        wrong = np.concatenate([part.index[part.selection.is_label_issue] for part in parts])
        suggested = np.where(np.isin(everywhere, wrong), suggested, g.argmax(1))
    seen = Evidence(
        ledger, evidence.score, evidence.evidence, g.argmax(1), g.max(1),
        seen_instead=None if final is learned else suggested,
    )  # fmt: skip
    stages = {name: stage for one in everything.values() for name, stage in one.stages.items()}
    result = judge(
        task.dataset, parts, seen, noise, config, pins=task.pins, notes=ready.notes, accuracies=accuracies,
        accuracy_on=ready.accuracy_on, shipped=shipped, history=[row for one in stages.values() for row in one.history],
    )  # fmt: skip
    run = CleanRun(result, learned, final, None if task.folder is None else task.folder.path, asked["backbone"])
    if task.folder is not None:
        task.folder.add(options=config["options"], shipped=None if shipped is None else shipped._asdict())
        result.features = features_of(task, baseline.fitted.network)
        write_run(task.folder, result, run.classifier)
        run.answered = heard_again(task.folder.path, task.dataset)
    return run


# --- what a run found ---------------------------------------------------------------------------------------------


def judge_by_stage1(baseline: Learned, settings: Settings) -> Learned:
    """A method that keeps no ledger of its own is judged beside plain cross entropy's."""
    baseline.score, baseline.evidence = rank(baseline.fitted, settings)
    return baseline


def parts_of(task: Task, settings: Settings, noise: NoiseModel, learned: Learned) -> list[Part]:
    """The training part as the method selected it; the held-out part ranked among itself, out of sample."""
    assert learned.score is not None
    train = learned.selection or choose(task, settings, noise, learned.score, beta=learned.beta)
    how = settings.criterion if learned.beta is None else replace(settings.criterion, beta=learned.beta)
    return judging.parts_of(task.dataset, task.train, train, learned.score, noise, how, task.pins)


def accuracy_of(
    task: Task, name: str, learned: Learned, train: Selection | None = None, noise: NoiseModel | None = None
) -> Accuracy:
    """On the official test part or else by validation; by true labels too, as far as the noise can tell."""
    on = "test" if "test" in task.checks else "validation"
    fitted, at = learned.fitted, task.checks[on]
    predicted = outputs(task, fitted.network, at.dataset, at.index).argmax(1)
    validated, agrees = task.checks.get("validation"), None
    if validated is not None:
        same = validated.dataset is at.dataset and np.array_equal(validated.index, at.index)
        seen = predicted if same else outputs(task, fitted.network, validated.dataset, validated.index).argmax(1)
        agrees = seen == validated.labels
    best, ten = (fitted.best[on], None) if validated else (None, fitted.mean_of_last_ten(on))
    judges = fitted.network.module
    number = len(judges.members) if isinstance(judges, Ensemble) else 1
    several = f"{number} x " if number > 1 else ""
    found = Accuracy(
        name, best, fitted.last[on], fitted.seconds, predicted == at.labels, f"{several}{net_name(learned.net)}", ten,
        agrees, called=methods.called(name),
    )  # fmt: skip
    if train is not None and noise is not None and on == "validation":
        found.true = by_true_labels(task, train, noise, at.index, predicted)
    return found


def by_true_labels(
    task: Task, train: Selection, noise: NoiseModel, rows: np.ndarray, predicted: np.ndarray
) -> TrueAccuracy | None:
    """An estimate, by what is known of the noise; none where the truth is known, or nothing is told."""
    if task.dataset.true_labels is not None or noise.tells_nothing:
        return None
    rates, more = np.asarray(train.quota.noise_rate, np.float64), dict[str, Any]()
    if noise.is_estimated:
        assert noise.overall is not None
        joint, more["low"] = noise.joint(), noise.overall[1]
    else:
        share = np.bincount(train.class_index, minlength=len(rates)) / len(train.class_index)
        joint = noise.joint(share if train.quota.prior is None else train.quota.prior)
        more["upper"] = None if noise.upper is None else np.fmax(noise.upper, rates)
    if noise.probabilities is not None:
        more["halves"] = noise.probabilities[:, rows].argmax(2)
    return without_answers(task.dataset.labels[rows], predicted, rates, joint, **more)
