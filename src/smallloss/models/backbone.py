"""Backbones: networks with weights that the user already has, which turn pictures or texts into features."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smallloss.errors import InputError

if TYPE_CHECKING:
    import torch

Batch = np.ndarray | list[str]  # uint8 pictures [b, height, width, 3], or texts
KNOWN = "photos, timm:NAME, hf:NAME, hf:FOLDER, or module:function of your own"


@dataclass(frozen=True)
class Backbone:
    """`features` gives one row per example of a batch, on the device; `size` is the side of the pictures it wants,
    None for any; `prepared` says what becomes of them before the network sees them."""

    name: str
    features: Callable[[Batch, torch.device], Any]
    prepared: str
    size: int | None = None


def load_backbone(backbone: Any, kind: str) -> Backbone:
    """By name, or the user's own module or function, for examples of a kind: pictures or text. No network is asked."""
    if kind not in ("pictures", "text"):
        raise InputError(f"A backbone takes pictures or texts, but the examples are a {kind}. Leave it out.")
    if not isinstance(backbone, str):
        return own_backbone(backbone, name_of(backbone), kind)
    library, colon, name = backbone.partition(":")
    if not colon or not library or not name:
        raise InputError(f"{backbone!r} is not a backbone; give {KNOWN}.")
    if library == "photos":
        from smallloss.models.photos import photos_backbone

        return photos_backbone(name, kind)
    if library in ("timm", "hf"):
        from smallloss.models.pretrained import hf_backbone, timm_backbone

        return timm_backbone(name, kind) if library == "timm" else hf_backbone(name, kind)
    return own_backbone(_call(backbone, library, name), backbone, kind)


def name_of(backbone: Any) -> str:
    """What a run writes down of it: a module with other weights is another backbone."""
    if isinstance(backbone, str):
        return backbone
    from torch import nn

    from smallloss.models.registry import weights_digest

    if not callable(backbone):
        raise InputError(f"A backbone is {KNOWN}, a torch module or a function, not a {type(backbone).__name__}.")
    kind = backbone if hasattr(backbone, "__qualname__") else type(backbone)
    name = f"{kind.__module__}:{kind.__qualname__}"
    if not isinstance(backbone, nn.Module):
        return name
    return f"{name} {weights_digest(backbone)[:12]}"


def own_backbone(network: Any, name: str, kind: str) -> Backbone:
    """The user's own: pictures as float [b, 3, height, width] in 0..1, or a list of texts; to features [b, d]."""
    from torch import nn

    if not callable(network):
        raise InputError(f"{name} gave a {type(network).__name__}; it must be a torch module or a function.")

    def features(batch: Batch, device: torch.device) -> Any:
        if isinstance(network, nn.Module):
            network.to(device).eval()
        return network(as_floats(batch, device) if isinstance(batch, np.ndarray) else batch)

    prepared = "in 0..1, not normalised" if kind == "pictures" else "as they are"
    return Backbone(name, features, prepared, _side(network, name) if kind == "pictures" else None)


def _side(network: Any, name: str) -> int | None:
    """What `input_size` of the user's own says: 224, (224, 224) or, as timm writes it, (3, 224, 224)."""
    size = getattr(network, "input_size", None)
    sides = [size] if isinstance(size, int) else list(size)[-2:] if isinstance(size, Sequence) else []
    if size is None or (sides and all(isinstance(side, int) and side == sides[0] > 0 for side in sides)):
        return sides[0] if sides else None
    raise InputError(
        f"{name} has the input_size {size!r}; pictures are given as squares, so make it one number, such as 224, or "
        "(224, 224) or (3, 224, 224)."
    )


def as_floats(batch: np.ndarray, device: torch.device) -> torch.Tensor:
    """uint8 [b, h, w, 3] as float32 [b, 3, h, w] in 0..1."""
    import torch

    return torch.from_numpy(batch).to(device).permute(0, 3, 1, 2).float() / 255


def needed(spec: str, package: str, extra: str) -> Any:
    """The package of an extra."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(f"{spec} needs the package {package} ({error}): pip install 'smallloss[{extra}]'.") from error


def _call(spec: str, module: str, function: str) -> Any:
    """What the function of a module in the working folder returns."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python -m` does; an installed program has no working folder on its path
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise InputError(f"{spec}: {module} needs the package {error.name}, which is not installed.") from error
        raise InputError(f"{spec}: there is no module {module!r} in {folder}, nor an installed one.") from error
    except Exception as error:  # the user's own file: anything may go wrong in it
        raise InputError(f"{spec}: {module} cannot be imported ({type(error).__name__}: {error}).") from error
    make = getattr(found, function, None)
    if not callable(make):
        raise InputError(f"{spec}: {module} has no function {function!r}.")
    try:
        return make()
    except Exception as error:
        raise InputError(f"{spec}: {function}() failed ({type(error).__name__}: {error}).") from error
