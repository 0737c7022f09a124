"""DATA on the command line, and in `load`: one string names where the examples come from.

Each source stands in its own file of this package, with a `SOURCE` that says what it takes; it is found there.
"""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from smallloss.errors import InputError
from smallloss.files import place

if TYPE_CHECKING:
    from smallloss.data.dataset import Dataset


@dataclass(frozen=True)
class Source:
    """`words` name it to a user. It is found by the `kind` before a colon, the ending of a file, what a folder holds.

    `load` takes the path, or what stands after the colon, and those of `label` and `labels` that are its options.
    """

    words: str
    load: Callable[..., "Dataset"]
    kind: str = ""
    needs: str = ""  # what stands after the colon, in words; nothing does where there are none
    is_place: bool = True  # is that a path?
    endings: tuple[str, ...] = ()
    holds: Callable[[Path], bool] | None = None
    options: tuple[str, ...] = ()


def load(spec: str | Path, *, labels: str | Path | None = None, label: str | None = None) -> "Dataset":
    """The dataset that `spec` names. Nothing is downloaded, unless a Hugging Face name asks for it.

    `labels` goes with an .npy file of inputs; `label` names the column of labels in a table.
    """
    if not str(spec):
        raise InputError(f"DATA is empty; it is one of: {known()}.")
    source, given = _find(spec), {"label": label, "labels": labels}
    options = () if source is None else source.options
    if labels is not None and "labels" not in options:
        raise InputError(f"--labels {labels} goes with a .npy file of inputs; {spec} brings its own labels.")
    if label is not None and "label" not in options:
        raise InputError(f"--label {label} names a column of a table; {spec} is not a table.")
    if source is None:
        path = Path(spec).expanduser()
        missing = f"There is no file or folder {'at' if len(path.parts) > 1 else 'here named'} {spec}"
        fault = f"{spec} is of an unknown kind" if path.exists() else missing
        raise InputError(f"{fault}; DATA is one of: {known()}.")
    return source.load(*_place(source, spec), **{name: given[name] for name in options})


@cache
def sources() -> tuple[Source, ...]:
    """Those of this package, the one that takes any folder last."""
    package = import_module("smallloss.data")
    modules = [import_module(f"smallloss.data.{one.name}") for one in pkgutil.iter_modules(package.__path__)]
    found = dict.fromkeys(one for module in modules for one in vars(module).values() if isinstance(one, Source))
    return tuple(sorted(found, key=lambda source: source.holds is Path.is_dir))


def known() -> str:
    """What DATA can be, folders first."""
    order = sorted(sources(), key=lambda one: (":" in one.words, one.holds is not Path.is_dir, one.words))
    return ", ".join(one.words for one in order)


def place_of(spec: str | Path) -> str:
    """DATA as it is found from any folder."""
    source, path = _find(spec), Path(spec).expanduser()
    if source is not None and source.needs and source.is_place and source.kind == str(spec).partition(":")[0]:
        return f"{source.kind}:{place(str(spec).partition(':')[2])}"
    return str(place(path)) if path.exists() else str(spec)


def is_here(spec: str) -> bool:
    """Can it be loaded without fetching anything?"""
    source = _find(spec)
    brought = source is not None and source.kind == spec and not source.needs
    return brought or Path(spec.partition(":")[2] or spec).exists()


def _find(spec: str | Path) -> Source | None:
    kind, _, rest = str(spec).partition(":")
    path = Path(spec).expanduser()
    named = (source for source in sources() if source.kind == kind and (source.needs or not rest))
    files = (source for source in sources() if path.suffix.lower() in source.endings and not path.is_dir())
    folders = (source for source in sources() if path.is_dir() and source.holds and source.holds(path))
    return next((source for group in (named, files, folders) for source in group), None)


def _place(source: Source, spec: str | Path) -> tuple[str | Path, ...]:
    """What `load` is called with."""
    kind, _, rest = str(spec).partition(":")
    if kind != source.kind:
        return (Path(spec).expanduser(),)
    if not source.needs:
        return ()
    if not rest:
        raise InputError(f"{kind} needs {source.needs}: write {source.words}.")
    path = Path(rest).expanduser()
    if source.is_place and not path.exists():
        raise InputError(
            f"There is no {kind} at {path}: nothing is there. "
            "Put the official files there, or give the path where they are; nothing is fetched for you."
        )
    return (path if source.is_place else rest,)
