"""DATA on the command line, and in `load`: one string names where the examples come from."""

from pathlib import Path

from smallloss.data.arrays import load_npz
from smallloss.data.cifar import load_cifar
from smallloss.data.dataset import Dataset
from smallloss.data.digits import load_digits
from smallloss.data.features import load_features
from smallloss.data.hugging_face import holds_saved_dataset, load_hugging_face
from smallloss.data.idx import holds_idx, load_idx
from smallloss.data.image_folder import load_image_folder
from smallloss.data.table import load_table
from smallloss.errors import InputError

KNOWN = (
    "a folder of pictures (a subfolder per class) or of idx files, a .csv, .parquet or .npz file, an .npy file with "
    "--labels, digits, cifar10:PATH, cifar100:PATH, idx:FOLDER, hf:NAME"
)


def load(spec: str | Path, *, labels: str | Path | None = None, label: str | None = None) -> Dataset:
    """The dataset that `spec` names. Nothing is downloaded, unless a Hugging Face name asks for it.

    `labels` goes with an .npy file of inputs; `label` names the column of labels in a table.
    """
    if not str(spec):
        raise InputError(f"DATA is empty; it is one of: {KNOWN}.")
    kind, _, rest = str(spec).partition(":")
    path = Path(spec).expanduser()
    if labels is not None and path.suffix != ".npy":
        raise InputError(f"--labels {labels} goes with a .npy file of inputs; {spec} brings its own labels.")
    if kind == "hf":
        if not rest:
            raise InputError("hf needs the name or the folder of a dataset: write hf:NAME.")
        return load_hugging_face(rest, label)
    if path.suffix in (".csv", ".parquet") and not path.is_dir():
        return load_table(path, label)
    if path.suffix == ".npy":
        return load_features(path, labels, label)
    if label is not None:
        raise InputError(f"--label {label} names a column of a table; {spec} is not a table.")
    if spec == "digits":
        return load_digits()
    if kind in ("cifar10", "cifar100"):
        return load_cifar(kind, _place(kind, rest))
    if kind == "idx":
        return load_idx(_place(kind, rest))
    if path.suffix == ".npz":
        return load_npz(path)
    if path.is_dir():
        return _load_folder(path)
    missing = f"There is no file or folder {'at' if len(path.parts) > 1 else 'here named'} {spec}"
    fault = f"{spec} is of an unknown kind" if path.exists() else missing
    raise InputError(f"{fault}; DATA is one of: {KNOWN}.")


def _load_folder(path: Path) -> Dataset:
    if holds_idx(path):
        return load_idx(path)
    if holds_saved_dataset(path):
        return load_hugging_face(str(path))
    return load_image_folder(path)


def _place(kind: str, rest: str) -> Path:
    if not rest:
        raise InputError(f"{kind} needs the place of its files: write {kind}:PATH.")
    path = Path(rest).expanduser()
    if not path.exists():
        raise InputError(
            f"There is no {kind} at {path}: nothing is there. "
            "Put the official files there, or give the path where they are; nothing is fetched for you."
        )
    return path
