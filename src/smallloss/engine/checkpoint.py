"""A stage's checkpoint: one safetensors file, so that it is there whole or not at all."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from smallloss.errors import InputError
from smallloss.files import write_bytes

_ARRAY = "array."  # what the name of a numpy array begins with


def write(path: Path, tensors: dict[str, Tensor], arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    """`facts` (epoch, history) travel in the file's own metadata: the same rename commits them."""
    # Cloned: a tensor that shares memory with another would be refused.
    stored = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    stored |= {_ARRAY + name: torch.from_numpy(np.array(array, order="C")) for name, array in arrays.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, save(dict(sorted(stored.items())), metadata={"facts": json.dumps(facts)}))


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, np.ndarray], dict[str, Any]]:
    """(tensors, arrays, facts) as they were given to `write`."""
    file, facts = _open(path)
    stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    arrays = {name.removeprefix(_ARRAY): stored.pop(name).numpy() for name in [*stored] if name.startswith(_ARRAY)}
    return stored, arrays, facts


def _open(path: Path) -> tuple[Any, dict[str, Any]]:
    """The file, its tensors not read yet, and its facts."""
    try:
        file = safe_open(str(path), framework="pt")
        return file, json.loads(file.metadata()["facts"])
    except (SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not a whole checkpoint ({error}); delete it to train this stage again") from error


def load_into(tensors: dict[str, Tensor], stored: dict[str, Tensor], path: Path) -> None:
    """Copy stored values into living tensors, which captured steps and optimisers keep pointing at."""
    if tensors.keys() != stored.keys():
        different = sorted(tensors.keys() ^ stored.keys())
        raise InputError(f"{path} belongs to another network or recipe (first difference: {different[0]})")
    for name, tensor in tensors.items():
        if tensor.shape != stored[name].shape:
            was, now = tuple(stored[name].shape), tuple(tensor.shape)
            raise InputError(f"{path} belongs to another network or recipe ({name} was {was}, now {now})")
    with torch.no_grad():
        for name, tensor in tensors.items():
            tensor.copy_(stored[name])


def take_over(folder: Path, other: Path) -> None:
    """The finished stages of another run, of the same data, seed and settings, where this one has not begun them.

    Linked, not copied, where the disk can: a checkpoint is only ever replaced as a whole.
    """
    for file in (other / "checkpoint").glob("*.safetensors"):
        mine = folder / "checkpoint" / file.name
        if not mine.exists():
            mine.parent.mkdir(exist_ok=True)
            try:
                mine.hardlink_to(file)
            except OSError:
                write_bytes(mine, file.read_bytes())


def committed_rows(folder: Path) -> list[dict[str, Any]]:
    """The metrics of every epoch whose checkpoint is on disk: what a killed run may still say it did."""
    by_age = sorted((folder / "checkpoint").glob("*.safetensors"), key=lambda path: path.stat().st_mtime_ns)
    return [row for path in by_age for row in _open(path)[1]["history"]]
