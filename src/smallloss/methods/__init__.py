"""The methods, one file each, named as the paper names them.

A method is a module here with `train(task, settings, noise) -> Learned`, and with `refuse(settings)` where it cannot
take them all: that is asked before anything is trained. Adding one is adding its file.
"""

import importlib
import pkgutil
from types import ModuleType

from smallloss.errors import InputError

_SUPPORT = {"mixmatch", "out_of_sample", "presets", "small_loss", "supervised", "unknown_noise"}


def names() -> tuple[str, ...]:
    """The methods there are, by the files in this folder."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in _SUPPORT))


def get(name: str) -> ModuleType:
    """The module of one method."""
    if name not in names():
        raise InputError(f"There is no method named {name!r}; the known ones are {', '.join(names())}.")
    return importlib.import_module(f"{__name__}.{name}")
