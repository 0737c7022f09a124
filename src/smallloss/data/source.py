"""DATA on the command line, and in `load`: one string names where the examples come from.

Each source stands in its own file of this package, with a `Source` that says what it takes; it is found there.
"""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def load(spec: Any, *, labels: str | Path | None = None, label: str | None = None) -> "Dataset":
    """The dataset that `spec` names, or is. Nothing is downloaded, unless a Hugging Face name asks for it.

    `labels` goes with an .npy file of inputs; `label` names the column of labels in a table.
    """
    if not isinstance(spec, str | Path):
        from smallloss.data.memory import from_memory

        if labels is not None:
            raise InputError(f"labels={labels!r} goes with a .npy file of inputs; give labels in memory with the data.")
        return from_memory(spec, label)
    if not str(spec):
        raise InputError(f"DATA is empty; it is one of: {known()}.")
    source, where = find(spec)
    options = () if source is None else source.options
    if labels is not None and "labels" not in options:
        raise InputError(f"--labels {labels} goes with a .npy file of inputs; {spec} brings its own labels.")
    if label is not None and "label" not in options:
        raise InputError(f"--label {label} names a column of a table; {spec} is not a table.")
    there = not isinstance(where, Path) or where.exists()
    if source is None:
        missing = f"There is no file or folder {'at' if len(Path(spec).parts) > 1 else 'here named'} {spec}"
        raise InputError(f"{f'{spec} is of an unknown kind' if there else missing}; DATA is one of: {known()}.")
    if source.kind and not there:
        raise InputError(
            f"There is no {source.kind} at {where}: nothing is there. "
            "Put the official files there, or give the path where they are; nothing is fetched for you."
        )
    given = {"label": label, "labels": labels}
    return source.load(*([] if where is None else [where]), **{name: given[name] for name in options})


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


def place_of(spec: Any) -> str | None:
    """DATA as it is found from any folder; None of what is in memory."""
    if not isinstance(spec, str | Path):
        return None
    _, where = find(spec)
    if not isinstance(where, Path):
        return str(spec)
    kind, _, rest = str(spec).partition(":")
    return f"{kind}:{place(where)}" if rest and Path(rest).expanduser() == where else str(place(where))


def is_here(spec: str) -> bool:
    """Can it be loaded without fetching anything?"""
    _, where = find(spec)
    return where is None or Path(where).exists()


def find(spec: str | Path) -> tuple[Source | None, Path | str | None]:
    """The source that takes it, and what that loads: a path, a name that is none, or nothing."""
    kind, _, rest = str(spec).partition(":")
    for source in sources():
        if source.kind == kind and not source.needs and not rest:
            return source, None
        if source.kind == kind and source.needs:
            if not rest:
                raise InputError(f"{kind} needs {source.needs}: write {source.words}.")
            return source, Path(rest).expanduser() if source.is_place else rest
    path = Path(spec).expanduser()
    for source in sources():
        if source.holds is not None and source.holds(path) if path.is_dir() else path.suffix.lower() in source.endings:
            return source, path
    return None, path
