"""Thumbnails of many pictures, joined into sheets: in a page, one file of a hundred is smaller than a hundred files."""

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from smallloss.data.dataset import Dataset

if TYPE_CHECKING:
    from PIL import Image

LONGEST_SIDE = 96
ACROSS, PER_SHEET = 16, 128
_PNG_BYTES = 4096  # beyond, it is a photograph, and a JPEG is several times smaller


def sheets(data: Dataset, rows: Sequence[int], room: int) -> dict[str, Any]:
    """As many of the rows, the first first, as fit into `room` characters. Sheet s has those from s * per_sheet on.

    sizes: width and height of each on its sheet, where they are not all squares of one size.
    """
    made: list[dict[str, Any]] = []
    for tiles in _chunks(data, rows):
        side = max(max(tile.size) for tile in tiles)
        address = embedded(_sheet(tiles, side))
        sheet: dict[str, Any] = {"side": side, "address": address}
        if {tile.size for tile in tiles} != {(side, side)}:
            sheet["sizes"] = [tile.size for tile in tiles]
        room -= len(address)
        if room < 0:
            break
        made.append(sheet)
    fit = min(len(rows), len(made) * PER_SHEET)
    return {"across": ACROSS, "per_sheet": PER_SHEET, "rows": list(rows[:fit]), "sheets": made}


def _chunks(data: Dataset, rows: Sequence[int]) -> Iterator[list["Image.Image"]]:
    for start in range(0, len(rows), PER_SHEET):
        found = (thumbnail(data, row, LONGEST_SIDE) for row in rows[start : start + PER_SHEET])
        yield [tile for tile in found if tile is not None]


def _sheet(tiles: Sequence["Image.Image"], side: int) -> "Image.Image":
    from PIL import Image

    modes = {tile.mode for tile in tiles}
    mode = next((one for one in ("L", "RGB") if modes <= {one, "L"}), "RGBA")
    sheet = Image.new(mode, (ACROSS * side, -(-len(tiles) // ACROSS) * side))
    for place, tile in enumerate(tiles):
        row, column = divmod(place, ACROSS)
        sheet.paste(tile.convert(mode), (column * side, row * side))
    return sheet


def thumbnail(data: Dataset, index: int, longest_side: int) -> "Image.Image | None":
    """An example as a person should see it: the whole picture from its file; where that is gone, the square that the
    network sees; None where inputs are not pictures."""
    from PIL import Image

    from smallloss.data.decode import whole

    if data.pictures is None:
        return None
    if data.sources is not None:
        with suppress(Exception):  # a file may hold anything by now, and a decoder may fail in any way
            return whole(data.sources[index], longest_side)
    pixels = np.asarray(data.pictures[index])
    picture = Image.fromarray(pixels if pixels.shape[-1] in (3, 4) else pixels[..., 0])
    picture.thumbnail((longest_side, longest_side))
    return picture


def embedded(picture: "Image.Image") -> str:
    """A picture inside the page."""
    kind, file = encoded(picture)
    return f"data:{kind};base64,{base64.b64encode(file).decode('ascii')}"


def picture_file(data: Dataset, row: int, longest_side: int) -> tuple[str, bytes] | None:
    """One example as a file of its own; None where inputs are not pictures."""
    found = thumbnail(data, row, longest_side)
    return None if found is None else encoded(found)


def encoded(picture: "Image.Image") -> tuple[str, bytes]:
    """What kind of file, and it: a PNG, exact, where that is small, else a JPEG if it is the smaller of the two."""
    file, photograph = io.BytesIO(), io.BytesIO()
    picture.save(file, format="PNG")  # to optimise it takes five times as long, for a twentieth less
    if file.tell() > _PNG_BYTES and picture.mode != "RGBA":
        picture.save(photograph, format="JPEG", quality=80, optimize=True)
    kind, file = ("jpeg", photograph) if 0 < photograph.tell() < file.tell() else ("png", file)
    return f"image/{kind}", file.getvalue()
