import io
import pickle
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch

from smallloss.criterion.transition import CIFAR10_MAP
from smallloss.data import cifar, load
from smallloss.data.cifar import human_labels
from smallloss.data.dataset import Dataset
from smallloss.errors import InputError

NAMES10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
NAMES100 = [f"fine_{i:02d}" for i in range(100)]
RNG = np.random.default_rng(0)
N = 4  # pictures per batch, where the real one has 10,000
PLANES = RNG.integers(0, 256, (6 * N, 3072), dtype=np.uint8)
FINE = RNG.integers(0, 100, 6 * N)
IMAGES = PLANES.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)

NORMALISATION = {  # (mean, std) per channel, as the authors' code has them
    "cifar10": ((0.491, 0.482, 0.447), (0.247, 0.243, 0.262)),
    "cifar100": ((0.5071, 0.4865, 0.4465), (0.2673, 0.2564, 0.2762)),
}


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    monkeypatch.setattr(cifar, "_PICTURES", N)


FOLDERS = {
    ("cifar10", "binary"): ("cifar-10-batches-bin", "batches.meta.txt"),
    ("cifar10", "python"): ("cifar-10-batches-py", "batches.meta"),
    ("cifar100", "binary"): ("cifar-100-binary", "fine_label_names.txt"),
    ("cifar100", "python"): ("cifar-100-python", "meta"),
}


