"""Tiny sources of data: pictures as files, tables as csv and parquet."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from PIL import Image
from pyarrow import parquet


def draw(path: Path, colour: Any = (10, 20, 30), size: tuple[int, int] = (32, 32)) -> None:
    """A picture of one colour, gray where that is a number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L" if isinstance(colour, int) else "RGB", size, colour).save(path)


def csv(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def table(path: Path, **columns: Any) -> Path:
    parquet.write_table(pa.table(columns), path)
    return path
