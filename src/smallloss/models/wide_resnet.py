"""WRN-28-2 (Zagoruyko & Komodakis 2016, as Oliver et al. 2018 use it): the network of the paper's tables."""

import torch
from torch import nn

SLOPE = 0.1


class Block(nn.Module):
    """BN, LeakyReLU, conv, BN, LeakyReLU, conv, added to the shortcut.

    The shortcut carries the raw input. Only the first block of the network hands its activated input to
    both paths (`activate_shortcut`), since nothing was normalised before it.
    """

    def __init__(self, before: int, width: int, stride: int, *, activate_shortcut: bool) -> None:
        super().__init__()
        self.activate_shortcut = activate_shortcut
        self.norm1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.shortcut: nn.Module = (
            nn.Identity() if before == width else nn.Conv2d(before, width, 1, stride=stride, bias=False)
        )
        self.activation = nn.LeakyReLU(SLOPE, inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        activated = self.activation(self.norm1(x))
        residual = self.conv2(self.activation(self.norm2(self.conv1(activated))))
        return residual + self.shortcut(activated if self.activate_shortcut else x)


class WideResNet28x2(nn.Module):
    """Depth 28 = 6 * 4 + 4: three stages of four blocks, each twice as wide as in a plain residual net."""

    def __init__(self, classes: int, in_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.stem = nn.Conv2d(in_shape[0], 16, 3, padding=1, bias=False)
        blocks: list[nn.Module] = []
        before = 16
        for width, stage_stride in ((32, 1), (64, 2), (128, 2)):
            for stride in (stage_stride, 1, 1, 1):
                blocks.append(Block(before, width, stride, activate_shortcut=not blocks))
                before = width
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(before)
        self.activation = nn.LeakyReLU(SLOPE, inplace=True)
        self.head = nn.Linear(before, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        nn.init.xavier_normal_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.activation(self.norm(self.blocks(self.stem(x))))
        return self.head(features.mean(dim=(2, 3)))
