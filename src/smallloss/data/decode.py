"""One picture of any size and mode becomes a square of bytes. Also a program: the helper of `pictures`.

It needs Pillow alone, so that a helper process is at work in the time that Pillow takes to load.
"""

import io
import json
import os
import stat
import sys
import warnings
from contextlib import suppress

from PIL import Image, ImageOps, UnidentifiedImageError

Source = str | bytes  # the path of a file, or what it holds

_COMMON = ("PNG", "JPEG", "BMP", "GIF", "PPM")  # what Pillow loads first
_OTHERS = ("WEBP", "TIFF", "AVIF", "JPEG2000", "ICO", "TGA", "PCX")  # no format that starts another program (EPS)
ENDINGS = {".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
ENDINGS |= {".pbm", ".pnm", ".avif", ".jp2", ".ico", ".tga", ".pcx"}
ENDINGS |= {".heic", ".heif", ".jxl"}  # photos too, though Pillow does not read them: to be named, not passed over
_GRAY = {"1", "L", "LA", "La", "I", "F"}
_TWELVE_BITS = 4095
_LONGEST = 1 << 30


def is_picture(path: str) -> bool:
    """By its ending; plain text, for a Path takes as long to make as a small picture to open."""
    return "." + path.rpartition(".")[2].lower() in ENDINGS


def shape_of(source: Source) -> tuple[int, int, bool]:
    """(width, height, is it gray?), from the head of the file."""
    with _open(source) as image:
        return *image.size, _is_gray(image)


def decode(source: Source, size: int, *, gray: bool) -> bytes:
    """The pixels as L or RGB, resized until the shorter side is `size` and cut to the centre: both in one step."""
    picture = _upright(source, size, gray)
    if picture.size != (size, size):
        width, height = picture.size
        side = min(width, height)
        left, top = (width - side) / 2, (height - side) / 2
        box = (left, top, left + side, top + side)
        picture = picture.resize((size, size), Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)
    return picture.tobytes()


def whole(source: Source, longest: int) -> Image.Image:
    """All of a picture as a person sees it: upright, gray or in colour as it is, no side longer than `longest`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        picture = _upright(source, longest)
    picture.thumbnail((longest, longest))
    return picture


def decode_all(sources: list[Source], size: int, *, gray: bool) -> tuple[bytes, dict[int, str]]:
    """The pixels one after another, zeros where there are none; and the reason for that, by position."""
    pixels, reasons, blank = [], {}, bytes(size * size * (1 if gray else 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd metadata; a picture too large is refused, not warned about
        for position, source in enumerate(sources):
            try:
                pixels.append(decode(source, size, gray=gray))
            except Exception as error:  # a file may hold anything, and a decoder may fail in any way
                pixels.append(blank)
                reasons[position] = reason_of(error)
    return b"".join(pixels), reasons


def reason_of(error: Exception) -> str:
    """Why a picture cannot be read, without its path."""
    if isinstance(error, UnidentifiedImageError):
        return "not a picture in a known format"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _open(source: Source) -> Image.Image:
    file = io.BytesIO(_content(source) if isinstance(source, str) else source)
    try:
        image = Image.open(file, formats=_COMMON)
    except UnidentifiedImageError:
        Image.init()
        image = Image.open(file, formats=[name for name in _OTHERS if name in Image.OPEN])
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and image.width * image.height > limit:
        image.close()
        raise ValueError(f"{image.width} x {image.height} pixels are more than Pillow's limit of {limit:,}")
    return image


def _content(path: str) -> bytes:
    """The whole file in one read: of a small picture, Pillow's own reads take as long as the decoding."""
    at_once = getattr(os, "O_NONBLOCK", 0)  # a pipe would be waited for
    with io.FileIO(path, opener=lambda name, flags: os.open(name, flags | at_once)) as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("not a regular file")  # a device has no end
        if facts.st_size > _LONGEST:
            raise ValueError(f"a file of {facts.st_size:,} bytes, more than {_LONGEST:,}")
        return file.readall()


def _upright(source: Source, size: int, gray: bool | None = None) -> Image.Image:
    """The picture as L or RGB (`gray` None: as it is), not much larger than `size` needs."""
    with _open(source) as image:
        is_gray = _is_gray(image) if gray is None else gray
        image.draft(None, (2 * size, 2 * size))  # a large JPEG is decoded at a fraction of its size
        image.load()
        with suppress(Exception):  # the pixels are well: broken metadata is no reason to lose the picture
            ImageOps.exif_transpose(image, in_place=True)
        return _to_mode(image, "L" if is_gray else "RGB")


def _is_gray(image: Image.Image) -> bool:
    return image.mode in _GRAY or image.mode.startswith("I;16")


def _to_mode(image: Image.Image, mode: str) -> Image.Image:
    picture: Image.Image = image
    if picture.mode in ("I", "F") or picture.mode.startswith("I;16"):
        picture = _to_8_bits(picture)
    elif picture.mode == "PA" or picture.mode.endswith(("A", "a")) or "transparency" in picture.info:
        # What is transparent is white, as a page shows it; the colour stored beneath it is arbitrary.
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture)
    return picture if picture.mode == mode else picture.convert(mode)


def _to_8_bits(picture: Image.Image) -> Image.Image:
    """Gray values of a 16-bit file in 0..65535, or in the 0..4095 of a scanner; a deeper file's in 0..1 or 0..255 too.

    Without the second, twelve bits of a scan would be seventeen shades of black.
    """
    import numpy as np

    values = np.asarray(picture).astype(np.float64)
    low, high = float(values.min()), float(values.max())
    if not 0 <= low <= high <= 65535:
        raise ValueError(f"its gray values run from {low:g} to {high:g}, outside 0..65535")
    if picture.mode == "F" and high <= 1:
        scale = 255.0
    elif picture.mode.startswith("I;16") or high > 255:
        scale = 255 / (_TWELVE_BITS if high <= _TWELVE_BITS else 65535)
    else:
        scale = 1.0
    return Image.fromarray(np.rint(values * scale).astype(np.uint8))


def serve() -> None:
    """Answer each line of JSON with a line of JSON and the pixels, until there are no more."""
    for line in sys.stdin.buffer:
        question, Image.MAX_IMAGE_PIXELS = json.loads(line)
        pixels, reasons = decode_all(**question)
        sys.stdout.buffer.write(json.dumps(reasons).encode() + b"\n" + pixels)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
