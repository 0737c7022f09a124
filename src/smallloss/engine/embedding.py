"""Features of a backbone: embedded once, in batches, on the device, and kept in the run folder."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smallloss.data.arrays import as_array, from_arrays
from smallloss.data.dataset import Dataset
from smallloss.data.new_examples import Seen
from smallloss.data.pictures import Target, read_pictures
from smallloss.engine.progress import Progress
from smallloss.errors import InputError
from smallloss.files import read_npz, write_npz
from smallloss.models.backbone import Backbone, Batch, load_backbone

KEPT = "backbone.npz"  # what it is of, data and backbone, is what config.json says beside it
_BATCH = 64
_DECODED = 2048  # pictures decoded at a time, at the size that the backbone wants

Fill = Callable[[Path | None, Progress], None]


def no_fill(folder: Path | None, progress: Progress) -> None:
    """Everything is there already."""


def embedded(dataset: Dataset, backbone: Any, device: torch.device, out: Path | None) -> tuple[Dataset, Fill]:
    """The dataset as the backbone sees it, and what fills in the features once the run has its folder.

    Until then they are NaN, of the width that the first example has: whatever a run is refused for is found before
    the hours that a large set may take. Features that this run left in its folder are read instead.
    """
    parts = [dataset] if dataset.test is None else [dataset, dataset.test]
    n = sum(map(len, parts))
    kept = None if out is None else _read(out / KEPT, n)
    if kept is not None:
        return dataset.seen_as(*kept), no_fill
    network = load_backbone(backbone, dataset.kind)
    first = _features(network, next(_batches(dataset, network, 1)), device, dataset.ids)
    rows = np.full((n, first.shape[1]), np.nan, np.float32)
    note = _note(dataset, network, first.shape[1])

    def fill(folder: Path | None, progress: Progress) -> None:
        progress.stage("embedding", sum(-(-len(part) // _BATCH) for part in parts), 0)
        for part, share in zip(parts, np.split(rows, [len(dataset)]), strict=False):
            _embed(share, part, network, device, progress)
        if folder is not None:
            _keep(folder / KEPT, rows, [name for part in parts for name in part.ids], note)

    return dataset.seen_as(rows, note), fill


def new_features(network: Backbone, seen: Seen, X: Any, device: torch.device) -> np.ndarray:
    """Of new pictures or texts the features that those of the run have."""
    new = _new_texts(seen, X) if seen.kind == "text" else _new_pictures(seen, X, network)
    rows = np.empty((len(new), seen.in_shape[0]), np.float32)
    _embed(rows, new, network, device, Progress(enabled=False))
    return rows


def _new_texts(seen: Seen, X: Any) -> Dataset:
    if isinstance(X, str) or not all(isinstance(text, str) for text in X):
        raise InputError(
            f"The run was made of texts: give a list of texts, or [n, {seen.in_shape[0]}] features of them."
        )
    nothing = np.zeros(len(X), np.int64)
    return Dataset(nothing[:, None].astype(np.float32), nothing, ("",), name="new examples", kind="text", shown=list(X))


def _new_pictures(seen: Seen, X: Any, network: Backbone) -> Dataset:
    array = as_array(X)
    if array.ndim < 3:
        raise InputError(
            f"The run was made of pictures, and the new examples have the shape {array.shape}: give pictures "
            f"[n, h, w] or [n, h, w, c], or [n, {seen.in_shape[0]}] features of them."
        )
    new = from_arrays(array, np.zeros(len(array), np.int64), name="new examples", white=seen.white)
    _, *sides = new.in_shape
    _, *before = seen.came
    if network.size is None and sides != before:
        raise InputError(
            f"The new pictures are {sides[0]} x {sides[1]}, but {network.name} was given {before[0]} x {before[1]}: "
            "resize them first."
        )
    return new


def _read(path: Path, n: int) -> tuple[np.ndarray, str] | None:
    """Features of an earlier start and the note on them; of other data they are nobody's business here."""
    if not path.is_file():
        return None
    arrays = read_npz(path)
    rows = arrays.get("features")
    if rows is None or rows.ndim != 2 or len(rows) != n or rows.dtype != np.float32 or "note" not in arrays:
        return None
    return rows, str(arrays["note"])


