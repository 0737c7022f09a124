"""A small histogram of each class's scores, coloured by what became of them, with both cuts."""

from dataclasses import dataclass

import numpy as np

from smallloss.record.examples import Examples

BINS = 32
HEIGHT = 12.0


@dataclass(frozen=True)
class Sparkline:
    """Paths over BINS units of width, the ground at HEIGHT; an empty text draws nothing."""

    kept: str
    aside: str
    wrong: str
    cuts: tuple[float, ...]  # where the kept end, and where the likely wrong begin


def score_range(score: np.ndarray) -> tuple[float, float]:
    """All scores but the outermost thousandth on each side, so that one huge loss does not flatten the rest."""
    low = np.quantile(score, 0.001, method="lower")
    high = np.quantile(score, 0.999, method="higher")
    return float(low), float(high)


def sparklines(e: Examples, rows: np.ndarray) -> list[Sparkline | None]:
    """One for each class, all over the same scores; None where no example of the class was seen."""
    seen, c = rows[e.rank[rows] > 0], len(e.classes)
    if not len(seen):
        return [None] * c
    low, high = score_range(e.score[seen])
    scale = BINS / (high - low) if high > low else 0.0
    place, label = np.clip((e.score[seen] - low) * scale, 0, BINS), e.label[seen]
    kept, wrong = e.kept[seen], (e.likely_wrong | e.corrected)[seen]
    cell = (label * 3 + np.where(kept, 0, np.where(wrong, 2, 1))) * BINS + np.minimum(place, BINS - 1).astype(np.int64)
    counts = np.bincount(cell, minlength=c * 3 * BINS).reshape(c, 3, BINS)
    ends, begins = np.full(c, -np.inf), np.full(c, np.inf)
    np.maximum.at(ends, label[kept], place[kept])
    np.minimum.at(begins, label[wrong], place[wrong])
    return [_sparkline(*drawn) for drawn in zip(counts, ends.tolist(), begins.tolist(), strict=True)]


def _sparkline(counts: np.ndarray, kept_end: float, wrong_begin: float) -> Sparkline | None:
    """Bars stand one upon the other; heights are square roots, so that a few wrong ones can be seen."""
    stacked = counts.cumsum(axis=0)
    if not stacked[-1].any():
        return None
    heights = HEIGHT * np.sqrt(stacked / stacked[-1].max())
    kept, aside, wrong = (_path(np.where(count > 0, top, 0)) for count, top in zip(counts, heights, strict=True))
    cuts = tuple(round(cut, 2) for cut in (kept_end, wrong_begin) if np.isfinite(cut))
    return Sparkline(kept, aside, wrong, cuts)


def _path(heights: np.ndarray) -> str:
    """The outline of the bars that are there."""
    pieces, above = [], False
    for k, height in enumerate(heights.tolist()):
        if height > 0:
            pieces.append(f"{'' if above else f'M{k} {HEIGHT:g}'}V{HEIGHT - height:.1f}h1")
        elif above:
            pieces.append(f"V{HEIGHT:g}z")
        above = height > 0
    return "".join(pieces) + (f"V{HEIGHT:g}z" if above else "")
