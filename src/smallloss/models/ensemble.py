"""Several networks that judge together."""

import math
from collections.abc import Iterable

import torch
from torch import nn


class Ensemble(nn.Module):
    """The mean of its members' probabilities, as logits: their softmax is that mean."""

    def __init__(self, members: Iterable[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # By logarithms and in float32: a small probability would be 0 otherwise, and its logarithm nothing to rank by.
        each = torch.stack([member(x).float().log_softmax(1) for member in self.members])
        return each.logsumexp(0) - math.log(len(self.members))