def _keep(path: Path, rows: np.ndarray, ids: list[str], note: str) -> None:
    """As --features reads them: by id, unless the test part counts its ids anew."""
    named = {"id": np.array(ids)} if len(set(ids)) == len(ids) else {}
    write_npz(path, {"features": rows, "note": np.array(note), **named})


def _note(dataset: Dataset, network: Backbone, width: int) -> str:
    examples, given = "texts", "texts"
    if dataset.kind == "pictures":
        sides = (network.size, network.size) if network.size else dataset.as_they_came.shape[1:3]
        examples, given = "pictures", f"pictures of {sides[0]} x {sides[1]}"
    return (
        f"Instead of the {examples}, the network sees {width:,} features from {network.name}, "
        f"which was given {given} {network.prepared}."
    )


def _embed(rows: np.ndarray, part: Dataset, network: Backbone, device: torch.device, progress: Progress) -> None:
    start = 0
    for batch in _batches(part, network, len(part)):
        stop = start + len(batch)
        found = _features(network, batch, device, part.ids[start:stop])
        if found.shape[1] != rows.shape[1]:
            raise InputError(
                f"{network.name} gave {found.shape[1]} features for {part.ids[start]} and {rows.shape[1]} for others; "
                "it must give as many for all."
            )
        rows[start:stop] = found
        start = stop
        progress.epoch("")


def _batches(dataset: Dataset, network: Backbone, n: int) -> Iterator[Batch]:
    """The first n examples: texts, or pictures with three channels at the size that the backbone wants."""
    for start in range(0, n, _DECODED):
        stop = min(start + _DECODED, n)
        if dataset.kind == "text":
            assert dataset.shown is not None
            chunk: Batch = list(dataset.shown[start:stop])
        else:
            chunk = _pictures(dataset, start, stop, network.size)
        for first in range(0, stop - start, _BATCH):
            yield chunk[first : first + _BATCH]


def _pictures(dataset: Dataset, start: int, stop: int, size: int | None) -> np.ndarray:
    """Decoded anew where the files are there and the backbone wants another size: the dataset's were made small."""
    pictures = np.asarray(dataset.as_they_came[start:stop])
    if size is not None and pictures.shape[1:3] != (size, size):
        if dataset.sources is not None:
            return _decoded(dataset, dataset.sources[start:stop], start, size)
        pictures = _resized(pictures, size)
    return np.repeat(pictures, 3, axis=3) if pictures.shape[3] == 1 else np.ascontiguousarray(pictures[..., :3])


def _decoded(dataset: Dataset, sources: Sequence[str | bytes], start: int, size: int) -> np.ndarray:
    found = read_pictures(sources, Target(size, gray=False))
    if found.unreadable:
        row, reason = next(iter(found.unreadable.items()))
        raise InputError(f"{dataset.ids[start + row]} could be read before and cannot be now: {reason}.")
    return found.inputs


def _resized(pictures: np.ndarray, size: int) -> np.ndarray:
    """The centre square of each, as of pictures in files."""
    height, width = pictures.shape[1:3]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    pictures = pictures[:, top : top + side, left : left + side]
    raw = torch.from_numpy(pictures).permute(0, 3, 1, 2).float()
    new = torch.nn.functional.interpolate(raw, (size, size), mode="bilinear", antialias=True)
    return new.round().clamp(0, 255).byte().permute(0, 2, 3, 1).numpy()


@torch.no_grad()
def _features(network: Backbone, batch: Batch, device: torch.device, ids: Sequence[str]) -> np.ndarray:
    """float32 [b, d], or a sentence on what the backbone gave instead."""
    try:
        found = network.features(batch, device)
        rows = found.detach().float().cpu().numpy() if isinstance(found, torch.Tensor) else np.asarray(found)
        rows = rows.astype(np.float32, copy=False)
    except Exception as error:  # it may be the user's own: anything may go wrong in it
        seen = f"pictures of shape {batch.shape}" if isinstance(batch, np.ndarray) else f"{len(batch)} texts"
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{network.name} failed on {seen} ({what}).") from error
    if rows.ndim != 2 or len(rows) != len(batch) or not rows.shape[1]:
        raise InputError(
            f"{network.name} gave the shape {rows.shape} for {len(batch)} examples; "
            f"it must give a row of features for each, [{len(batch)}, d]."
        )
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise InputError(f"{network.name} gave features that are not finite numbers for {ids[bad[0]]}.")
    return rows
