"""The classifier that a run leaves behind: a network, and how new examples become its inputs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from smallloss.data.arrays import as_array, from_arrays
from smallloss.data.gaps import filled
from smallloss.data.new_examples import Seen
from smallloss.data.pictures import Target
from smallloss.engine.device import pick_device, room
from smallloss.engine.embedding import new_features
from smallloss.engine.networks import Network
from smallloss.engine.scoring import probabilities
from smallloss.engine.views import PLAIN, Inputs
from smallloss.errors import InputError
from smallloss.files import write_bytes
from smallloss.models import build
from smallloss.models.backbone import Backbone, load_backbone, name_of
from smallloss.models.ensemble import Ensemble
from smallloss.models.registry import is_known

MODEL = "model.safetensors"


class Classifier:
    """Predicts new examples, prepared as those of the run were.

    X are pictures or features, as the run was given them; where it has a backbone, pictures or texts, or the features
    that it made of them.
    """

    def __init__(self, network: Network, seen: Seen, net: str, backbone: Any = None) -> None:
        self._network, self.seen, self.net, self._backbone = network, seen, net, backbone

    def __repr__(self) -> str:
        return f"<Classifier {self.net}: {self.seen.kind} of {self.seen.in_shape} in {len(self.classes):,} classes>"

    @property
    def classes(self) -> tuple[str, ...]:
        return self.seen.classes

    @property
    def network(self) -> torch.nn.Module:
        """The torch module, which takes normalised inputs."""
        return self._network.module

    def predict_proba(self, X: Any) -> np.ndarray:
        """g(x): [n, c], the columns in the order of `classes`."""
        if isinstance(X, str | Path) or (isinstance(X, list | tuple) and any(isinstance(one, Path) for one in X)):
            raise InputError("X is a path; sl.predict(run, path) takes files and folders, as `smallloss predict` does.")
        if not len(X):
            return np.empty((0, len(self.classes)))
        array, seen, device = filled(as_array(X), self.seen.fills), self.seen, self._network.device
        if self._backbone is not None and not seen.are_features(array):
            array = new_features(self.backbone, seen, X, device)
        if not seen.is_image and not seen.are_features(array):
            raise InputError(_wanted(array, seen))
        new = from_arrays(array, np.zeros(len(array), np.int64), name="new examples", white=seen.white, fills=())
        if new.in_shape != seen.in_shape:
            raise InputError(f"The new examples have the shape {new.in_shape}, those trained on {seen.in_shape}.")
        new = replace(new, normalisation=(seen.mean, seen.std))
        with room(f"predicting {len(new):,} new examples", "Give fewer of them at a time."):
            inputs = Inputs(new, device, PLAIN, resident=True)
            return probabilities(self._network, inputs, inputs.plain(np.arange(len(new)))).double().cpu().numpy()

    def predict(self, X: Any) -> np.ndarray:
        """The class of each example: by name, or as the number that the labels in memory were."""
        named = self.classes if self.seen.values is None else self.seen.values
        return np.array(named)[self.predict_proba(X).argmax(1)]

    @cached_property
    def backbone(self) -> Backbone:
        return load_backbone(self._backbone, self.seen.kind)

    @property
    def takes(self) -> str:
        """What a file of new examples has to hold: pictures, text, rows of a table, or features that somebody made."""
        return "features" if self.seen.featured and self._backbone is None else self.seen.kind

    @property
    def describes(self) -> bool:
        """Are texts or rows described by features that were learnt with the data of the run?"""
        return self.takes in ("text", "table") and self._backbone is None

    @property
    def target(self) -> Target:
        """What a file of a picture is decoded to."""
        channels, height, width = self.seen.came
        if self._backbone is not None and self.backbone.size is not None:
            return Target(self.backbone.size, gray=False)
        if height != width:
            raise InputError(
                f"The pictures of the run are {height} x {width}, but files become squares; give arrays of that shape."
            )
        return Target(height, gray=channels == 1)

    def save(self, path: Path) -> None:
        """One safetensors file, with all that is needed to predict in its metadata."""
        # Cloned: weights that a module uses twice share memory, which safetensors refuses.
        weights = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in self._network.tensors().items()}
        facts = {"net": self.net, **self.seen.to_dict()}
        if isinstance(self.network, Ensemble):
            facts |= {"networks": len(self.network.members), "mirror": self.network.mirror}
        if self._backbone is not None:
            facts["backbone"] = name_of(self._backbone)
            facts["backbone_is_own"] = not isinstance(self._backbone, str)  # an object, which no name brings back
        # One entry only: safetensors writes several in an order that changes from process to process.
        write_bytes(path, save(weights, metadata={"smallloss": json.dumps(facts)}))


def load_classifier(run: str | Path, *, net: Any = None, backbone: Any = None, device: str = "auto") -> Classifier:
    """The classifier of a finished run, by its folder or its model file.

    net: the module, or the function that makes one, where the run was given a network of the user's own. backbone: the
    module or function, where it was given one that has no name.
    """
    path = Path(run) / MODEL if Path(run).is_dir() else Path(run)
    facts, seen, weights = _read(path)
    if net is None and not is_known(facts["net"]):
        raise InputError(
            f"The network of {path} is one of your own, {facts['net']}: load it in Python, "
            "sl.load_classifier(run, net=...), with the module or the function that the run was given."
        )
    own = facts["net"] if net is None else net
    modules = [build(own, classes=len(seen.classes), in_shape=seen.in_shape) for _ in range(facts.get("networks", 1))]
    module = Ensemble(modules, mirror=facts.get("mirror", False)) if "networks" in facts else modules[0]
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(
            f"The weights of {path} belong to another network than the one given ({str(error).splitlines()[0]})."
        ) from error
    module.eval()
    return Classifier(Network(module, pick_device(device)), seen, facts["net"], _backbone(facts, backbone, path))


def _read(path: Path) -> tuple[dict[str, Any], Seen, dict[str, torch.Tensor]]:
    if not path.is_file():
        raise InputError(f"There is no model at {path}: a finished run leaves one, named {MODEL}, in its folder.")
    try:
        with safe_open(str(path), framework="pt") as file:
            facts = json.loads((file.metadata() or {})["smallloss"])
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
            return facts, Seen.from_dict(facts), weights
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise InputError(
            f"{path} is not a model that this version of smallloss wrote, or is cut short ({error})."
        ) from error


def _backbone(facts: Mapping[str, Any], given: Any, path: Path) -> Any:
    """By the name that the run wrote down, or what is given, if it has that name."""
    name = facts.get("backbone")
    if given is not None:
        if name != name_of(given):
            raise InputError(f"The backbone of {path} is {name or 'none'}, not {name_of(given)}.")
        return given
    if facts.get("backbone_is_own"):
        raise InputError(
            f"The backbone of {path} is one of your own, {name}: load it in Python, "
            "sl.load_classifier(run, backbone=...), with what the run was given."
        )
    return name


def _wanted(X: np.ndarray, seen: Seen) -> str:
    """What the network takes, how the run got it, and what takes the user's own."""
    width = seen.in_shape[0] - len(seen.fills)
    sentences = [
        f"The network sees {width:,} features of each example, and the new ones have the shape {X.shape}: "
        f"give [n, {width}], made as those trained on were.",
        *seen.notes,
    ]
    if seen.kind in ("text", "table"):
        sentences.append(
            "`smallloss predict` makes them, of a file of new ones; so does sl.load_run(run).predict(X), in memory."
        )
    if seen.kind in ("text", "pictures"):
        what = "texts" if seen.kind == "text" else "pictures"
        sentences.append(f"A run with a backbone makes its features itself, and predicts {what} as they are.")
    return " ".join(sentences)
