"""What a finished run left in its folder, and whether some data is what it was made from."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.data.dataset import Dataset
from smallloss.data.table_files import as_cell, read_table
from smallloss.errors import InputError
from smallloss.run_folder import read_config
from smallloss.words import counted, quoted

EXAMPLES, SELECTION, FEATURES = "examples.parquet", "selection.npz", "features.npz"
_ESTIMATE = "estimate.json"


def read_finished(folder: Path) -> tuple[dict[str, Any], Any]:
    """The config of a run and its table of examples, unreadable ones included."""
    config = read_config(folder)
    for name in (EXAMPLES, SELECTION):
        if not (folder / name).is_file():
            raise InputError(f"{folder} has no {name}: the run did not finish; give the command that began it again.")
    return config, read_table(folder / EXAMPLES)


def read_estimate(folder: Path) -> dict[str, Any] | None:
    """Where the noise rates were estimated: what was found."""
    path = folder / _ESTIMATE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def require_same_data(
    dataset: Dataset, ids: Sequence[str], labels: Sequence[str], fingerprint: str, folder: Path
) -> None:
    """Refuse data that a run with these ids and labels was not made from.

    The labels are taken from the run: those of a benchmark were corrupted after it was loaded.
    """
    position = {as_cell(name): k for k, name in enumerate(dataset.classes)}
    codes = np.array([position.get(name, -1) for name in labels], dtype=np.int64)
    same = [as_cell(name) for name in dataset.ids] == list(ids) and (codes >= 0).all()
    if not same or dataset.with_labels(codes).fingerprint() != fingerprint:
        raise InputError(
            f"{dataset.name} is not the data that {folder} was made from: {_difference(dataset, ids)}. Put it back as "
            "it was, or name that data with --data."
        )


def _difference(dataset: Dataset, ids: Sequence[str]) -> str:
    """The first thing in which it differs, with an example."""
    before, now = dict.fromkeys(ids), dict.fromkeys(as_cell(name) for name in dataset.ids)
    lost, new = ([name for name in one if name not in other] for one, other in ((before, now), (now, before)))
    said = [f"{counted(len(lost), 'example')} not there any more ({quoted(lost[0])})"] if lost else []
    said += [f"{counted(len(new), 'example')} new ({quoted(new[0])})"] if new else []
    return " and ".join(said) or "some inputs, labels or their order changed"
