"""Where inputs live and how they are seen: crop, flip and more, example by example, on the device that trains."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from smallloss.data.dataset import Dataset
from smallloss.engine import strong
from smallloss.engine.draws import Draws
from smallloss.errors import InputError


@dataclass(frozen=True)
class Augmentation:
    """Zero- or reflect-pad, crop back to size, mirror; then strong changes, and a square left out. `offsets` of 8 is
    the authors' MixMatch loader, which never reaches the last crop position; 9 is every position of a 4-pixel pad."""

    pad: int = 4
    padding: str = "zero"
    offsets: int = 9
    flip: bool = True
    alternate: bool = False  # flip by turns
    cutout: float = 0.0  # of the shorter side
    strong: bool = False

    @property
    def weak(self) -> "Augmentation":
        """Crop and mirror alone."""
        return replace(self, cutout=0.0, strong=False)

    def require_room(self, size: tuple[int, int]) -> None:
        """A picture can be reflected by less than its own side."""
        if self.padding == "reflect" and self.pad >= min(size):
            raise InputError(
                f"pad is {self.pad}, but pictures of {size[0]} x {size[1]} can be reflected by at most "
                f"{min(size) - 1} pixels; lower pad, or choose zero for padding."
            )


PLAIN = Augmentation(pad=0, offsets=1, flip=False)


@dataclass
class Views:
    """Which examples a step sees, and how: tables of shape [steps, batch]."""

    index: Tensor
    dy: Tensor
    dx: Tensor
    flip: Tensor
    hole: Tensor | None = None  # [steps, batch, 2] in 0..1: where a square is left out, down and across
    amounts: Tensor | None = None  # [steps, batch, 8] of strong changes

    def __len__(self) -> int:
        return len(self.index)

    @property
    def _all(self) -> tuple[Tensor | None, ...]:
        return self.index, self.dy, self.dx, self.flip, self.hole, self.amounts

    @property
    def tables(self) -> tuple[Tensor, ...]:
        """Those that there are."""
        return tuple(table for table in self._all if table is not None)

    def __getitem__(self, rows: slice) -> "Views":
        return self.map(lambda table: table[rows])

    def map(self, change: Callable[..., Tensor], *others: "Views") -> "Views":
        """Each table changed, together with those of others that have the same."""
        each = zip(self._all, *(other._all for other in others), strict=True)
        return Views(*(None if tables[0] is None else change(*tables) for tables in each))  # type: ignore[arg-type]


def draw_views(draws: Draws, how: Augmentation, purpose: str, times: list[int], key: Tensor, index: Tensor) -> Views:
    """A crop, a flip and more for every entry of `index`; `key` is what the draw depends on: the example's own
    index where it is seen once an epoch, the slot in the batch where it may be drawn several times a step."""
    dy = draws.below(how.offsets, purpose + "/dy", times, key).view_as(index)
    dx = draws.below(how.offsets, purpose + "/dx", times, key).view_as(index)
    if how.alternate:  # drawn once, and then by turns
        turn = torch.tensor(times, device=key.device)[:, None]
        flip = ((draws.below(2, purpose + "/flip", [0], key) + turn) % 2).view_as(index) == 1
    else:
        flip = draws.below(2, purpose + "/flip", times, key).view_as(index) == 1
    hole = amounts = None
    if how.cutout:
        places = [draws.uniform(f"{purpose}/hole {axis}", times, key) for axis in ("down", "across")]
        hole = torch.stack(places, -1).float().view(*index.shape, 2)
    if how.strong:
        drawn = strong.draw_amounts(draws, purpose, times, key)
        amounts = drawn.view(*index.shape, drawn.shape[-1])
    return Views(index, dy, dx, flip & how.flip, hole, amounts)


