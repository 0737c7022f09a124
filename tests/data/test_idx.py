import gzip
import struct

import numpy as np
import pytest

from smallloss.criterion.transition import DIGITS_MAP
from smallloss.data import load
from smallloss.errors import InputError

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 5, 4), dtype=np.uint8)
LABELS = np.array([0, 1, 2, 0, 1, 2], dtype=np.uint8)


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_set(folder, part="train", packed=False, n=6):
    for stem, array in ((f"{part}-images-idx3-ubyte", IMAGES[:n]), (f"{part}-labels-idx1-ubyte", LABELS[:n])):
        data = idx(array)
        name = f"{stem}.gz" if packed else stem
        (folder / name).write_bytes(gzip.compress(data) if packed else data)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("prefix", ["", "idx:"])
def test_train_and_official_test(tmp_path, packed, prefix):
    write_set(tmp_path, packed=packed)
    write_set(tmp_path, "t10k", packed=packed, n=2)
    data = load(f"{prefix}{tmp_path}")
    assert (data.inputs == IMAGES[..., None]).all()
    assert data.inputs.flags.writeable
    assert data.labels.tolist() == LABELS.tolist()
    assert data.true_labels.tolist() == LABELS.tolist()
    assert data.classes == ("0", "1", "2")
    assert not data.flip
    assert (data.test.inputs == IMAGES[:2, ..., None]).all()
    assert data.test.labels.tolist() == [0, 1]


def test_without_the_official_test_set_the_truth_is_not_known_and_labels_must_be_there(tmp_path):
    write_set(tmp_path)
    assert load(tmp_path).true_labels is None
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(InputError, match=r"no file train-labels-idx1-ubyte or train-labels-idx1-ubyte\.gz"):
        load(tmp_path)


@pytest.mark.parametrize(
    "damage, sentence",
    [
        (lambda data: data[:-7], "cut short: expected 136 bytes .* found 129"),
        (lambda data: data + b"x", "too long: expected 136 bytes .* found 137"),
        (lambda data: data[:9], "header alone takes 16 bytes, found 9"),
        (lambda data: b"\x00\x00\x0d\x03" + data[4:], "expected 00000803, found 00000d03"),
        (lambda data: idx(IMAGES[:5]), "holds 5 train pictures but 6 labels"),
    ],
)
def test_damaged_files(tmp_path, damage, sentence):
    write_set(tmp_path)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=sentence):
        load(tmp_path)


@pytest.mark.parametrize("damage", [lambda data: data[:-12], lambda data: b"not gzip at all"])
def test_damaged_gzip(tmp_path, damage):
    write_set(tmp_path, packed=True)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match="not a whole gzip file"):
        load(tmp_path)


def test_digits():
    data = load("digits")
    assert (data.inputs.shape, data.in_shape, data.flip) == ((1797, 8, 8, 1), (1, 8, 8), False)
    assert (data.inputs.min(), data.inputs.max()) == (0, 255)
    assert (data.classes, data.class_map) == (tuple("0123456789"), tuple(DIGITS_MAP))
    assert np.bincount(data.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (data.true_labels == data.labels).all()
    assert data.fingerprint() == "76c8a77ae9c8261be80d4d30b3b8137347e75e3decd7b1789bbd689b7a1eb0e2"
