import io
import os
import struct
import zlib
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image

from smallloss.data import decode as decoder
from smallloss.data import pictures as module
from smallloss.data.decode import decode
from smallloss.data.pictures import Target, choose_target, read_pictures
from smallloss.errors import InputError

RGB = Target(32, gray=False)


def encoded(image, kind="PNG", **options):
    file = io.BytesIO()
    image.save(file, format=kind, **options)
    return file.getvalue()


def plain(colour, size=(32, 32), mode="RGB"):
    return Image.new(mode, size, colour)


def pixels(content, size=32):
    return np.frombuffer(decode(content, size, gray=False), np.uint8).reshape(size, size, 3)


def bomb():
    """A few bytes that claim 400 million pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 20_000, 20_000, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


def filled(value, kind):
    return Image.fromarray(np.full((32, 32), value, kind))


@pytest.mark.parametrize(
    "image, kind, expected, is_gray",
    [
        (plain((10, 20, 30)), "PNG", (10, 20, 30), False),
        (plain(77, mode="L"), "PNG", (77, 77, 77), True),
        (plain(1, mode="1"), "PNG", (255, 255, 255), True),
        (plain((0, 200, 0)).convert("P", palette=Image.Palette.ADAPTIVE), "GIF", (0, 200, 0), False),
        (plain((60, 128), mode="LA"), "PNG", (157, 157, 157), True),
        (plain((255, 255, 0, 0), mode="CMYK"), "TIFF", (0, 0, 255), False),
        (plain((255, 0, 0, 0), mode="RGBA"), "PNG", (255, 255, 255), False),
        (filled(65535, np.uint16), "PNG", (255, 255, 255), True),
        (filled(257 * 100, np.uint16), "PNG", (100, 100, 100), True),
        (filled(4095, np.uint16), "PNG", (255, 255, 255), True),
        (filled(0.5, np.float32), "TIFF", (128, 128, 128), True),
        (filled(200, np.int32), "TIFF", (200, 200, 200), True),
    ],
    ids=range(12),
)
def test_every_mode_becomes_rgb(image, kind, expected, is_gray):
    content = encoded(image, kind)
    assert decoder.shape_of(content) == (32, 32, is_gray)
    got = pixels(content)
    assert np.abs(got.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_is_turned_as_its_camera_says(orientation):
    upright = np.zeros((32, 32, 3), np.uint8)
    upright[:16, :16] = (255, 0, 0)
    upright[:16, 16:] = (0, 255, 0)
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Image.Transpose that stores the picture as the camera does
    image = Image.fromarray(upright)
    stored = image if orientation == 1 else image.transpose(Image.Transpose(undo[orientation]))
    exif = Image.Exif()
    exif[0x0112] = orientation
    got = pixels(encoded(stored, exif=exif))
    np.testing.assert_array_equal(got, upright)


def test_broken_exif_does_not_lose_the_picture():
    got = pixels(encoded(plain((1, 2, 3)), exif=b"Exif\0\0II*\0\xff\xff\xff\xff"))
    assert got[0, 0].tolist() == [1, 2, 3]


def test_resized_by_the_shorter_side_and_cut_at_the_centre():
    wide = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 192, 3), dtype=np.uint8))
    expected = np.asarray(wide.resize((96, 32), Image.Resampling.BICUBIC).crop((32, 0, 64, 32)))
    got = pixels(encoded(wide))
    assert np.abs(got.astype(int) - expected).max() <= 1
    tall = pixels(encoded(wide.transpose(Image.Transpose.TRANSPOSE)))
    assert np.abs(tall.astype(int) - expected.transpose(1, 0, 2)).max() <= 1


def test_a_large_jpeg_ends_as_its_average():
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    large = Image.fromarray(coarse).resize((1024, 1024), Image.Resampling.NEAREST)
    got = pixels(encoded(large, "JPEG", quality=95))
    centres = got[2::4, 2::4].astype(int)
    assert np.abs(centres - coarse).mean() < 6


def test_what_cannot_be_read_is_listed_and_the_others_move_up(tmp_path):
    good = [encoded(plain((k, k, k + 1))) for k in range(5)]
    os.mkfifo(tmp_path / "pipe.png")
    cut_short = encoded(Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)))[:600]
    with (tmp_path / "endless.png").open("wb") as file:
        file.truncate(1 << 40)
    names = [str(tmp_path / name) for name in ("nowhere.png", "pipe.png", "endless.png", ".", "nul\0.png")]
    sources = [good[0], b"", b"not a picture", cut_short, good[1], bomb(), *names, good[2], good[3], good[4]]
    got = read_pictures(sources, RGB)
    assert got.readable.tolist() == [0, 4, 11, 12, 13]
    assert got.inputs[:, 0, 0].tolist() == [[k, k, k + 1] for k in range(5)]
    assert list(got.unreadable) == [1, 2, 3, 5, 6, 7, 8, 9, 10]
    assert got.unreadable[1] == got.unreadable[2] == "not a picture in a known format"
    assert "truncated" in got.unreadable[3]
    assert "limit" in got.unreadable[5]
    assert got.unreadable[6] == "No such file or directory"
    assert got.unreadable[7] == "not a regular file"
    assert "1,099,511,627,776 bytes" in got.unreadable[8]
    assert got.unreadable[9] == "Is a directory"
    assert "null byte" in got.unreadable[10]


@pytest.mark.parametrize(
    "sides, size",
    [([8, 8, 8], 32), ([28, 28], 32), ([50, 500, 45], 48), ([52, 52], 56), ([500], 96), ([40, 40, 2000], 40)],
)
def test_the_input_size_comes_from_the_shorter_sides(sides, size):
    sources = [encoded(plain(9, (side, side + 7), "L")) for side in sides]
    target, said = choose_target([b"broken", *sources])
    assert target == Target(size, gray=True)
    assert f"{size} x {size}" in said
    assert f"of {len(sides)} pictures looked at is {np.median(sides):g}" in said


def test_one_picture_with_colours_makes_all_of_them_rgb():
    gray, red = encoded(plain(50, mode="L")), encoded(plain((200, 0, 0)))
    target, _ = choose_target([gray] * 100 + [red])
    assert target == RGB
    assert read_pictures([gray, red], target).inputs[:, 0, 0].tolist() == [[50, 50, 50], [200, 0, 0]]
    assert read_pictures([gray, red], Target(32, gray=True)).inputs[:, 0, 0].tolist() == [[50], [60]]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "smallloss" / "pictures"


def two_helpers(monkeypatch, chunk=8):
    monkeypatch.setattr(module, "_CHUNK", chunk)
    monkeypatch.setattr(module, "_helper_count", lambda sources: 2)


def files(folder, n):
    """The eighth is broken, and the tenth has a name that no line of a protocol may take for its end."""
    paths = [folder / (f"{k}.png" if k != 9 else 'new\nline "\u202e=cmd().png') for k in range(n)]
    for k, path in enumerate(paths):
        pixels = np.random.default_rng(k).integers(0, 256, (32, 32, 3), np.uint8)
        path.write_bytes(b"broken" if k % 50 == 7 else encoded(Image.fromarray(pixels)))
    return list(map(str, paths))


def interrupted(*arguments, **options):
    raise KeyboardInterrupt


def test_helpers_give_what_one_process_gives(tmp_path, monkeypatch):
    """Pillow's limit of pixels too is as the user set it."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2000)
    paths = files(tmp_path, 120)
    for k in range(64, 120, 8):
        (tmp_path / f"{k}.png").write_bytes(encoded(plain("red", (50, 50))))
    alone = read_pictures(paths, RGB)
    two_helpers(monkeypatch)
    together = read_pictures(paths, RGB)
    np.testing.assert_array_equal(alone.inputs, together.inputs)
    large = dict.fromkeys(range(64, 120, 8), "50 x 50 pixels are more than Pillow's limit of 2,000")
    bad = dict.fromkeys((7, 57, 107), "not a picture in a known format")
    assert alone.unreadable == together.unreadable == large | bad


