"""Read the official CIFAR pickles without trusting them: arrays, bytes and plain containers, nothing else."""

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from smallloss.errors import InputError


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """How Python 3 writes bytes into an old pickle; other codecs could unpack or transform."""
    if encoding != "latin1":
        raise InputError(f"the codec {encoding!r} is not allowed")
    return text.encode("latin1")


def _dtype(spec: str | bytes, *flags: Any) -> np.dtype[Any]:
    dtype = np.dtype(spec if isinstance(spec, str) else spec.decode("ascii"))
    if dtype.kind not in "biufSU":
        raise InputError(f"arrays of type {dtype} are not allowed")
    return np.dtype(dtype, copy=True)  # pickle sets the byte order on it, so it may not be a shared one


# numpy names these functions differently from version to version; its own pickles tell which they are.
_RECONSTRUCT: Any = np.zeros(0).__reduce__()[0]
_SCALAR: Any = np.float64(0).__reduce__()[0]
_FROMBUFFER: Any = np.zeros(1).__reduce_ex__(5)[0]

_ALLOWED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("_codecs", "encode"): _encode,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _RECONSTRUCT for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _SCALAR for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _FROMBUFFER for core in ("core", "_core")},
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise InputError(f"it asks for {module}.{name}, which is neither an array nor a plain container")
        return _ALLOWED[module, name]


def read_pickle(data: bytes, source: str) -> Any:
    """The object pickled in `data`; text of Python 2 comes back as bytes. `source` names it in errors."""
    try:
        return _PlainUnpickler(io.BytesIO(data), encoding="bytes").load()
    except InputError as error:
        raise InputError(f"{source} is refused: {error}.") from None
    except Exception as error:  # a broken pickle may raise anything at all
        raise InputError(f"{source} is not a whole pickle of arrays (is it cut short?): {error}") from error
