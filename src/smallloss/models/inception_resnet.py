"""Inception-ResNet-v2 (Szegedy et al. 2017), the net of the paper's WebVision table; pictures from 75 pixels on."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from smallloss.errors import InputError

SMALLEST = 75  # pixels a side: less is nothing after five halvings without padding

Part = tuple[int, int | tuple[int, int]]  # width and kernel of a convolution that keeps the size


class Conv(nn.Sequential):
    """conv, BN, ReLU."""

    def __init__(
        self, before: int, width: int, kernel: int | tuple[int, int], stride: int = 1, pad: bool = True
    ) -> None:
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (sides[0] // 2, sides[1] // 2) if pad else (0, 0)
        super().__init__(
            nn.Conv2d(before, width, sides, stride=stride, padding=padding, bias=False),
            nn.BatchNorm2d(width, eps=1e-3),
            nn.ReLU(),
        )


def chain(before: int, *parts: Part) -> nn.Sequential:
    convs = []
    for width, kernel in parts:
        convs.append(Conv(before, width, kernel))
        before = width
    return nn.Sequential(*convs)


def shrinking(before: int, *parts: Part) -> nn.Sequential:
    """The last convolution halves, without padding."""
    *first, (width, _) = parts
    return nn.Sequential(chain(before, *first), Conv(first[-1][0] if first else before, width, 3, stride=2, pad=False))


class Mixed(nn.Module):
    """Branches side by side."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Residual(nn.Module):
    """x + scale * conv 1x1 of the branches; ReLU, but after the very last."""

    def __init__(self, width: int, scale: float, branches: Sequence[nn.Module], mixed: int, last: bool = False) -> None:
        super().__init__()
        self.mixed, self.scale, self.last = Mixed(*branches), scale, last
        self.project = nn.Conv2d(mixed, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.scale * self.project(self.mixed(x))
        return x if self.last else torch.relu(x)


def block35() -> Residual:
    branches = chain(320, (32, 1)), chain(320, (32, 1), (32, 3)), chain(320, (32, 1), (48, 3), (64, 3))
    return Residual(320, 0.17, branches, 128)


def block17() -> Residual:
    return Residual(1088, 0.10, (chain(1088, (192, 1)), chain(1088, (128, 1), (160, (1, 7)), (192, (7, 1)))), 384)


def block8(scale: float = 0.20, last: bool = False) -> Residual:
    branches = chain(2080, (192, 1)), chain(2080, (192, 1), (224, (1, 3)), (256, (3, 1)))
    return Residual(2080, scale, branches, 448, last)


class InceptionResNetV2(nn.Module):
    def __init__(self, classes: int, in_shape: tuple[int, ...]) -> None:
        super().__init__()
        channels, *size = in_shape
        if min(size) < SMALLEST:
            raise InputError(
                f"inception-resnet-v2 needs pictures of {SMALLEST} pixels or more a side, not {size[0]} x {size[1]}; "
                "use preact-resnet-18."
            )
        average = nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
        self.features = nn.Sequential(
            Conv(channels, 32, 3, stride=2, pad=False), Conv(32, 32, 3, pad=False), Conv(32, 64, 3),
            nn.MaxPool2d(3, 2), Conv(64, 80, 1), Conv(80, 192, 3, pad=False), nn.MaxPool2d(3, 2),
            Mixed(chain(192, (96, 1)), chain(192, (48, 1), (64, 5)), chain(192, (64, 1), (96, 3), (96, 3)),
                  nn.Sequential(average, Conv(192, 64, 1))),
            *(block35() for _ in range(10)),
            Mixed(shrinking(320, (384, 3)), shrinking(320, (256, 1), (256, 3), (384, 3)), nn.MaxPool2d(3, 2)),
            *(block17() for _ in range(20)),
            Mixed(shrinking(1088, (256, 1), (384, 3)), shrinking(1088, (256, 1), (288, 3)),
                  shrinking(1088, (256, 1), (288, 3), (320, 3)), nn.MaxPool2d(3, 2)),
            *(block8() for _ in range(9)), block8(scale=1.0, last=True),
            Conv(2080, 1536, 1),
        )  # fmt: skip
        self.head = nn.Linear(1536, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).mean(dim=(2, 3)))
