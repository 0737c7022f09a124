"""DATA on the command line, and in `load`: one string names where the examples come from."""

from pathlib import Path

from smallloss.data.arrays import load_npy, load_npz
from smallloss.data.cifar import load_cifar
from smallloss.data.dataset import Dataset
from smallloss.data.digits import load_digits
from smallloss.data.idx import holds_idx, load_idx
from smallloss.errors import InputError

KNOWN = (
    "digits, cifar10:PATH, cifar100:PATH, idx:FOLDER, a folder of idx files, a .npz file, "
    "or a .npy file with labels=PATH"
)


def load(spec: str | Path, *, labels: str | Path | None = None) -> Dataset:
    """The dataset that `spec` names; `labels` goes with an .npy file of inputs. Nothing is downloaded."""
    kind, _, rest = str(spec).partition(":")
    path = Path(spec).expanduser()
    if labels is not None and path.suffix != ".npy":
        raise InputError(f"labels={labels} goes with a .npy file of inputs; {spec} brings its own labels.")
    if spec == "digits":
        return load_digits()
    if kind in ("cifar10", "cifar100"):
        return load_cifar(kind, _place(kind, rest))
    if kind == "idx":
        return load_idx(_place(kind, rest))
    if path.suffix == ".npz":
        return load_npz(path)
    if path.suffix == ".npy":
        return load_npy(path, labels)
    if path.is_dir() and holds_idx(path):
        return load_idx(path)
    fault = "is a folder without idx files" if path.is_dir() else "is not a known source"
    raise InputError(f"{spec} {fault}; DATA is one of: {KNOWN}.")


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
