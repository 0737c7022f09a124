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
KINDS = PNG, JPEG = "image/png", "image/jpeg"
_PNG_BYTES = 4096  # beyond, it is a photograph, and a JPEG is several times smaller


def sheets(data: Dataset, rows: Sequence[int], room: int) -> dict[str, Any]:
    """As many of the rows, the first first, as fit into `room` characters. Sheet s has those from s * per_sheet on.

    sizes: width and height of each on its sheet, where they are not all squares of one size.
    """
    made: list[dict[str, Any]] = []
    kinds: Sequence[str] = KINDS
    for tiles in _chunks(data, rows):
        side = max(max(tile.size) for tile in tiles)
        kind, file = encoded(_sheet(tiles, side), kinds)
        kinds = (kind,)  # pictures of one set are alike, and to write each as a PNG is most of the time
        address = _address(kind, file)
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
    return _address(*encoded(picture))


def _address(kind: str, file: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(file).decode('ascii')}"


def picture_file(data: Dataset, row: int, longest_side: int) -> tuple[str, bytes] | None:
    """One example as a file of its own; None where inputs are not pictures."""
    found = thumbnail(data, row, longest_side)
    return None if found is None else encoded(found)


def encoded(picture: "Image.Image", kinds: Sequence[str] = KINDS) -> tuple[str, bytes]:
    """What kind of file, and it: a PNG, exact, where that is small, else a JPEG if it is the smaller of the two. What
    lets something through is a PNG, whatever kinds are asked for."""
    if picture.mode == "RGBA" or JPEG not in kinds:
        return PNG, _file(picture, PNG)
    photograph = (JPEG, _file(picture, JPEG))
    if PNG not in kinds:
        return photograph
    exact = (PNG, _file(picture, PNG))
    return exact if len(exact[1]) <= max(_PNG_BYTES, len(photograph[1])) else photograph


def _file(picture: "Image.Image", kind: str) -> bytes:
    file = io.BytesIO()
    if kind == PNG:
        picture.save(file, format="PNG")  # to optimise it takes five times as long, for a twentieth less
    else:
        picture.save(file, format="JPEG", quality=80, optimize=True)
    return file.getvalue()
