"""timm:NAME, with weights that are on this machine: nothing is fetched."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smallloss.errors import InputError
from smallloss.models.backbone import Backbone, Batch, as_floats

if TYPE_CHECKING:
    import torch

_FILES = ("model.safetensors", "open_clip_model.safetensors", "pytorch_model.bin", "open_clip_pytorch_model.bin")


def timm_backbone(name: str, kind: str) -> Backbone:
    """`name` is timm's, or NAME,checkpoint=FILE with weights of one's own. Size, mean and std are the model's."""
    if kind != "pictures":
        raise InputError(f"timm:{name} sees pictures, and the examples are texts; name an hf: model of texts instead.")
    timm = _timm(name)
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


def _timm(name: str) -> Any:
    try:
        importlib.import_module("timm.data")
        return importlib.import_module("timm")
    except ImportError as error:
        raise InputError(f"timm:{name} needs the package timm ({error}): pip install 'smallloss[timm]'.") from error


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
