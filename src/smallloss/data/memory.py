"""Data in memory: frames, columns, lists, arrays, datasets of torch and of Hugging Face, told by what they can do.

None of the packages that they come from is imported: frames of every kind give Arrow their columns. Each ends in one of
three forms, as files do: arrays, a listing of pictures, or a table.
"""

import io
from collections.abc import Mapping
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import pyarrow as pa
from PIL import Image

from smallloss.data.arrays import from_arrays, from_named
from smallloss.data.columns import Table, as_given
from smallloss.data.dataset import Dataset, require_unique
from smallloss.data.decode import Source, is_picture
from smallloss.data.hugging_face import from_hugging_face
from smallloss.data.pictures import Listing, picture_dataset
from smallloss.data.table import table_dataset
from smallloss.data.table_files import plain_table
from smallloss.errors import InputError
from smallloss.knobs import to_numpy

_DOORS = (
    "a path or name, a pair (X, y), a DataFrame, a dict of columns, a torch dataset of (x, y), a Hugging Face dataset "
    "or a Dataset"
)
_FRAMES = {"pandas": "to_pandas", "polars": "from_arrow", "pyarrow": "table"}
_IN_TIFF = ("I", "F", "CMYK", "YCbCr", "LAB", "PA")  # the modes of Pillow that a PNG cannot hold
_IN_NO_FILE = {"HSV": "RGB", "RGBa": "RGBA", "La": "LA", "RGBX": "RGB"}


def from_memory(data: Any, label: str | None = None) -> Dataset:
    """`label` names the column of labels, where there are columns."""
    name = type(data).__name__
    if _is_hugging_face(data):
        return from_hugging_face(data, name, label)
    if is_frame(data) or (isinstance(data, Mapping) and not any(getattr(one, "ndim", 1) > 1 for one in data.values())):
        return _of_columns(_columns(data), name, label)
    if label is not None:
        raise InputError(f"label={label!r} names a column; a {name} without columns brings its labels itself.")
    if isinstance(data, Dataset):
        return data
    if isinstance(data, Mapping):
        return from_named({str(key): to_numpy(one) for key, one in data.items()}, name, name)
    if isinstance(data, tuple | list) and len(data) == 2:
        return _of_pair(*data)
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "shape"):
        return _of_items(data, name)
    first = ""
    if hasattr(data, "collect") or hasattr(data, "compute"):
        first = " call .collect() or .compute() first, for"
    elif hasattr(data, "dataset"):
        first = " give its .dataset, for"
    raise InputError(f"data is a {name};{first} it must be {_DOORS}.")


# --- columns --------------------------------------------------------------------------------------------------------


def is_frame(data: Any) -> bool:
    """Of pandas, polars, Arrow, and whatever else gives Arrow its columns."""
    return (hasattr(data, "__arrow_c_stream__") or hasattr(data, "iloc")) and hasattr(data, "columns")


def table_of(data: Any, *, texts: bool) -> Table | None:
    """New rows as a table, also those of a list of `texts`; None of what is neither."""
    name = type(data).__name__
    if is_frame(data) or isinstance(data, Mapping):
        return _table(_columns(data), name)
    return _table([("text", data)], name) if texts and isinstance(_first(data), str) else None


def frame_of(data: Any) -> str | None:
    """The package whose frames `as_frame` makes again, where data is one of them."""
    packages = [one.__module__.partition(".")[0] for one in type(data).__mro__]
    return next((name for name in packages if name in _FRAMES), None) if is_frame(data) else None


def as_frame(columns: Mapping[str, Any], package: str | None) -> Any:
    """Columns as a frame of that package; as they are, where it is none or not installed."""
    if package not in _FRAMES:
        return dict(columns)
    try:
        module = import_module(package)
    except ImportError:
        return dict(columns)
    table = pa.table({name: _column(cells, name) for name, cells in columns.items()})
    if package == "pandas":  # whose plain integers turn into floats at the first gap
        return table.to_pandas(types_mapper={pa.int64(): module.Int64Dtype()}.get)
    return module.from_arrow(table) if package == "polars" else table


def _of_columns(columns: list[tuple[str, Any]], where: str, label: str | None = None) -> Dataset:
    return table_dataset(_table(columns, where, label), where)


def _table(columns: list[tuple[str, Any]], where: str, label: str | None = None) -> Table:
    lengths = {name: len(column) for name, column in columns}
    if len(set(lengths.values())) > 1:
        raise InputError(f"The columns of {where} are not as long as each other: {lengths}.")
    arrow = pa.Table.from_arrays([_column(cells, name) for name, cells in columns], [name for name, _ in columns])
    return Table(plain_table(arrow, where), where, label)


def _columns(data: Any) -> list[tuple[str, Any]]:
    """Each with its name, which need be no text and may come twice; an index that has a name is one of them."""
    if hasattr(data, "iloc"):
        index = [(name, data.index.get_level_values(name)) for name in data.index.names if name is not None]
        named = index + [(name, data.iloc[:, place]) for place, name in enumerate(data.columns)]
    elif isinstance(data, Mapping):
        named = list(data.items())
    else:
        table = pa.table(data)
        named = list(zip(table.column_names, table.columns, strict=True))
    return [(str(name).strip(), column) for name, column in named]


