"""What tells one set of weights from another."""

import hashlib

import torch
from torch import nn
from torch.nn.parameter import is_lazy


def weights_digest(module: nn.Module) -> str:
    """sha256 over the names and bytes of a module's state, as hexadecimal digits.

    Of a weight that has seen no input yet, or a state that is no tensor, the name alone counts.
    """
    digest = hashlib.sha256()
    for name, value in module.state_dict().items():
        digest.update(name.encode())
        if isinstance(value, torch.Tensor) and not is_lazy(value):
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
