"""A three-layer convolutional network for small pictures, or larger ones made small, on two CPU cores."""

import torch
from torch import nn

LARGEST, SHRUNK = 48, 32  # pixels a side: at 96 x 96 every step would take 13 times as long as at 32 x 32


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
        logits: torch.Tensor = self.head(self.layers(x).mean(dim=(2, 3)))
        return logits
