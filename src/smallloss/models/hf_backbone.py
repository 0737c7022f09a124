"""hf:NAME or hf:FOLDER, a model of Transformers that is on this machine: nothing is fetched."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smallloss.errors import InputError
from smallloss.models.backbone import Backbone, Batch

if TYPE_CHECKING:
    import torch


def hf_backbone(name: str, kind: str) -> Backbone:
    """Pictures go through the model's own image processor, texts through its tokenizer."""
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise InputError(f"hf:{name} needs the package transformers ({error}): pip install 'smallloss[hf]'.") from error
    folder = Path(name).expanduser()
    place = str(folder) if folder.is_dir() else name
    first = "AutoImageProcessor" if kind == "pictures" else "AutoTokenizer"
    try:
        prepare, network = (
            getattr(transformers, loader).from_pretrained(place, local_files_only=True)
            for loader in (first, "AutoModel")
        )
    except Exception as error:  # the package raises errors of many kinds: files, names, versions
        # Of a name that is not in its cache the package says that it could not connect, which it did not try.
        said = "" if isinstance(error, OSError) and not folder.is_dir() else f" ({' '.join(str(error).split())})"
        raise InputError(
            f"hf:{name} cannot be loaded for {'pictures' if kind == 'pictures' else 'texts'} from this machine, "
            f"and nothing is fetched for you; fetch it first, or name a folder that holds it{said}."
        ) from error
    if kind == "pictures":
        return _of_pictures(f"hf:{name}", prepare, network)
    return _of_texts(f"hf:{name}", prepare, network)


def _of_pictures(name: str, prepare: Any, network: Any) -> Backbone:
    def features(batch: Batch, device: torch.device) -> Any:
        network.to(device).eval()
        pixels = prepare(images=list(batch), return_tensors="pt")["pixel_values"].to(device)
        if hasattr(network, "get_image_features"):  # a model of pictures and texts
            return _pooled(network.get_image_features(pixel_values=pixels))
        return _pooled(network(pixel_values=pixels))

    return Backbone(name, features, "through the model's own image processor", _size(prepare))


def _of_texts(name: str, prepare: Any, network: Any) -> Backbone:
    def features(batch: Batch, device: torch.device) -> Any:
        network.to(device).eval()
        tokens = prepare(batch, padding=True, truncation=True, return_tensors="pt").to(device)
        if hasattr(network, "get_text_features"):
            return _pooled(network.get_text_features(**tokens))
        hidden = network(**tokens).last_hidden_state
        real = tokens["attention_mask"][:, :, None].to(hidden.dtype)
        return (hidden * real).sum(1) / real.sum(1).clamp(min=1)

    return Backbone(name, features, "through the model's own tokenizer, cut at its length, as the mean of the tokens")


def _pooled(output: Any) -> Any:
    """One row per picture: what the model pools itself, else the mean over its positions."""
    import torch

    if isinstance(output, torch.Tensor):
        return output
    pooled = getattr(output, "pooler_output", None)
    return output.last_hidden_state.mean(1) if pooled is None else pooled.flatten(1)


def _size(prepare: Any) -> int | None:
    """The side of the pictures that an image processor makes, where it says so."""
    for wanted in (getattr(prepare, "crop_size", None), getattr(prepare, "size", None)):
        sides = wanted if isinstance(wanted, Mapping) else getattr(wanted, "__dict__", {})
        for side in ("height", "shortest_edge"):
            if isinstance(sides.get(side), int | np.integer):
                return int(sides[side])
    return None
