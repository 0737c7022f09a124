"""One registry of networks, and one door for the user's own. Torch is imported only when a net is built."""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smallloss.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import nn

_NETS = {
    "wrn-28-2": "wide_resnet:WideResNet28x2",
    "preact-resnet-32": "preact_resnet:PreActResNet32",
    "preact-resnet-18": "preact_resnet:PreActResNet18",
    "resnet-9": "small:ResNet9",
    "inception-resnet-v2": "inception_resnet:InceptionResNetV2",
    "quick-convnet": "quick_convnet:QuickConvNet",
    "quick-small": "quick_convnet:SmallQuickConvNet",
    "small-convnet": "small:SmallConvNet",
    "mlp": "small:MLP",
}
_WITH_WIDTHS = ("quick-convnet", "quick-small")


def names() -> tuple[str, ...]:
    """The networks known by name."""
    return tuple(_NETS)


def is_known(net: str) -> bool:
    """Is it one of ours, with widths or without?"""
    return net.partition(":")[0] in _NETS


def require_known(net: Any) -> None:
    """A name is one of ours; what is no name is the user's own."""
    if isinstance(net, str):
        _parsed(net)


def _parsed(net: str) -> tuple[str, dict[str, tuple[int, ...]]]:
    """A name, and the widths that some take behind it: quick-convnet:192-512-768."""
    name, colon, widths = net.partition(":")
    if name not in _NETS:
        raise InputError(f"There is no network named {net!r}; the known ones are {', '.join(names())}.")
    if not colon:
        return name, {}
    if name not in _WITH_WIDTHS:
        raise InputError(
            f"{net!r}: {name} has no widths to choose; those of {' and '.join(_WITH_WIDTHS)} are a choice."
        )
    if not all(part.isdecimal() and int(part) for part in widths.split("-")):
        raise InputError(f"{net!r}: give a whole number from 1 for each width, as in {name}:32-64-128.")
    return name, {"widths": tuple(int(part) for part in widths.split("-"))}


def build(net: str | nn.Module | Callable[..., nn.Module], *, classes: int, in_shape: tuple[int, ...]) -> nn.Module:
    """A network from `in_shape` inputs, (channels, height, width) or (features,), to `classes` logits.

    `net` is a known name, a module, or a function that makes one from nothing or from (classes, in_shape).
    The weights follow torch's random state: seed it first to get the same network again.
    """
    if isinstance(net, str):
        return _build_known(net, classes, in_shape)
    from torch import nn

    module = net if isinstance(net, nn.Module) else _call_factory(net, classes, in_shape)
    _check_logits(module, classes, in_shape)
    return module


def _build_known(name: str, classes: int, in_shape: tuple[int, ...]) -> nn.Module:
    name, widths = _parsed(name)
    if name != "mlp" and len(in_shape) != 3:
        raise InputError(f"{name} needs pictures, but each input has the shape {tuple(in_shape)}; use mlp instead.")
    file, class_name = _NETS[name].split(":")
    make = getattr(importlib.import_module(f"smallloss.models.{file}"), class_name)
    return make(classes=classes, in_shape=tuple(in_shape), **widths)


def _call_factory(factory: Any, classes: int, in_shape: tuple[int, ...]) -> nn.Module:
    from torch import nn

    if not callable(factory):
        raise InputError(
            "A network is a name, a torch module or a function that makes one, not a value of type "
            f"{type(factory).__name__}."
        )
    signature = inspect.signature(factory)
    # A function that names both parameters wants them; one whose parameters all have defaults wants nothing.
    for args, kwargs in ((), {"classes": classes, "in_shape": in_shape}), ((), {}), ((classes, in_shape), {}):
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            continue
        made = factory(*args, **kwargs)
        if isinstance(made, nn.Module):
            return made
        raise InputError(f"The function given for the network returned a {type(made).__name__}, not a torch module.")
    raise InputError(
        f"The function given for the network has the parameters {signature}; "
        "it must take none, or the number of classes and the input shape."
    )


def copied(module: nn.Module) -> nn.Module:
    """A copy of the user's own module, for a stage to train: the next one starts from what was given."""
    try:
        return copy.deepcopy(module)
    except Exception as error:  # what a module holds may refuse it in any way
        raise InputError(
            f"The network given cannot be copied ({type(error).__name__}: {_short(error)}), but every stage starts "
            "anew and keeps an average of its weights: give a function that makes the network, and leave out of it "
            "what cannot be copied, such as a lock or an open file."
        ) from error


def _check_logits(module: nn.Module, classes: int, in_shape: tuple[int, ...]) -> None:
    """Zero inputs must become logits, one in eval mode, and two in train mode, by something that can learn."""
    import torch

    modes = [(part, part.training) for part in module.modules()]
    try:
        with torch.no_grad():
            _logits(module.eval(), 1, classes, in_shape, "")
    finally:
        for part, training in modes:
            part.training = training
    # In train mode a module may change by being run: a copy is. What it draws is nobody else's.
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        logits = _logits(copied(module).train(), 2, classes, in_shape, " in train mode")
    if not logits.requires_grad:
        raise InputError("The network given cannot learn: its logits depend on no parameter that takes a gradient.")


def _logits(module: nn.Module, n: int, classes: int, in_shape: tuple[int, ...], mode: str) -> torch.Tensor:
    import torch

    weights = next(module.parameters(), None)
    zeros = torch.zeros(n, *in_shape, device=None if weights is None else weights.device)
    try:
        logits = module(zeros)
    except Exception as error:
        raise InputError(
            f"The network given does not accept an input of shape {(n, *in_shape)}{mode}: {_short(error)}"
        ) from error
    if not isinstance(logits, torch.Tensor):
        kind = type(logits).__name__
        raise InputError(f"The network given returns a {kind}{mode}; it must return a tensor of logits.")
    if tuple(logits.shape) != (n, classes):
        raise InputError(
            f"The network given returns the shape {tuple(logits.shape)} for {n} input{'s'[: n - 1]}{mode}; "
            f"with {classes} classes it must return {(n, classes)}."
        )
    return logits


def _short(error: Exception) -> str:
    """The first line of what others say, which may be pages."""
    return str(error).strip().partition("\n")[0]


def weights_digest(module: nn.Module) -> str:
    """What tells one set of weights from another: sha256 over the names and bytes of a module's state, in hexadecimal.

    Of a weight that has seen no input yet, or a state that is no tensor, the name alone counts.
    """
    import torch
    from torch.nn.parameter import is_lazy

    digest = hashlib.sha256()
    for name, value in module.state_dict().items():
        digest.update(name.encode())
        if isinstance(value, torch.Tensor) and not is_lazy(value):
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
