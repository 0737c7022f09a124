"""What can be set, declared once where it lives: a setting in its field, an option of a command in its signature.

Checks, text read as the declared type, help, config.json, and the tables of the docs are all made from that.
"""

import inspect
import operator
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from smallloss.errors import InputError

# --- values: from a command line or from Python, as the type they are declared with -------------------------------

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple: "numbers with commas between",
    NoneType: "none",
}


def whole(value: Any, name: str, *, least: int = 0) -> int:
    """A whole number such as a seed: numpy's and 3.0 are welcome, 1.5 is not."""
    number: int = converted(value, int, name)
    Knob("", least=least).require(number, name)
    return number


def to_numpy(values: Any) -> np.ndarray:
    """An array of whatever was given; a tensor is detached and brought to the host, bfloat16 as float32."""
    if not hasattr(values, "detach"):
        return np.asarray(values)
    tensor = values.detach().cpu()
    if tensor.is_floating_point() and tensor.dtype.itemsize < 4:  # numpy has no bfloat16
        tensor = tensor.float()
    return np.asarray(tensor)


def converted(value: Any, kind: Any, name: str, *, like: Any = None) -> Any:
    """`value` as a setting of the type `kind` keeps it; text is read. `like` is an example to show beside a bad one."""
    kinds = _kinds(kind)
    for one in kinds:
        try:
            return _read(value, one)
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    words = " or ".join(_WORDS.get(one, "a text") for one in kinds)
    example = "" if like is None else f", like {like!r}"
    raise InputError(f"{name} is {reprlib.repr(value)}; it must be {words}{example}")


def _kinds(kind: Any) -> list[Any]:
    """The plain types of a declared one: float and NoneType of float | None."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return [get_origin(one) or one for one in kinds]


def _read(value: Any, kind: Any) -> Any:
    """One kind: any error says that the value is none of it."""
    if kind is bool:
        return {"true": True, "false": False}[str(value).lower()]
    if kind is int:
        return _whole(value)
    if kind is float:
        return _number(value)
    if kind is tuple:
        return tuple(_number(part) for part in (value.split(",") if isinstance(value, str) else value))
    if kind is NoneType:
        return {"none": None}[str(value).lower()]
    if kind in (str, Literal) and not isinstance(value, str):  # which text may stand there is asked by its owner
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if isinstance(value, str):
        return int(value)
    number = _number(value)
    if number != int(number):
        raise ValueError
    return int(number) if isinstance(value, float | np.floating) else operator.index(value)


def _number(value: Any) -> float:
    if isinstance(value, bool | np.bool_) or not isfinite(float(value)):
        raise ValueError
    return float(value)


# --- settings: fields of a dataclass ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Knob:
    """What a setting does, and where its values must lie."""

    help: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    choices: tuple[Any, ...] = ()
    values: str = ""  # which values it takes, for the docs, where its bounds do not say it

    def require(self, value: Any, name: str) -> None:
        if self.choices and value not in self.choices:
            raise InputError(f"{name} is {value!r}; it must be {_or(self.choices)}")
        if not self._holds(value):
            raise InputError(f"{name} is {value}; it must {self._interval('be at least', 'be above', 'lie in')}")

    def _holds(self, value: Any) -> bool:
        """Not a number is nowhere: it fails every bound that there is."""
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    def _interval(self, least: str, above: str, within: str) -> str:
        """Where it must lie: a lower end with the words for that, two ends as [0, 1)."""
        if self.most is None and self.below is None:
            return f"{above} {self.above}" if self.least is None else f"{least} {self.least}"
        begin = f"({self.above}" if self.least is None else f"[{self.least}"
        return f"{within} {begin}, " + (f"{self.below})" if self.most is None else f"{self.most}]")

    def in_words(self, kind: Any) -> str:
        """The values it takes, as the docs say it of a setting of that type."""
        kinds = _kinds(kind)
        if self.values:
            return self.values
        if self.choices:
            return ", ".join(f"`{one}`" for one in self.choices) if kind is not int else _or(self.choices)
        if bool in kinds:
            return "`true`, `false`"
        words = self._interval("from", "above", "in")
        words = f"a whole number {words}" if int in kinds else words
        return f"{words}, or `none`" if NoneType in kinds else words


def knob(default: Any, help: str, **bounds: Any) -> Any:
    """A field of `Knobs`: its default, what it does in one sentence, and the bounds of `Knob`."""
    return field(default=default, metadata={"knob": Knob(help, **bounds)})


@dataclass(frozen=True)
class Knobs:
    """Settings that go together. What is wrong is said with the setting's name first, so that a group can go before."""

    def __post_init__(self) -> None:
        for name, about in self.about().items():
            if (value := getattr(self, name)) is not None:  # which types it takes is asked where it is read
                about.require(value, name)

    @classmethod
    def about(cls) -> dict[str, Knob]:
        """Every setting by name, with what is declared of it."""
        return {item.name: item.metadata["knob"] for item in fields(cls)}

    def changed(self, values: Mapping[str, Any], group: str = "") -> Self:
        """With some of them as others; text is read. `group` stands before their names in what is said."""
        kinds, before = get_type_hints(type(self)), f"{group}." if group else ""
        read = {
            name: converted(value, kinds[name], f"{before}{name}", like=getattr(self, name))
            for name, value in values.items()
        }
        try:  # together: a pad and the crop positions that fit it may only be right as a pair
            return replace(self, **read)
        except InputError as error:
            raise InputError(f"{before}{error}") from None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _or(choices: tuple[Any, ...]) -> str:
    *others, last = map(str, choices)
    return f"{', '.join(others)} or {last}" if others else last


# --- options: parameters of the function that takes them ----------------------------------------------------------

_SAID = (str, int, float, Path)  # what a command line can say


@dataclass(frozen=True)
class Arg:
    """An argument without a name: what its value is, and what it does."""

    value: str
    help: str


@dataclass(frozen=True)
class Opt:
    """An option: what its value is ("" for a switch), what it does, and the heading it stands under in the help."""

    value: str
    help: str
    panel: str | None = None
    kind: Any = None  # on the command line; left out, that of the parameter
    least: float | None = None
    required: bool = False  # on the command line, whatever its default is
    again: bool = True  # is it said again in a command that goes on from a run?
    flag: str | None = None  # where it is not called as the parameter is
    read: Callable[[Any], Any] | None = None  # what the command line gives, for the function

    def called(self, name: str) -> str:
        return self.flag or f"--{name.replace('_', '-')}"


def declared(function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, Arg | Opt]]:
    """The parameters of a function that a command may give, with what is declared of them."""
    for parameter in inspect.signature(function).parameters.values():
        for said in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(said, Arg | Opt):
                yield parameter, said


def said_as(parameter: inspect.Parameter, said: Arg | Opt) -> Any:
    """The type of a parameter on a command line: the most exact that it takes; objects are named there."""
    kinds = _kinds(parameter.annotation.__origin__)
    own = said.kind if isinstance(said, Opt) else None
    return own or next((kind for kind in (Path, bool, int, float) if kind in kinds), str)


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


def several(text: str | None) -> list[str]:
    """What was said as NAME,NAME: each once."""
    return list(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))


def pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """What was said as NAME=VALUE."""
    found = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"--set {text} is not a setting; write it as stage1.lr=0.05")
        found[name] = value
    return found
