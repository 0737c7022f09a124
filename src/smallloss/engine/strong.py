"""Strong views: each picture turned, scaled, sheared, shifted and recoloured by amounts of its own, on its device."""

from math import pi

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from smallloss.engine.draws import Draws

_OFTEN = 0.7  # how likely each of them is
_MOST = {
    "turn": pi / 9,  # 20 degrees
    "scale": 0.2,  # as a logarithm
    "shear": 0.2,
    "down": 0.25,  # in halves of the side
    "across": 0.25,
    "saturation": 0.5,
    "contrast": 0.4,
    "brightness": 0.4,  # in deviations of a channel
}


def draw_amounts(draws: Draws, purpose: str, times: list[int], key: Tensor) -> Tensor:
    """[times, key, 8]: how much of each, between its most one way and the other; 0 for what stays as it is."""

    def one(what: str, most: float) -> Tensor:
        u = draws.uniform(f"{purpose}/{what}", times, key)
        return torch.where(u < _OFTEN, most * (2 * u / _OFTEN - 1), 0.0)

    return torch.stack([one(*each) for each in _MOST.items()], -1).float()


def changed(x: Tensor, amounts: Tensor) -> Tensor:
    """Normalised pictures [n, channels, height, width], each by its row of the amounts."""
    turn, scale, shear, down, across, *colour = amounts.unbind(1)
    places = _places(turn, scale, shear, down, across, x.shape[2] / x.shape[3])
    grid = affine_grid(places, [*x.shape], align_corners=False)
    moved = grid_sample(x, grid, padding_mode="reflection", align_corners=False)
    return _recoloured(moved, *colour).contiguous(memory_format=torch.channels_last)


def _places(turn: Tensor, scale: Tensor, shear: Tensor, down: Tensor, across: Tensor, height: float) -> Tensor:
    """[n, 2, 3]: where each place of the new picture is taken from, x before y; `height` is in widths."""
    cos, sin = turn.cos() * scale.exp(), turn.sin() * scale.exp()
    x = torch.stack([cos, (shear * cos - sin) * height, across], 1)
    y = torch.stack([sin / height, shear * sin + cos, down], 1)
    return torch.stack([x, y], 1)


def _recoloured(x: Tensor, saturation: Tensor, contrast: Tensor, brightness: Tensor) -> Tensor:
    """Away from its own gray, away from its mean, and lighter; or towards them, and darker."""
    saturation, contrast, brightness = (one.view(-1, 1, 1, 1) for one in (saturation, contrast, brightness))
    x = x + saturation * (x - x.mean(1, keepdim=True))
    return x + contrast * (x - x.mean((2, 3), keepdim=True)) + brightness