def _column(cells: Any, name: str) -> Any:
    """For Arrow, NaN as missing. Cells of several kinds become text, as in a csv; pictures the bytes of a file."""
    cells = to_numpy(cells) if hasattr(cells, "detach") else cells
    if isinstance(cells, pa.ChunkedArray | pa.Array):
        return cells
    if isinstance(_first(cells), Image.Image):
        return pa.array([None if _is_missing(one) else {"bytes": _as_file(one), "path": None} for one in cells])
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if _is_missing(cell) else str(cell) for cell in cells], pa.string())


def _first(cells: Any) -> Any:
    """The first that is not missing."""
    return next((cell for cell in cells if not _is_missing(cell)), None) if hasattr(cells, "__iter__") else None


def _is_missing(cell: Any) -> bool:
    """None, NaN, and what pandas has for them."""
    if cell is None or isinstance(cell, str | bytes | Image.Image):
        return cell is None
    try:
        return bool(cell != cell)
    except TypeError:  # pandas' NA says neither yes nor no
        return True
    except (ValueError, RuntimeError):  # an array is many
        return False


# --- inputs and labels ----------------------------------------------------------------------------------------------


def _of_pair(inputs: Any, labels: Any, name: str = "") -> Dataset:
    """A label for each row of a frame, text, picture (its file, or as Pillow has it) or array."""
    first = _first(inputs)
    if is_frame(inputs) or isinstance(inputs, Mapping):
        columns, where = _columns(inputs), type(inputs).__name__
        if any(called == "label" for called, _ in columns):
            raise InputError(f"{where} has a column 'label', and labels are given beside it; keep one of the two.")
        return _of_columns([*columns, ("label", labels)], where)
    if isinstance(first, str) and not all(isinstance(one, str) and is_picture(one) for one in inputs):
        return _of_columns([("text", inputs), ("label", labels)], name or "texts")
    if isinstance(first, str | bytes | Path | Image.Image):
        return _of_pictures(list(inputs), labels, name or "pictures")
    return from_arrays(inputs, labels, name=name or "arrays")


def _of_pictures(pictures: list[Any], labels: Any, name: str) -> Dataset:
    """Paths are their ids; where there are others too, the numbers of the rows."""
    for at, one in enumerate(pictures):
        if not isinstance(one, str | bytes | Path | Image.Image):
            raise InputError(
                f"The picture at index {at} is a {type(one).__name__}; give its path, or Pillow's picture."
            )
    given = as_given(to_numpy(labels))
    if len(given) != len(pictures):
        raise InputError(f"There are {len(pictures):,} pictures but {len(given):,} labels; give one each.")
    sources: list[Source] = [_as_file(one) if isinstance(one, Image.Image) else one for one in pictures]
    sources = [str(one.expanduser()) if isinstance(one, Path) else one for one in sources]
    in_files = all(isinstance(one, str) for one in sources)
    ids = list(map(str, sources if in_files else range(len(sources))))
    require_unique(ids, f"{name} (one picture under two labels needs a dict of columns with an id)")
    return picture_dataset(name, Listing(sources, ids, given.tolist()))


def _as_file(picture: Image.Image) -> bytes:
    """What a file of it would hold, for there is one reader of pictures; nothing, where it has none to give."""
    held = io.BytesIO()
    try:
        plain = picture.convert(_IN_NO_FILE[picture.mode]) if picture.mode in _IN_NO_FILE else picture
        plain.save(held, "TIFF" if plain.mode in _IN_TIFF else "PNG", exif=picture.getexif(), compress_level=1)
    except (OSError, ValueError):  # opened from a broken file, which Pillow reads when it must
        return b""
    return held.getvalue()


def _of_items(data: Any, name: str) -> Dataset:
    """A map-style dataset: data[i] is (x, y). Classes are called as its `classes` says, where it does."""
    inputs, labels = [], []
    for at in range(len(data)):
        try:
            item = data[at]
        except Exception as error:  # whatever somebody's own code raises
            raise InputError(f"Example {at} of the {name} cannot be read: {error}") from error
        if not isinstance(item, tuple | list) or len(item) < 2:
            raise InputError(f"data is a {name}, and its item {at} is a {type(item).__name__}; it must be {_DOORS}.")
        x, label = item[:2]
        if isinstance(label, list | tuple | Mapping) or prod(getattr(label, "shape", ())) != 1:
            raise InputError(f"Example {at} of the {name} has {type(label).__name__} for its label, not one class.")
        inputs.append(to_numpy(x) if hasattr(x, "detach") else x)
        labels.append(label.item() if hasattr(label, "item") else label)
    classes = getattr(data, "classes", None)
    if isinstance(classes, list | tuple) and {*labels} <= {*range(len(classes))}:
        labels = [classes[k] for k in labels]
    return _of_pair(inputs, labels, name)


def _is_hugging_face(data: Any) -> bool:
    """A dataset, or a dict of its splits; one that only streams has no length."""
    parts = list(data.values()) if isinstance(data, Mapping) else [data]
    return bool(parts) and all(
        all(hasattr(one, name) for name in ("features", "with_format", "__len__")) for one in parts
    )
