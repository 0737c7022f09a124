"""timm:NAME, hf:NAME, hf:FOLDER: backbones whose weights are on this machine; nothing is fetched."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smallloss.errors import InputError
from smallloss.models.backbone import Backbone, Batch, as_floats, needed

if TYPE_CHECKING:
    import torch

_FILES = ("model.safetensors", "open_clip_model.safetensors", "pytorch_model.bin", "open_clip_pytorch_model.bin")


def timm_backbone(name: str, kind: str) -> Backbone:
    """`name` is timm's, or NAME,checkpoint=FILE with weights of one's own. Size, mean and std are the model's."""
    if kind != "pictures":
        raise InputError(f"timm:{name} sees pictures, and the examples are texts; name an hf: model of texts instead.")
    timm: Any = needed(f"timm:{name}", "timm", "timm")
    importlib.import_module("timm.data")
    model, _, file = name.partition(",checkpoint=")
    weights = Path(file).expanduser() if file else _weights(timm, model)
    if weights is None or not weights.is_file():
        where = str(weights) if file else "the caches of timm"
        raise InputError(
            f"The weights of timm:{model} are not in {where}, and nothing is fetched for you; "
            "fetch them with timm first, or name their file: timm:NAME,checkpoint=FILE."
        )
    try:
        # A file named in the configuration goes before any address that it has.
        network = timm.create_model(
            model, pretrained=True, num_classes=0, pretrained_cfg_overlay={"file": str(weights)}
        )
        config = timm.data.resolve_model_data_config(network)
    except Exception as error:  # timm raises errors of many kinds: names, files, shapes
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"timm:{model} cannot be made from {weights} ({said}).") from error
    size = int(config["input_size"][-1])

    def features(batch: Batch, device: torch.device) -> Any:
        network.to(device).eval()
        pictures = as_floats(batch, device)  # type: ignore[arg-type]
        mean, std = (pictures.new_tensor(config[key]).view(1, -1, 1, 1) for key in ("mean", "std"))
        return network((pictures - mean) / std)

    return Backbone(f"timm:{name}", features, "normalised by the mean and std of the model", size)


def _weights(timm: Any, model: str) -> Path | None:
    """The file that an earlier download left, in the hub's cache or in torch's."""
    try:
        config = timm.get_pretrained_cfg(model)
    except Exception as error:
        raise InputError(f"timm:{model} is not a model of timm ({type(error).__name__}: {error}).") from error
    if config is None:
        raise InputError(f"timm:{model} is not a model of timm, or one without weights.")
    if config.hf_hub_id:
        hub = importlib.import_module("huggingface_hub")
        wanted = [config.hf_hub_filename] if getattr(config, "hf_hub_filename", None) else _FILES
        for file in wanted:
            found = hub.try_to_load_from_cache(config.hf_hub_id, file)
            if isinstance(found, str):
                return Path(found)
    if config.url:
        import torch

        return Path(torch.hub.get_dir()) / "checkpoints" / config.url.rpartition("/")[2]
    return None


def hf_backbone(name: str, kind: str) -> Backbone:
    """Pictures go through the model's own image processor, texts through its tokenizer."""
    transformers: Any = needed(f"hf:{name}", "transformers", "hf")
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