@pytest.mark.parametrize("program", ["raise SystemExit", "import time; print(1, flush=True)"])
def test_a_helper_that_ends_loses_nothing(tmp_path, monkeypatch, program):
    (tmp_path / "helper.py").write_text(program)
    monkeypatch.setattr(decoder, "__file__", str(tmp_path / "helper.py"))
    two_helpers(monkeypatch)
    got = read_pictures(files(tmp_path, 60), RGB)
    assert len(got.readable) == 58


def test_an_interruption_ends_the_helpers_work(tmp_path, monkeypatch):
    two_helpers(monkeypatch, chunk=1)
    asked, real = [], module._helper

    @contextmanager
    def helper(target):
        with real(target) as answer:
            yield lambda chunk: asked.append(chunk) or answer(chunk)

    monkeypatch.setattr(module, "_helper", helper)
    monkeypatch.setattr(decoder, "decode_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_pictures(["a.png"] * 5000, RGB)
    assert len(asked) < 4000


def test_more_than_the_budget_is_mapped_and_found_again(tmp_path, cache, monkeypatch):
    paths = files(tmp_path, 20)
    expected = read_pictures(paths, RGB)
    monkeypatch.setattr(module, "MEMORY_BUDGET", 1000)
    mapped = read_pictures(paths, RGB)
    assert isinstance(mapped.inputs, np.memmap)
    assert not isinstance(expected.inputs, np.memmap)
    np.testing.assert_array_equal(mapped.inputs, expected.inputs)
    assert sorted(path.suffix for path in cache.iterdir()) == [".json", ".npy"]
    with monkeypatch.context() as patch:
        patch.setattr(decoder, "decode", None)  # whoever decodes again fails
        again = read_pictures(paths, RGB)
    np.testing.assert_array_equal(again.inputs, expected.inputs)
    assert again.unreadable == expected.unreadable
    (tmp_path / "7.png").write_bytes(encoded(plain("red")))
    changed = read_pictures(paths, RGB)
    assert len(changed.inputs) == 20


def test_nothing_half_written_is_left_in_the_cache(tmp_path, cache, monkeypatch):
    paths = files(tmp_path, 3)
    monkeypatch.setattr(module, "MEMORY_BUDGET", 0)
    monkeypatch.setattr(decoder, "decode_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_pictures(paths, RGB)
    assert list(cache.iterdir()) == []


def test_a_disk_too_small_is_said_before_it_is_full(cache):
    shape_of_a_peta_byte = Target(2**20, gray=False)
    with pytest.raises(InputError, match=r"take [\d.]+ GiB, and .* GiB left; make room"):
        read_pictures(["a.png"] * 1000, shape_of_a_peta_byte)
