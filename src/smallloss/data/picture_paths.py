"""Paths of pictures: which files are any, and how ids and tables spell them."""

import os
import re
from pathlib import Path

ENDINGS = {".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
ENDINGS |= {".pbm", ".pnm", ".avif", ".jp2", ".ico", ".tga", ".pcx"}
ENDINGS |= {".heic", ".heif", ".jxl"}  # photos too, though Pillow does not read them: to be named, not passed over
_UP = 2  # folders that a relative path may climb; what lies further away is not likely to move along


def is_picture(path: str) -> bool:
    """By its ending; plain text, for a Path takes as long to make as a small picture to open."""
    return "." + path.rpartition(".")[2].lower() in ENDINGS


def printable(name: str) -> str:
    """A name as it is; bytes that are no UTF-8, which no table could hold, as \\x escapes."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")


def file_of(root: Path, name: str) -> Path:
    """The file below `root` that a `printable` name stands for."""
    if "\\" not in name or (root / name).exists():
        return root / name
    if (root / name.replace("\\", "/")).exists():  # written on Windows
        return root / name.replace("\\", "/")
    escaped = re.sub(rb"\\x([89a-f][0-9a-f])", lambda byte: bytes.fromhex(byte[1].decode()), name.encode())
    return root / os.fsdecode(escaped)


def seen_from(folder: Path, file: Path) -> str:
    """The path of a file as a table in `folder` has it: relative where the two are close, else absolute."""
    near = os.path.relpath(file, folder)
    climbs = Path(near).parts.count("..")
    close = climbs <= _UP and climbs < len(folder.parts) - 1  # the root of all is close to nothing
    return printable(near if close and _is_same(folder / near, file) else str(file))


def _is_same(one: Path, other: Path) -> bool:
    """Past a link to a folder, the way up and the way down need not be one."""
    try:
        return one.samefile(other)
    except OSError:
        return False