def official_files(name, version):
    """(folder, {file: bytes}, labels) of the official layout."""
    ten, binary, files = name == "cifar10", version == "binary", {}
    labels, names, key = (FINE % 10, NAMES10, "label") if ten else (FINE, NAMES100, "fine_label")
    train = [f"data_batch_{i}" for i in range(1, 6)] if ten else ["train"]
    for batch, part in zip(
        [*train, "test_batch" if ten else "test"], np.split(np.arange(6 * N), ends(train)), strict=True
    ):
        table = np.column_stack([*([] if ten else [labels[part] // 5]), labels[part], PLANES[part]]).astype(np.uint8)
        plain = {b"data": PLANES[part], f"{key}s".encode(): labels[part].tolist(), b"filenames": [b"a.png"]}
        files |= {f"{batch}.bin": table.tobytes()} if binary else {batch: pickle.dumps(plain, 2)}
    folder, meta = FOLDERS[name, version]
    files[meta] = ("\n".join(names) + "\n\n").encode() if binary else pickle.dumps({f"{key}_names": names})
    return folder, files, labels


def ends(train):
    return np.arange(1, len(train) + 1) * (5 * N // len(train))


def write_folder(root, name, version):
    folder, files, labels = official_files(name, version)
    (root / folder).mkdir()
    for file, data in files.items():
        (root / folder / file).write_bytes(data)
    return root / folder, labels


def write_tar(path, name, version, prefix=""):
    folder, files, _ = official_files(name, version)
    with tarfile.open(path, "w:gz") as archive:
        for file, data in files.items():
            member = tarfile.TarInfo(f"{prefix}{folder}/{file}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def check(data, name, labels):
    assert (data.name, data.flip) == (name, True)
    assert (data.inputs == IMAGES[: 5 * N]).all()
    assert data.labels.tolist() == data.true_labels.tolist() == labels[: 5 * N].tolist()
    assert (data.test.inputs == IMAGES[5 * N :]).all()
    assert data.test.labels.tolist() == labels[5 * N :].tolist()
    assert data.classes == tuple(NAMES10 if name == "cifar10" else NAMES100)
    assert data.class_map == (tuple(CIFAR10_MAP) if name == "cifar10" else None)
    for part in (data, data.test):
        assert (tuple(part.mean), tuple(part.std)) == NORMALISATION[name]


@pytest.mark.parametrize("version", ["binary", "python"])
@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_folder_parent_and_archive(tmp_path, name, version):
    folder, labels = write_folder(tmp_path, name, version)
    check(load(f"{name}:{folder}"), name, labels)
    check(load(f"{name}:{tmp_path}"), name, labels)
    check(load(f"{name}:{write_tar(tmp_path / 'archive.tar.gz', name, version, prefix='./')}"), name, labels)


def test_an_archive_is_never_extracted(tmp_path, monkeypatch):
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    write_tar(tmp_path / "evil.tar.gz", "cifar10", "binary", prefix="../")
    with pytest.raises(InputError, match=r"no cifar10 at .*evil\.tar\.gz"):
        load(f"cifar10:{tmp_path / 'evil.tar.gz'}")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cwd", "evil.tar.gz"]
    assert not list((tmp_path / "cwd").iterdir())


def changed(n):
    """So many bytes longer, or shorter."""
    return lambda data: data + bytes(n) if n > 0 else data[:n]


def batch(pixels, labels):
    return lambda data: pickle.dumps({b"data": pixels, b"labels": labels}, 2)


DAMAGED = [
    ("cifar10", "binary", "data_batch_3.bin", changed(-1),
     rf"data_batch_3\.bin is cut short: expected {3073 * N:,} bytes, found {3073 * N - 1:,}"),
    ("cifar10", "binary", "data_batch_3.bin", changed(-3073), rf"cut short: .* found {3073 * (N - 1):,}"),
    ("cifar10", "binary", "data_batch_3.bin", changed(3073), r"data_batch_3\.bin is too long: expected"),
    ("cifar100", "binary", "train.bin", changed(3074), r"train\.bin is too long: expected"),
    ("cifar100", "binary", "train.bin", changed(-3074), rf"train\.bin is cut short: expected {3074 * 5 * N:,} bytes"),
    ("cifar10", "binary", "batches.meta.txt", lambda data: b"cat\ndog\n", "does not name 10 classes"),
    ("cifar10", "binary", "data_batch_1.bin", lambda data: data[:3073] + b"M" + data[3074:], "code 77 at index 1"),
    ("cifar10", "python", "data_batch_1", batch(PLANES[:N, :7], [0] * N), "no uint8 array 'data'"),
    ("cifar10", "python", "data_batch_1", batch(PLANES[:N], [0]), "a number in 'labels' for each"),
    ("cifar10", "python", "data_batch_1", batch(PLANES[:N], ["cat"] * N), "a number in 'labels'"),
    ("cifar10", "python", "data_batch_1", batch(PLANES[1:N], [0] * (N - 1)), f"expected {N} pictures, found {N - 1}"),
    ("cifar10", "python", "data_batch_1", lambda data: pickle.dumps([1, 2]), "holds no uint8 array 'data'"),
    ("cifar10", "python", "test_batch", lambda data: b"cos\nsystem\n(S'touch owned'\ntR.", r"refused: .* os\.system"),
    ("cifar10", "python", "data_batch_2", None, r"lacks data_batch_2 of cifar-10-batches-py"),
]  # fmt: skip


@pytest.mark.parametrize("name, version, file, damage, sentence", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_is_named_and_no_other(tmp_path, name, version, file, damage, sentence):
    path = write_folder(tmp_path, name, version)[0] / file
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()
    with pytest.raises(InputError, match=sentence):
        load(f"{name}:{path.parent}")


def test_the_wrong_set_says_what_was_looked_for_and_without_names_the_classes_are_numbers(tmp_path):
    folder, _ = write_folder(tmp_path, "cifar100", "binary")
    with pytest.raises(InputError, match="looked for cifar-10-batches-bin or cifar-10-batches-py"):
        load(f"cifar10:{tmp_path}")
    (folder / "fine_label_names.txt").unlink()
    assert load(f"cifar100:{folder}").classes[:3] == ("0", "1", "2")


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"no archive"])
def test_a_damaged_archive(tmp_path, damage):
    path = write_tar(tmp_path / "cifar.tar.gz", "cifar10", "binary")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match="not a whole tar archive"):
        load(f"cifar10:{path}")


# CIFAR-N: labels by people

TRUE = np.array([3, 1, 0, 2, 1])
ARRAYS = {
    "clean_label": TRUE,
    "aggre_label": np.array([3, 1, 0, 2, 0]),
    "worse_label": np.array([3, 0, 0, 2, 0]),
    "random_label1": np.array([3, 1, 0, 3, 1]),
}


@pytest.fixture
def dataset():
    return Dataset(np.zeros((5, 2), np.float32), TRUE, tuple("abcd"), name="cifar10", true_labels=TRUE)


@pytest.fixture(params=["torch", "npz"])
def path(request, tmp_path):
    if request.param == "npz":
        np.savez(tmp_path / "human.npz", **ARRAYS)
        return tmp_path / "human.npz"
    torch.save(ARRAYS, tmp_path / "human.pt")
    return tmp_path / "human.pt"


def test_labels_by_short_name_and_by_key(path, dataset):
    for which, key in (("aggre", "aggre_label"), ("worst", "worse_label"), ("random_label1", "random_label1")):
        codes = human_labels(path, which, dataset)
        assert (codes.dtype, codes.tolist()) == (np.int64, ARRAYS[key].tolist())
    with pytest.raises(InputError, match="no labels named random_label3; it has clean_label, aggre_label"):
        human_labels(path, "random3", dataset)


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"true_labels": TRUE[::-1].copy()}, "differs from the true labels of cifar10 at 4 examples, first at index 0"),
        ({"true_labels": None}, "true labels of cifar10 are not known"),
    ],
)
def test_labels_of_other_pictures_are_noticed(path, dataset, change, sentence):
    with pytest.raises(InputError, match=sentence):
        human_labels(path, "aggre", replace(dataset, **change))
    with pytest.raises(InputError, match=r"shape \(5,\).*needs 3 whole numbers"):
        human_labels(path, "aggre", dataset.take(np.arange(3)))


def test_a_code_beyond_the_classes_is_named(tmp_path, dataset):
    np.savez(tmp_path / "h.npz", clean_label=TRUE, noisy_label=TRUE + 1)
    with pytest.raises(InputError, match="labels of cifar10 hold the code 4 at index 0; with 4 classes"):
        human_labels(tmp_path / "h.npz", "noisy", dataset)


@pytest.mark.parametrize(
    "name, data, sentence",
    [
        (None, b"PK\x03\x04 cut", "not a whole torch file"),
        ("archive/version", b"", r"holds 0 files named data\.pkl"),
        ("archive/data.pkl", pickle.dumps([1, 2]), "holds a list"),
        ("archive/data.pkl", b"cposix\nsystem\n(S'true'\ntR.", r"asks for posix\.system"),
    ],
)
def test_torch_files_that_are_not_arrays(tmp_path, dataset, name, data, sentence):
    path = tmp_path / "human.pt"
    with pytest.raises(InputError, match=r"no CIFAR-N label file at .*human\.pt"):
        human_labels(path, "aggre", dataset)
    if name is None:
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, data)
    with pytest.raises(InputError, match=sentence):
        human_labels(path, "aggre", dataset)
