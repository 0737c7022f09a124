"""What a command can be told: each option is declared once, in the signature of the function that takes it.

The command line, its help, the words that make a run again, and the tables of the docs are made from that.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SAID = (str, int, float, Path)  # what a command line can say


@dataclass(frozen=True)
class Arg:
    """An argument without a name: what its value is, and what it does."""

    value: str
    help: str
    kind: Any = str  # on the command line


@dataclass(frozen=True)
class Opt:
    """An option: what its value is ("" for a switch), what it does, and the heading it stands under in the help."""

    value: str
    help: str
    panel: str | None = None
    kind: Any = None  # on the command line; left out, that of the default, or str
    least: float | None = None
    required: bool = False  # on the command line, whatever its default is
    again: bool = True  # is it said again in a command that goes on from a run?
    flag: str | None = None  # where it is not called as the parameter is
    read: Callable[[Any], Any] | None = None  # from what the command line gives

    def called(self, name: str) -> str:
        return self.flag or f"--{name.replace('_', '-')}"


def declared(function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, Arg | Opt]]:
    """The parameters of a function that a command may give, with what is declared of them."""
    for parameter in inspect.signature(function).parameters.values():
        for said in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(said, Arg | Opt):
                yield parameter, said


def usual(function: Callable[..., Any]) -> dict[str, Any]:
    """Every option with its default."""
    return {parameter.name: parameter.default for parameter, said in declared(function) if isinstance(said, Opt)}


def said_again(function: Callable[..., Any], values: Mapping[str, Any]) -> list[str]:
    """What a command has to say to make a run again; objects of the user's own have no name that it could say."""
    words: list[str] = []
    for parameter, said in declared(function):
        value = values[parameter.name]
        if not isinstance(said, Opt) or not said.again:
            continue
        if isinstance(value, Mapping):
            pairs = [f"{key}={one}" for key, one in value.items() if isinstance(one, _SAID)]
            words += [word for pair in pairs for word in (said.called(parameter.name), pair)]
        elif isinstance(value, _SAID) and value != parameter.default:
            flag = said.called(parameter.name)
            words += [flag] if value is True else [flag, str(value)]
    return words