class Inputs:
    """Inputs on the device as the network sees them. Pictures stay uint8 and padded; features float32."""

    def __init__(
        self, dataset: Dataset, device: torch.device, how: Augmentation, *, resident: bool, workers: int = 0
    ) -> None:
        self.source = dataset.inputs
        self.device = device
        self.pictures = dataset.is_image
        self.pad = how.pad if self.pictures else 0
        self.padding = how.padding
        self.cutout = how.cutout
        self.resident, self.workers = resident, workers
        shape = self.source.shape
        self.size = (shape[1], shape[2]) if self.pictures else (0, 0)
        if self.pictures:
            how.require_room(self.size)
        unit = 255 if self.pictures else 1
        mean, std = np.asarray(dataset.mean, np.float32), np.asarray(dataset.std, np.float32)
        self.scale = torch.from_numpy(1 / (unit * std)).to(device)
        self.shift = torch.from_numpy(-mean / std).to(device)
        self.rows = torch.arange(self.size[0], device=device)
        self.columns = torch.arange(self.size[1], device=device)
        self.stored = self._padded(self._held()) if resident else None

    def __len__(self) -> int:
        return len(self.source)

    def _held(self) -> Tensor:
        return torch.from_numpy(np.require(self.source, requirements=["C", "W"])).to(self.device)

    def _padded(self, raw: Tensor) -> Tensor:
        if not self.pad:
            return raw
        if self.padding == "zero":
            return torch.nn.functional.pad(raw, (0, 0, self.pad, self.pad, self.pad, self.pad))
        rows = _reflected(self.size[0], self.pad, raw.device)
        columns = _reflected(self.size[1], self.pad, raw.device)
        return raw[:, rows][:, :, columns]

    def plain(self, rows: np.ndarray | Tensor) -> Views:
        """Rows as they are: the middle of the padded picture, not mirrored."""
        index = torch.as_tensor(rows).to(self.device)
        middle = torch.full_like(index, self.pad)
        return Views(index, middle, middle, torch.zeros_like(index, dtype=torch.bool))

    def see(self, views: Views, raw: Tensor | None = None) -> Tensor:
        """One step's inputs, normalised. `raw` holds them when they come from a loader, else they are here."""
        stored, row = self.stored, views.index
        if raw is not None:
            stored = self._padded(raw)
            row = torch.arange(len(raw), device=self.device)
        assert stored is not None
        if not self.pictures:
            return stored[row] * self.scale + self.shift
        y = views.dy[:, None] + self.rows
        x = torch.where(views.flip[:, None], self.columns.flip(0), self.columns) + views.dx[:, None]
        window = stored[row[:, None, None], y[:, :, None], x[:, None, :]]
        # NHWC memory seen as NCHW: exactly torch's channels_last, no copy.
        seen = (window.float() * self.scale + self.shift).permute(0, 3, 1, 2)
        if views.amounts is not None:
            seen = strong.changed(seen, views.amounts)
        return seen if views.hole is None else self._with_holes(seen, views.hole)

    def _with_holes(self, seen: Tensor, hole: Tensor) -> Tensor:
        """A square of each picture, whole and somewhere in it, is as the mean of all."""
        side = max(1, round(self.cutout * min(self.size)))
        inside = []
        for number, places in enumerate((self.rows, self.columns)):
            room = len(places) - side
            first = (hole[:, number, None] * (room + 1)).long().clamp(max=room)  # a float may round up to 1
            inside.append((places >= first) & (places < first + side))
        return torch.where((inside[0][:, :, None] & inside[1][:, None, :])[:, None], 0.0, seen)

    def stream(self, batches: Sequence[Views]) -> Iterator[Tensor]:
        """One batch after the other; what is not held here is read ahead."""
        raws = repeat(None) if self.resident else self.load([views.index.cpu().numpy() for views in batches])
        return (self.see(views, raw) for views, raw in zip(batches, raws, strict=False))

    def load(self, batches: list[np.ndarray]) -> Iterator[Tensor]:
        """The streaming path: raw inputs of each batch of indices, read ahead by worker processes."""
        loader: DataLoader[np.ndarray] = DataLoader(
            _Rows(self.source),  # type: ignore[arg-type]
            batch_sampler=[batch.tolist() for batch in batches],
            num_workers=self.workers,
            generator=torch.Generator(),  # else it draws a seed from torch's own, which belongs to others
            collate_fn=torch.from_numpy,
            pin_memory=self.device.type == "cuda",
        )
        for raw in loader:
            yield raw.to(self.device, non_blocking=True)


class _Rows:
    """Rows of an array or memory map; a whole batch is one fancy-indexed read."""

    def __init__(self, source: np.ndarray) -> None:
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def __getitems__(self, index: list[int]) -> np.ndarray:
        return np.ascontiguousarray(self.source[index])


def _reflected(size: int, pad: int, device: torch.device) -> Tensor:
    position = torch.arange(-pad, size + pad, device=device).abs()
    return torch.where(position >= size, 2 * (size - 1) - position, position)
