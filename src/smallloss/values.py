"""Values of settings and options, from a command line or from Python, as the type they are declared with."""

import operator
import reprlib
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from smallloss.errors import InputError

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
    if number < least:
        raise InputError(f"{name} is {number}; it must be at least {least}")
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
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    plain = [get_origin(one) or one for one in kinds]
    for one in plain:
        try:
            return _read(value, one)
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    words = " or ".join(_WORDS.get(one, "a text") for one in plain)
    example = "" if like is None else f", like {like!r}"
    raise InputError(f"{name} is {reprlib.repr(value)}; it must be {words}{example}")


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
