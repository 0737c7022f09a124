"""A convolutional net that is trained in seconds (after Jordan 2024, the fastest published training on CIFAR-10).

Its first layer is not learnt: it whitens 2 x 2 patches by their covariance in the user's own pictures, so that every
other layer starts on inputs of equal size that say different things. Widths are a setting: `quick-convnet:192-512-768`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, gelu, unfold

from smallloss.errors import InputError
from smallloss.models.small import LARGEST, SHRUNK

PATCH = 2
_PIXELS = 1 << 19  # at a time
_FLOOR = 5e-4  # added to each eigenvalue: what hardly varies is not blown up
_NOTHING = 1e-6  # of the largest eigenvalue: less is rounding, as between the colours of a gray picture
_LOGIT_SCALE = 1 / 9  # max-pooled features are large: without it the first steps are saturated


def whitening_filters(pictures: Tensor) -> Tensor:
    """2d filters for patches of d = channels x 2 x 2 values: the eigenvectors e of their second moments, each as
    e / sqrt(lambda + 5e-4) and as its negative, the largest lambda first. A direction in which nothing varies is 0."""
    d = pictures.shape[1] * PATCH * PATCH
    second = torch.zeros(d, d, dtype=torch.float64)
    patches = 0
    at_once = max(1, _PIXELS // pictures[0, 0].numel())
    for chunk in pictures.split(at_once):  # in float64, and so the same on every machine but for the last bits
        seen = unfold(chunk.double().cpu(), PATCH).transpose(1, 2).reshape(-1, d)
        second += seen.T @ seen
        patches += len(seen)
    values, vectors = torch.linalg.eigh(second / max(patches, 1))
    values, vectors = values.flip(0).clamp(min=0), vectors.flip(1)
    vectors = vectors * vectors.gather(0, vectors.abs().argmax(0, keepdim=True)).sign()  # eigh leaves the sign open
    scale = torch.where(values > _NOTHING * values[0], (values + _FLOOR).rsqrt(), 0.0)
    filters = (vectors * scale).T.reshape(d, pictures.shape[1], PATCH, PATCH)
    return torch.cat([filters, -filters]).float()


class Group(nn.Module):
    """conv, halve, BN, GELU, then twice conv, BN, added to where they began; GELU."""

    def __init__(self, before: int, width: int, *, round_up: bool) -> None:
        super().__init__()
        self.convs = nn.ModuleList(_conv(channels, width) for channels in (before, width, width))
        self.norms = nn.ModuleList(_norm(width) for _ in self.convs)
        self.pool = nn.MaxPool2d(2, ceil_mode=round_up)

    def forward(self, x: Tensor) -> Tensor:
        first, second, third = self.convs
        start = gelu(self.norms[0](self.pool(first(x))))
        return gelu(start + self.norms[2](third(gelu(self.norms[1](second(start))))))


class QuickConvNet(nn.Module):
    """Whitening, one group for each width, global maximum, linear without bias, divided by 9; pictures of any size.

    Until `whiten` has seen pictures its filters are those of white noise: one value of a patch each.
    """

    widths: Sequence[int] = (128, 384, 512)
    largest: int | None = None  # pixels a side; larger pictures are averaged down first
    filters: Tensor

    def __init__(self, classes: int, in_shape: tuple[int, ...], widths: Sequence[int] = ()) -> None:
        super().__init__()
        channels, *size = in_shape
        if min(size) < PATCH:
            raise InputError(
                f"This network needs pictures of 2 x 2 pixels or more, not {size[0]} x {size[1]}; use mlp."
            )
        self.shrinks = self.largest is not None and max(size) > self.largest
        d = channels * PATCH * PATCH
        noise = torch.eye(d).view(d, channels, PATCH, PATCH)
        self.register_buffer("filters", torch.cat([noise, -noise]))
        groups, before, side = [], 2 * d, min(SHRUNK if self.shrinks else min(size), min(size)) - 1
        for width in widths or self.widths:
            round_up = side < 4  # a tiny picture keeps a pixel, a large one is not made larger than it need be
            groups.append(Group(before, width, round_up=round_up))
            before, side = width, -(-side // 2) if round_up else side // 2
        self.groups = nn.Sequential(*groups)
        self.head = nn.Linear(before, classes, bias=False)

    @torch.no_grad()
    def whiten(self, pictures: Tensor) -> None:
        """Take the first layer from pictures as the network will see them, [n, channels, height, width]."""
        self.filters.copy_(whitening_filters(self._shrunk(pictures)))

    def _shrunk(self, x: Tensor) -> Tensor:
        return adaptive_avg_pool2d(x, SHRUNK) if self.shrinks else x

    def forward(self, x: Tensor) -> Tensor:
        x = gelu(nn.functional.conv2d(self._shrunk(x), self.filters))
        return self.head(self.groups(x).amax(dim=(2, 3))) * _LOGIT_SCALE


class SmallQuickConvNet(QuickConvNet):
    """The narrow one, for two CPU cores; it sees pictures above 48 x 48 at 32 x 32."""

    widths = (16, 32, 64)
    largest = LARGEST


def _conv(before: int, width: int) -> nn.Conv2d:
    """It starts as the identity, as far as there are channels for it: no layer has to learn to let through."""
    conv = nn.Conv2d(before, width, 3, padding=1, bias=False)
    nn.init.dirac_(conv.weight.data[:before])
    return conv


def _norm(width: int) -> nn.BatchNorm2d:
    """A bias and no scale: the next BatchNorm would undo it."""
    norm = nn.BatchNorm2d(width)
    norm.weight.requires_grad_(False)
    return norm
