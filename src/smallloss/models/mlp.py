"""A multilayer perceptron for feature vectors; a picture is flattened first."""

import math

import torch
from torch import nn

from smallloss.data.dataset import HIDDEN as HIDDEN


class MLP(nn.Module):
    """One hidden layer of 256 units: linear, ReLU, linear.

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
        logits: torch.Tensor = self.head(self.layers(x))
        return logits
