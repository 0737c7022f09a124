"""A multilayer perceptron for feature vectors; a picture is flattened first."""

import math

import torch
from torch import nn


class MLP(nn.Module):
    """Two hidden layers of `width` units, each linear, BN, ReLU."""

    def __init__(self, classes: int, in_shape: tuple[int, ...], width: int = 256) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Flatten()]
        before = math.prod(in_shape)
        for _ in range(2):
            layers += [nn.Linear(before, width), nn.BatchNorm1d(width), nn.ReLU()]
            before = width
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(before, classes)
        for module in self.layers:
            if isinstance(module, nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)
        nn.init.xavier_normal_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.layers(x))
        return logits
