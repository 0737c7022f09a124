"""Pre-activation residual networks (He et al. 2016) with a stem for small pictures.

PreAct ResNet-32 is the network of the paper's figures, in the variant of Tanaka et al. 2018: the first block
of every stage, the first stage too, projects its shortcut. PreAct ResNet-18 is what later methods report.
"""

from collections.abc import Sequence

import torch
from torch import nn


class PreActBlock(nn.Module):
    """BN, ReLU, conv, BN, ReLU, conv, added to the input, or to a 1x1 projection of the activated input."""

    def __init__(self, before: int, width: int, stride: int, project: bool) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.projection = nn.Conv2d(before, width, 1, stride=stride, bias=False) if project else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        activated = torch.relu(self.norm1(x))
        shortcut = x if self.projection is None else self.projection(activated)
        return shortcut + self.conv2(torch.relu(self.norm2(self.conv1(activated))))


class PreActResNet(nn.Module):
    """Stages of blocks; `widths` are those of the stages, each after the first on half the picture."""

    widths: Sequence[int]
    blocks_per_stage: int
    project_first_stage: bool

    def __init__(self, classes: int, in_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.stem = nn.Conv2d(in_shape[0], self.widths[0], 3, padding=1, bias=False)
        blocks, before = [], self.widths[0]
        for stage, width in enumerate(self.widths):
            for opens_stage in [True] + [False] * (self.blocks_per_stage - 1):
                stride = 2 if opens_stage and stage > 0 else 1
                project = opens_stage and (stage > 0 or self.project_first_stage)
                blocks.append(PreActBlock(before, width, stride, project))
                before = width
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(before)
        self.head = nn.Linear(before, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        nn.init.kaiming_normal_(self.head.weight, nonlinearity="linear")  # no ReLU follows, so no factor 2
        nn.init.zeros_(self.head.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = torch.relu(self.norm(self.blocks(self.stem(x))))
        return self.head(features.mean(dim=(2, 3)))


class PreActResNet32(PreActResNet):
    widths, blocks_per_stage, project_first_stage = (32, 64, 128), 5, True


class PreActResNet18(PreActResNet):
    widths, blocks_per_stage, project_first_stage = (64, 128, 256, 512), 2, False
