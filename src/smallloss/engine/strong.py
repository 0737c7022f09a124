"""Strong views: every picture turned, stretched, shifted, recoloured and partly covered, each in a way of its own.

The numbers are drawn with the plan, (seed, purpose, time, index) as all others; what they do happens on the device.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from smallloss.engine.draws import Draws

_CHANCE = 0.7  # of each kind, where it is asked for
# At strength 1 at most so much, either way: radians, the logarithm of a zoom, shares of a side; shares of the value.
_PLACE = {"turn": math.radians(20), "zoom": 0.2, "shear": 0.2, "right": 0.125, "down": 0.125}
_COLOUR = {"saturation": 0.4, "contrast": 0.4, "brightness": 0.4}


def draw_strong(draws: Draws, strength: float, purpose: str, times: list[int], key: Tensor) -> dict[str, Tensor]:
    """How far each picture is changed, in every way: [len(times), len(key)] each; 0 is not at all."""
    if not strength:
        return {}
    drawn = {}
    for kind, ways in (("place", _PLACE), ("colour", _COLOUR)):
        changed = draws.uniform(f"{purpose}/{kind}", times, key) < _CHANCE
        for name, most in ways.items():
            either_way = 2 * draws.uniform(f"{purpose}/{name}", times, key) - 1
            drawn[name] = (either_way * most * strength * changed).float()
    return drawn


def draw_cut(draws: Draws, cut: int, purpose: str, times: list[int], key: Tensor) -> dict[str, Tensor]:
    """Where a square lies: 0 is the upper or left end of a picture, 1 the other."""
    names = ("cut_y", "cut_x") if cut else ()
    return {name: draws.uniform(f"{purpose}/{name}", times, key).float() for name in names}


def recoloured(x: Tensor, how: Mapping[str, Tensor]) -> Tensor:
    """Pictures [b, h, w, channels] in 0..1. A gray picture has no saturation to change."""
    brightness, contrast, saturation = (
        (1 + how[name])[:, None, None, None] for name in ("brightness", "contrast", "saturation")
    )
    x = x * brightness
    gray = x.mean(3, keepdim=True)
    x = gray + (x - gray) * saturation
    middle = x.mean((1, 2, 3), keepdim=True)
    return (middle + (x - middle) * contrast).clamp(0, 1)


def moved(x: Tensor, how: Mapping[str, Tensor]) -> Tensor:
    """Inputs [b, channels, h, w], turned about their middle; what lies outside is the picture reflected."""
    cos, sin, zoom = how["turn"].cos(), how["turn"].sin(), (-how["zoom"]).exp()
    ratio = x.shape[2] / x.shape[3]  # both sides count as 2 here: a turn must not skew a picture that is not square
    rows = (
        (zoom * cos, zoom * (how["shear"] * cos - sin) * ratio, 2 * how["right"]),
        (zoom * sin / ratio, zoom * (how["shear"] * sin + cos), 2 * how["down"]),
    )
    matrix = torch.stack([torch.stack(row, 1) for row in rows], 1)
    grid = affine_grid(matrix, list(x.shape), align_corners=False)
    return grid_sample(x, grid, padding_mode="reflection", align_corners=False)


def covered(x: Tensor, how: Mapping[str, Tensor], cut: int) -> Tensor:
    """Inputs [b, channels, h, w] with a square of zeros, the mean of all pictures, that lies inside of them."""
    y, x_ = (_inside(side, how[name], cut) for side, name in zip(x.shape[2:], ("cut_y", "cut_x"), strict=True))
    return x.masked_fill((y[:, :, None] & x_[:, None, :])[:, None], 0)


def _inside(side: int, place: Tensor, cut: int) -> Tensor:
    """Which of 0 .. side-1 the square covers, [b, side]. In half a picture there is always something left to see."""
    cut = min(cut, side // 2)
    start = (place * (side - cut + 1)).long().clamp(max=side - cut)[:, None]
    position = torch.arange(side, device=place.device)
    return (position >= start) & (position < start + cut)
