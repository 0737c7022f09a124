"""ResNet-9 (Page 2018): few layers at full size, many channels where pictures are small; made to learn quickly.

A residual network of 18 layers moves four times 64 channels at full size through memory, twice over; this one
moves one wide layer there and does its arithmetic after the first pooling.
"""

import torch
from torch import nn

_LOGIT_SCALE = 0.125  # max-pooled features are large: without it the first steps are saturated


class ConvNorm(nn.Module):
    """Conv, max-pool if asked for, BN, ReLU: pooling before the norm, whose work it quarters."""

    def __init__(self, before: int, width: int, *, pool: bool = False) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, width, 3, padding=1, bias=False)
        self.pool = nn.MaxPool2d(2, ceil_mode=True) if pool else nn.Identity()  # up: a tiny picture keeps a pixel
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.pool(self.conv(x))))


class Residual(nn.Module):
    """x + f(f(x))."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(ConvNorm(width, width), ConvNorm(width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = x + self.body(x)
        return out


class ResNet9(nn.Module):
    """Widths 64, 128, 256, 512; residual pairs at 128 and 512; pictures of any size."""

    def __init__(self, classes: int, in_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.body = nn.Sequential(
            ConvNorm(in_shape[0], 64),
            ConvNorm(64, 128, pool=True),
            Residual(128),
            ConvNorm(128, 256, pool=True),
            ConvNorm(256, 512, pool=True),
            Residual(512),
        )
        self.head = nn.Linear(512, classes, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.body(x).amax(dim=(2, 3))) * _LOGIT_SCALE
        return logits
