"""Strong views: what a picture undergoes beyond a crop and a mirror, on the device that trains.

One change of a kind and strength drawn at random (after TrivialAugment, Müller and Hutter 2021), then a square of half
the side cut out (Cutout, DeVries and Taylor 2017). In normalised pictures 0 is the mean colour: what is cut out or
comes in from outside is filled with it.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from smallloss.data.dataset import Dataset
from smallloss.learning.draws import Draws

STRONG = ("none", "cutout", "trivialaugment")

_KINDS = ("nothing", "turn", "slant_x", "slant_y", "shift_x", "shift_y", "brightness", "contrast", "saturation")
_TURN = math.radians(30)
_SLANT = 0.3  # pixels sideways for each pixel down
_SHIFT = 0.3  # of the side
_COLOUR = 0.9  # a factor from .1 to 1.9


@dataclass(frozen=True)
class StrongViews:
    """Strong views of one dataset's pictures: `draw` says what happens to whom, `see` does it."""

    changes: bool  # or the cut alone
    size: tuple[int, int]
    black: Tensor
    white: Tensor

    @classmethod
    def of(cls, name: str, dataset: Dataset, device: torch.device) -> "StrongViews | None":
        """None where nothing is asked for, and for features, which nothing here could be done to."""
        if name == "none" or not dataset.is_image:
            return None
        mean, std = (np.asarray(one, np.float32).reshape(-1, 1, 1) for one in (dataset.mean, dataset.std))
        black, white = (torch.from_numpy((level - mean) / std).to(device) for level in (0, 1))
        height, width = dataset.inputs.shape[1:3]
        return cls(name == "trivialaugment", (height, width), black, white)

    def draw(self, draws: Draws, purpose: str, times: list[int], count: int) -> dict[str, Tensor]:
        """Tables of shape [steps, count]: the middle of the cut; kind and strength of the change."""
        slots, (height, width) = draws.slots(count), self.size
        tables = {
            "cut_y": draws.below(height, f"{purpose}/cut_y", times, slots),
            "cut_x": draws.below(width, f"{purpose}/cut_x", times, slots),
        }
        if self.changes:
            tables["change"] = draws.below(len(_KINDS), f"{purpose}/change", times, slots)
            tables["strength"] = (2 * draws.uniform(f"{purpose}/strength", times, slots) - 1).float()
        return tables

    def see(self, pictures: Tensor, tables: dict[str, Tensor]) -> Tensor:
        """One step's pictures, normalised, NCHW, after what its row of the tables says."""
        if self.changes:
            pictures = self._moved(self._coloured(pictures, tables), tables)
        return self._cut(pictures, tables)

    def _coloured(self, pictures: Tensor, tables: dict[str, Tensor]) -> Tensor:
        """Away from or towards black, the picture's own mean, its greys; never beyond black or white."""
        brightness, contrast, saturation = (
            (1 + _COLOUR * _strength(tables, kind)).view(-1, 1, 1, 1)
            for kind in ("brightness", "contrast", "saturation")
        )
        pictures = self.black + brightness * (pictures - self.black)
        mean = pictures.mean((1, 2, 3), keepdim=True)
        pictures = mean + contrast * (pictures - mean)
        grey = pictures.mean(1, keepdim=True)
        return torch.clamp(grey + saturation * (pictures - grey), self.black, self.white)

    def _moved(self, pictures: Tensor, tables: dict[str, Tensor]) -> Tensor:
        """Turned, slanted or shifted. Coordinates run from -1 to 1 along each side: a turn must know their ratio."""
        ratio = self.size[0] / self.size[1]
        turn = _TURN * _strength(tables, "turn")
        slant_x, slant_y = (_SLANT * _strength(tables, kind) for kind in ("slant_x", "slant_y"))
        shift_x, shift_y = (2 * _SHIFT * _strength(tables, kind) for kind in ("shift_x", "shift_y"))
        x = torch.stack([turn.cos(), (slant_x - turn.sin()) * ratio, shift_x], 1)
        y = torch.stack([(slant_y + turn.sin()) / ratio, turn.cos(), shift_y], 1)
        grid = affine_grid(torch.stack([x, y], 1), list(pictures.shape), align_corners=False)
        moved = grid_sample(pictures, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
        return moved.contiguous(memory_format=torch.channels_last)

    def _cut(self, pictures: Tensor, tables: dict[str, Tensor]) -> Tensor:
        """Without a square of half the shorter side, part of which may lie outside."""
        reach = min(self.size) // 4
        rows, columns = (torch.arange(side, device=pictures.device) for side in self.size)
        in_rows = _within(rows - tables["cut_y"][:, None], reach)
        in_columns = _within(columns - tables["cut_x"][:, None], reach)
        return pictures.masked_fill((in_rows[:, :, None] & in_columns[:, None, :])[:, None], 0)


def _strength(tables: dict[str, Tensor], kind: str) -> Tensor:
    """How strongly each picture undergoes this kind of change, in [-1, 1]; 0 for those that undergo another."""
    return torch.where(tables["change"] == _KINDS.index(kind), tables["strength"], 0)


def _within(distance: Tensor, reach: int) -> Tensor:
    return (distance >= -reach) & (distance < reach)
