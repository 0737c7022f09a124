"""The verdict without answers: never "checked"; red where labels were shuffled, and nowhere that 95 % of the kept are
right."""

from collections.abc import Iterator

from smallloss.noise.verdict import judge
from trust_tools import Cell, Row


def measure(cell: Cell) -> Iterator[Row]:
    found = cell.found
    chosen = cell.selection(cell.train, found.noise_rate, found.prior, found.upper)
    said = judge(chosen, found)
    kept = cell.train[chosen.mask]
    yield cell.named() | {
        "word": said.word,
        "tone": said.tone,
        "headline": said.headline,
        "tells_nothing": cell.found.tells_nothing,
        "kept": len(kept),
        "precision": float(1 - cell.wrong[kept].mean()) if len(kept) else None,
    }
