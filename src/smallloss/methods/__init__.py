"""The methods, one file each, named as the paper names them.

A method is a module here with `def train(task, settings, noise) -> Learned`. It may also have:

- `NAME`, what a report calls it.
- `RECIPES`, how it trains under each preset: {"paper": Recipe(...), "fast": ..., "cpu": ...}, or in the place of one
  recipe several by name. Without, it trains as stage 1 does.
- `NETS`, under a preset a network of its own to end with, as long as nobody names one, and the recipe that goes with
  it: {"fast": ("quick-convnet", Recipe(...))}.
- `Own(Knobs)`, the settings that only it has: settings.own["its name"]; `OWN`, where a preset has others than the
  usual: {"cpu": Own(...)}.
- `NEEDS`, what must be known of the noise: "noise rate" (if left out), "matrix" or None.
- `COSTS`, in words: `smallloss methods` lists them all, each with the first line of its file.
- `refuse(settings)`, where it cannot take them all: that is asked before anything is trained.
- `refuse_task(task, settings, noise)`, where it cannot learn that: likewise, of the noise as it is known by then.
- `work(settings)`, of each stage after stage 1 how many epochs of that one it takes, if not as many as it has itself.
- `follows(settings)`, which settings of its recipe are fitted to the number of pictures, if not all that are.

Adding one is adding its file; what has no `train` is support.
"""

import ast
import importlib
import importlib.util
import pkgutil
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from smallloss.errors import InputError

_TRAIN = re.compile(r"^def train\(", re.MULTILINE)


def names() -> tuple[str, ...]:
    """The methods there are, by the files in this folder; none is loaded, so that help is quick."""
    return tuple(sorted(one.name for one in pkgutil.iter_modules(__path__) if _TRAIN.search(_source(one.name))))


def get(name: str) -> ModuleType:
    """The module of one method; the others are not loaded, so that a broken one stops nobody else."""
    if name not in names():
        raise InputError(f"There is no method named {name!r}; the known ones are {', '.join(names())}.")
    return importlib.import_module(f"{__name__}.{name}")


def sound() -> dict[str, ModuleType]:
    """Those that can be loaded: a broken one stops only who asks for it."""
    found = {}
    for name in names():
        with suppress(Exception):
            found[name] = get(name)
    return found


class Facts(NamedTuple):
    """What the file of a method says of it."""

    name: str
    called: str
    says: str
    needs: str | None
    costs: str


def described() -> list[Facts]:
    """All methods; none is loaded, which is why these facts are plain words."""
    return [_facts(name) for name in names()]


def called(name: str) -> str:
    """A method as the paper writes it."""
    return _facts(name).called if name in names() else name


def needs(name: str) -> str | None:
    """What a method must be told of the noise."""
    return _facts(name).needs


def refuse(name: str, settings: Any) -> None:
    """An InputError where a method cannot take these settings."""
    getattr(get(name), "refuse", lambda _: None)(settings)


def refuse_task(name: str, task: Any, settings: Any, noise: Any) -> None:
    """An InputError where a method cannot learn from these data, or by what is known of their noise."""
    getattr(get(name), "refuse_task", lambda *_: None)(task, settings, noise)


def work(name: str, settings: Any) -> dict[str, float]:
    """The stages of a method after stage 1, and about how many epochs of that each takes: for the time left."""
    own: dict[str, float] = getattr(get(name), "work", lambda how: {name: how.recipe(name).epochs})(settings)
    return own


def train(name: str, task: Any, settings: Any, noise: Any) -> Any:
    """What a method learns (`Learned`), once it takes the settings and knows what it must of the noise."""
    refuse(name, settings)
    refuse_task(name, task, settings, noise)
    if needs(name) and not noise.is_known:
        raise InputError(f"{called(name)} needs a noise rate: give noise_rate, or a transition matrix.")
    return get(name).train(task, settings, noise)


def _facts(name: str) -> Facts:
    tree = ast.parse(_source(name))
    said: dict[str, Any] = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    first = (ast.get_docstring(tree) or "").partition("\n")[0]
    return Facts(name, said.get("NAME", name), first, said.get("NEEDS", "noise rate"), said.get("COSTS", "not said"))


def _source(name: str) -> str:
    found = importlib.util.find_spec(f"{__name__}.{name}")
    return "" if found is None or found.origin is None else _text(found.origin)


@cache
def _text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")
