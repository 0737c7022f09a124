"""The methods, one file each, named as the paper names them.

A method is a module here with `train(task, settings, noise) -> Learned`, and with `refuse(settings)` where it cannot
take them all: that is asked before anything is trained. Adding one is adding its file; what has no `train` is support.
"""

import importlib
import pkgutil
from types import ModuleType

from smallloss.errors import InputError


def names() -> tuple[str, ...]:
    """The methods there are, by the files in this folder."""
    return tuple(sorted(name for name in _files() if _is_method(_load(name))))


def get(name: str) -> ModuleType:
    """The module of one method; the others are not loaded, so that a broken one stops nobody else."""
    module = _load(name) if name in _files() else None
    if module is None or not _is_method(module):
        raise InputError(f"There is no method named {name!r}; the known ones are {', '.join(names())}.")
    return module


def _files() -> set[str]:
    return {module.name for module in pkgutil.iter_modules(__path__)}


def _load(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def _is_method(module: ModuleType) -> bool:
    return callable(getattr(module, "train", None))
