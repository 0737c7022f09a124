"""What a run chooses by the data and the hardware, and why: said in one line each before anything is trained."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from smallloss.data.dataset import Dataset
from smallloss.engine.task import Task
from smallloss.methods.settings import Settings, get_preset
from smallloss.models.small import LARGEST, SHRUNK
from smallloss.noise.model import NoiseModel
from smallloss.report.facts import printable
from smallloss.run.files import net_name
from smallloss.words import wrapped

_THINGS = {"pictures": "pictures", "features": "rows of features", "text": "texts", "table": "rows"}
_AS_ASKED = "as asked"


def choices(
    task: Task, settings: Settings, noise: NoiseModel, *, accuracy_on: str, asked: Mapping[str, Any]
) -> dict[str, str]:
    """Name -> what it is, and why. `asked` are the wishes of the user by name, None where there was none."""
    method, held_out = asked["method"], len(task.held_out)
    apart = f"{held_out:,} of them, never trained on" if held_out else "none"
    chosen = {
        "data": _data(task.dataset),
        "input": _input(task.dataset),
        "held out": f"{apart}; accuracy is measured on {accuracy_on}",
        "device": _device(task.device, asked["device"]),
        "preset": _preset(settings.preset, task, asked),
        "net": _net(task.dataset, settings, asked),
        "epochs": _epochs(settings, asked),
        "method": f"{method} alone" if method == "cross_entropy" else f"{method}, compared with plain cross entropy",
        "noise": _noise(noise, asked),
    }
    if asked["loss"] is not None:
        chosen["loss"] = f"{asked['loss']}, in plain training, {_AS_ASKED}"
    if asked["prior"] is not None:
        chosen["prior"] = f"{asked['prior'] if isinstance(asked['prior'], str) else 'by class'}, {_AS_ASKED}"
    if task.path != "auto":
        chosen["path"] = f"{task.path}, {_AS_ASKED}"
    if task.workers:
        chosen["workers"] = _workers(task)
    return chosen


def say(chosen: Mapping[str, str]) -> None:
    """On the terminal, names as plain text: `[red]` in the name of a class is just a name. In a file a line each."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for name, words in chosen.items():
        line = wrapped(f"{name:<9} {printable(words)}", console.width if console.is_terminal else None, hang=10)
        console.print(Text(line), soft_wrap=True)


def _data(dataset: Dataset) -> str:
    counts = np.bincount(dataset.labels, minlength=len(dataset.classes))
    each = f"{counts.min():,}" if counts.min() == counts.max() else f"{counts.min():,} to {counts.max():,}"
    lost = f"; {len(dataset.unreadable):,} more cannot be read" if dataset.unreadable else ""
    things = _THINGS.get(dataset.kind, "examples")
    return f"{dataset.name}: {len(dataset):,} {things} in {len(dataset.classes):,} classes, {each} of each{lost}"


def _input(dataset: Dataset) -> str:
    """What one input is, then the source's words on how it became that; of pictures the first are on their size."""
    if dataset.is_image:
        channels, height, width = dataset.in_shape
        colours = {1: "gray", 3: "in colour"}.get(channels, f"{channels} channels")
        return " ".join([f"{height} x {width} pixels, {colours}.", *dataset.notes[:1]])
    return " ".join([f"{dataset.in_shape[0]:,} features.", *dataset.notes])


def _workers(task: Task) -> str:
    if task.resident():
        return f"{task.workers}, not used: they read the batches of --path streaming, but here the inputs are in memory"
    return f"{task.workers}, to read the batches"


def _device(device: torch.device, asked: str) -> str:
    name = f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type
    if asked != "auto":
        return f"{name}, {_AS_ASKED}"
    return name if device.type == "cuda" else f"{name} (no GPU found)"


def _preset(name: str, task: Task, asked: Mapping[str, Any]) -> str:
    if asked["preset"] is not None:
        return f"{name}, {_AS_ASKED}"
    on_gpu = task.device.type == "cuda"
    if on_gpu and not task.dataset.is_image:
        return f"{name} (the inputs are features)"
    return f"{name} ({'GPU' if on_gpu else 'no GPU'} {'found' if asked['device'] == 'auto' else 'in use'})"


def _net(dataset: Dataset, settings: Settings, asked: Mapping[str, Any]) -> str:
    name = net_name(settings.net)
    if asked["net"] is not None or "net" in asked["settings"]:
        return f"{name}, {_AS_ASKED}"
    if not dataset.is_image:
        return f"{name} (the inputs are features)"
    if name == "small-convnet" and max(dataset.in_shape[1:]) > LARGEST:
        return f"{name}, the preset's for pictures; it sees them at {SHRUNK} x {SHRUNK}, a --backbone would see more"
    final = settings.final_net_of(asked["method"])
    last = "" if final is None else f"; {net_name(final)} learns from what is kept"
    return f"{name}, the preset's for pictures{last}"


def _epochs(settings: Settings, asked: Mapping[str, Any]) -> str:
    last = settings.recipe(asked["method"])
    apart = f"; {last.epochs} in {asked['method']}" if last.epochs != settings.recipe("stage1").epochs else ""
    own = asked["epochs"] is not None or any(name.endswith(".epochs") for name in asked["settings"])
    recipe, preset = settings.recipe("stage1"), get_preset(settings.preset).recipe("stage1")
    why = _AS_ASKED if own else "the preset's"
    if not own and recipe.epochs < preset.epochs:
        why = f"not the preset's {preset.epochs}, because there are so many pictures"
    if recipe.batch >= preset.batch or "stage1.batch" in asked["settings"]:
        return f"{recipe.epochs}, {why}{apart}"
    step = "" if "stage1.lr" in asked["settings"] else f" and a learning rate of {recipe.lr:.2g}"
    return f"{recipe.epochs}, {why}{apart}; batches of {recipe.batch}{step}, because there are few pictures"


def _noise(noise: NoiseModel, asked: Mapping[str, Any]) -> str:
    if noise.noise_rate is not None:
        return "rates as given"
    if noise.transition is not None:
        if noise.source != "drawn":
            return "rates from the T given"
        prior = "the true class counts" if asked["prior"] is None else "the prior given"
        return f"made on purpose ({noise.drawn}), so the rates are known, from its T and {prior}"
    why = _AS_ASKED if asked["estimate"] else "because none are given"
    return f"rates estimated, {why}: each half of the examples is judged by a network that learned from the other"
