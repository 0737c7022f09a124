"""Many thumbnails on a sheet: each is found where it is said to lie."""

import base64
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from smallloss.data.dataset import Dataset
from smallloss.report.sheets import LONGEST_SIDE, PER_SHEET, embedded, sheets


def pictures(pixels: np.ndarray) -> Dataset:
    return Dataset(pixels, np.arange(len(pixels)) % 2, ("cat", "dog"))


def opened(address: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))


def tile(found: dict[str, Any], place: int) -> Image.Image:
    """As the page's script cuts it out."""
    sheet, at = found["sheets"][place // found["per_sheet"]], place % found["per_sheet"]
    row, column = divmod(at, found["across"])
    width, height = sheet.get("sizes", {at: (sheet["side"],) * 2})[at]
    x, y = column * sheet["side"], row * sheet["side"]
    return opened(sheet["address"]).crop((x, y, x + width, y + height))


def test_each_lies_where_it_is_said_to() -> None:
    pixels = np.repeat(np.arange(200, dtype=np.uint8), 64).reshape(200, 8, 8, 1)
    order = list(np.random.default_rng(0).permutation(200))
    found = sheets(pictures(pixels), order, 10**6)
    assert found["rows"] == order
    assert len(found["sheets"]) == 2
    for place in (0, 17, 127, 128, 199):
        np.testing.assert_array_equal(np.asarray(tile(found, place)), pixels[order[place], ..., 0])


def test_the_whole_of_a_long_picture_is_small() -> None:
    found = sheets(pictures(np.full((3, 200, 100, 3), 200, np.uint8)), [2, 0], 10**6)
    assert tile(found, 1).size == (LONGEST_SIDE // 2, LONGEST_SIDE)
    assert np.asarray(tile(found, 1)).min() > 190


def test_no_more_than_there_is_room_for() -> None:
    noise = pictures(np.random.default_rng(0).integers(0, 256, (400, 12, 12, 3), np.uint8))
    whole = sheets(noise, range(400), 10**7)
    sizes = [len(one["address"]) for one in whole["sheets"]]
    some = sheets(noise, range(400), sum(sizes[:2]) + 5)
    assert some["rows"] == list(range(2 * PER_SHEET))
    assert some["sheets"] == whole["sheets"][:2]
    assert sheets(noise, range(400), 10)["rows"] == []


@pytest.mark.parametrize(
    ("cut", "kind"),
    [
        (np.s_[..., :3], "jpeg"),
        (np.s_[..., 0], "jpeg"),
        (np.s_[:8, :8, :3], "png"),
        (np.s_[...], "png"),  # a JPEG has no transparency
    ],
)
def test_photographs_are_jpegs_and_small_pictures_exact(cut: Any, kind: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (300, 200, 4), np.uint8)
    assert embedded(Image.fromarray(noise[cut])).startswith(f"data:image/{kind}")
