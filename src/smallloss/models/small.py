"""Nets that learn quickly: for features, for two CPU cores, and ResNet-9 (Page 2018) for a GPU."""

import math

import torch
from torch import nn

from smallloss.data.dataset import HIDDEN

LARGEST, SHRUNK = 48, 32  # pixels a side: at 96 x 96 every step would take 13 times as long as at 32 x 32
_LOGIT_SCALE = 0.125  # max-pooled features are large: without it the first steps are saturated


class MLP(nn.Module):
    """One hidden layer of 256 units, for features; a picture is flattened first.

    No BatchNorm and no depth: features are few, and what they add is mostly power to learn wrong labels by heart.
    """

    def __init__(self, classes: int, in_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(in_shape), HIDDEN), nn.ReLU())
        self.head = nn.Linear(HIDDEN, classes)
        for module in self.layers:
            if isinstance(module, nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)
        nn.init.xavier_normal_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x))


class SmallConvNet(nn.Module):
    """Three times conv3x3, BN, ReLU, widths w, 2w, 4w; the last two halve the picture; average, linear.

    A picture larger than 48 x 48 is averaged down to 32 x 32 first.
    """

    def __init__(self, classes: int, in_shape: tuple[int, ...], width: int = 16) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = in_shape[0]
        if max(in_shape[1:]) > LARGEST:
            layers.append(nn.AdaptiveAvgPool2d(SHRUNK))
        for after, stride in ((width, 1), (2 * width, 2), (4 * width, 2)):
            layers += [
                nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(),
            ]
            before = after
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(before, classes)
        for module in self.layers:
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        nn.init.xavier_normal_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x).mean(dim=(2, 3)))


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
        return x + self.body(x)


class ResNet9(nn.Module):
    """Widths 64, 128, 256, 512; residual pairs at 128 and 512; pictures of any size.

    A residual network of 18 layers moves four times 64 channels at full size through memory, twice over; this one
    moves one wide layer there and does its arithmetic after the first pooling.
    """

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
        return self.head(self.body(x).amax(dim=(2, 3))) * _LOGIT_SCALE
