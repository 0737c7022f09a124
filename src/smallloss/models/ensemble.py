"""Several networks that judge together, or one that judges mirror images too."""

import math
from collections.abc import Iterable

import torch
from torch import nn


class Ensemble(nn.Module):
    """The mean of its members' probabilities, as logits: their softmax is that mean. `mirror`: of each picture and of
    its mirror image."""

    def __init__(self, members: Iterable[nn.Module], *, mirror: bool = False) -> None:
        super().__init__()
        self.members, self.mirror = nn.ModuleList(members), mirror

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # By logarithms and in float32: a small probability would be 0 otherwise, and its logarithm nothing to rank by.
        views = (x, x.flip(3)) if self.mirror else (x,)
        each = torch.stack([member(view).float().log_softmax(1) for member in self.members for view in views])
        return each.logsumexp(0) - math.log(len(each))
