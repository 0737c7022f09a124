"""The plots of the pages: SVG that stands inside them, in their colours and fonts; equal data give equal bytes.

No text of the user is drawn here: names stand in the page's own legends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np

from smallloss.record.examples import Examples
from smallloss.report.facts import FATES, fates

BINS = 60
CURVES = 4  # colours: the page's --curve-0 to --curve-3
DASHES = ("", "6 2", "2 2", "6 2 2 2")  # a second way to tell curves apart
_LEFT, _TOP, _RIGHT, _BOTTOM = 50.0, 26.0, 12.0, 44.0  # around the axes, for numbers and words

SPARK_BINS = 32
SPARK_HEIGHT = 12.0

Sparkline = dict[str, Any]
Curve = tuple[Sequence[float], Sequence[float] | np.ndarray]  # across, up; what is not finite interrupts it


@dataclass(frozen=True)
class Axes:
    """A frame of numbers; `place` says where a point of it stands on the paper."""

    across: np.ndarray  # ticks, and the ends of the range
    up: np.ndarray
    names: tuple[str, str]
    x_range: tuple[float, float]
    size: tuple[float, float] = (468.0, 215.0)

    @property
    def y_range(self) -> tuple[float, float]:
        return float(self.up[0]), float(self.up[-1])

    def x(self, values: object) -> np.ndarray:
        (low, high), width = self.x_range, self.size[0] - _LEFT - _RIGHT
        return _LEFT + width * (np.asarray(values, np.float64) - low) / (high - low)

    def y(self, values: object) -> np.ndarray:
        (low, high), height = self.y_range, self.size[1] - _TOP - _BOTTOM
        return _TOP + height * (high - np.asarray(values, np.float64)) / (high - low)

    def svg(self, *drawn: str) -> str:
        """The frame, and on it what was drawn in it."""
        (width, height), ground, (across, up) = self.size, self.size[1] - _BOTTOM, self.names
        parts = [f'<svg aria-hidden="true" viewBox="0 0 {width:g} {height:g}">']
        lines = "".join(f"M{_LEFT:g} {y:.2f}H{width - _RIGHT:g}" for y in self.y(self.up))
        parts += [f'<path d="{lines}" stroke="var(--line)" stroke-width="0.6" fill="none"/>', *drawn]
        parts += [_words(x, ground + 17, "middle", _number(tick, self.across))
                  for x, tick in zip(self.x(self.across), self.across, strict=True)]  # fmt: skip
        parts.append(_words((_LEFT + width - _RIGHT) / 2, height - 6, "middle", across))
        parts += [_words(_LEFT - 8, y + 4, "end", _number(tick, self.up))
                  for y, tick in zip(self.y(self.up), self.up, strict=True)]  # fmt: skip
        return "".join([*parts, _words(0, 12, "start", up), "</svg>"])

    def line(self, curve: Curve, colour: str, dashes: str = "", width: float = 1.6) -> str:
        """Through the points in their order; a point that has no neighbour is a dot."""
        x, y = self.x(curve[0]), self.y(curve[1])
        there = np.flatnonzero(np.isfinite(y))
        runs = np.split(there, np.flatnonzero(np.diff(there) > 1) + 1) if len(there) else []
        path = "".join("M" + "L".join(f"{x[k]:.2f} {y[k]:.2f}" for k in run) for run in runs if len(run) > 1)
        dots = [f'<circle cx="{x[run[0]]:.2f}" cy="{y[run[0]]:.2f}" r="2.5" fill="{colour}"/>'
                for run in runs if len(run) == 1]  # fmt: skip
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        drawn = f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>' if path else ""
        return "".join([drawn, *dots])

    def steps(self, edges: np.ndarray, heights: np.ndarray) -> str:
        """Over bars between the edges, from left to right."""
        x, y = np.repeat(self.x(edges), 2)[1:-1], np.repeat(self.y(heights), 2)
        return "L".join(f"{a:.2f} {b:.2f}" for a, b in zip(x, y, strict=True))


def _words(x: float, y: float, anchor: str, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="var(--quiet)" font-size="11">{words}</text>'


def _number(tick: float, ticks: np.ndarray) -> str:
    """With as many digits as its neighbours need to differ."""
    digits = f"{ticks[1] - ticks[0] if len(ticks) > 1 else 1:.9g}".partition(".")[2]
    return f"{tick:,.{len(digits)}f}".replace("-", "−")


def ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> np.ndarray:
    """Round numbers, at most so many steps of them, from the last at or below `low` to the first at or above `high`."""
    span = high - low if high - low > 1e-9 * max(abs(low), abs(high)) else max(abs(high), 1.0)
    rough = max(span / (most - 1), 1.0 if whole else 0.0)
    power = 10.0 ** floor(log10(rough) + 1e-9)
    steps = (power * k for k in (1, 2, 2.5, 5, 10) if not whole or power * k % 1 == 0)
    step = next(step for step in steps if step >= rough * (1 - 1e-9))
    first = floor(low / step + 1e-9)
    return step * np.arange(first, max(ceil(high / step - 1e-9), first + 1) + 1)


def _within(low: float, high: float, *, whole: bool = False) -> np.ndarray:
    """The round numbers that lie inside."""
    found = ticks(low, high, 8, whole=whole)
    return found[(found >= low - 1e-9 * abs(low)) & (found <= high + 1e-9 * abs(high))]


def score_range(score: np.ndarray) -> tuple[float, float]:
    """All scores but the outermost thousandth on each side, so that one huge loss does not flatten the rest."""
    low = np.quantile(score, 0.001, method="lower")
    high = np.quantile(score, 0.999, method="higher")
    return float(low), float(high)


def score_histogram(e: Examples, rows: np.ndarray) -> str:
    """How many examples have which score, by what became of them, one upon the other.

    The outermost bars hold the thousandth beyond them too.
    """
    seen = rows[e.rank[rows] > 0]
    score, fate = np.clip(e.score[seen], *score_range(e.score[seen])), fates(e)[seen]
    edges = np.histogram_bin_edges(score, min(BINS, 5 + len(seen) // 10))
    counts = np.stack([np.histogram(score[fate == k], edges)[0] for k in range(len(FATES))])
    tops = np.vstack([np.zeros(len(edges) - 1), counts.cumsum(axis=0)])
    ends = float(edges[0]), float(edges[-1])
    axes = Axes(_within(*ends), ticks(0, tops[-1].max(), whole=True), ("score", "examples"), ends)
    paths = [axes.steps(edges, top) for top in tops]
    back = [axes.steps(edges[::-1], top[::-1]) for top in tops]
    drawn = [f'<path d="M{paths[k + 1]}L{back[k]}Z" fill="var(--{name})"/>' for k, name in enumerate(FATES)]
    if e.true is not None:
        wrong = np.histogram(score[(e.true != e.label)[seen]], edges)[0]
        drawn.append(f'<path d="M{axes.steps(edges, wrong)}" fill="none" stroke="var(--ink)" stroke-width="1.2"/>')
    return axes.svg(*drawn)


def learning_curves(curves: Sequence[Curve]) -> str:
    """Accuracy after each epoch, in percent, one curve per stage."""
    percents: list[Curve] = [(epochs, 100 * np.asarray(shares)) for epochs, shares in curves]
    axes = _over_epochs(percents, "accuracy, %")
    return axes.svg(*(
        axes.line(curve, f"var(--curve-{k % CURVES})", DASHES[k % len(DASHES)]) for k, curve in enumerate(percents)
    ))  # fmt: skip


def loss_curves(kept: np.ndarray, wrong: np.ndarray, start: int) -> str:
    """Mean losses after each recorded epoch, of which `start` is the first, from 0; the axis counts from 1."""
    curves: list[Curve] = [(range(start + 1, start + 1 + len(losses)), losses) for losses in (kept, wrong)]
    axes = _over_epochs(curves, "mean loss", floor_at=0.0)
    return axes.svg(axes.line(curves[0], "var(--kept)"), axes.line(curves[1], "var(--wrong)", DASHES[1]))


def panels(groups: Sequence[Sequence[Curve]]) -> list[str]:
    """Curves of accuracy over epochs, a plot for each group, all of one scale; behind it, in grey, the first group."""
    if not any(groups):
        return []
    axes = _over_epochs([curve for group in groups for curve in group], "accuracy, %", size=(240.0, 180.0))
    behind = [axes.line(curve, "var(--quiet)", width=0.8) for curve in groups[0]]
    return [axes.svg(*behind, *(axes.line(curve, "var(--kept)") for curve in group)) for group in groups]


def _over_epochs(
    curves: Sequence[Curve], name: str, *, floor_at: float | None = None, size: tuple[float, float] = (468.0, 215.0)
) -> Axes:
    """Whole epochs across; up whatever there is, or from a fixed floor."""
    epochs = np.concatenate([np.asarray(across, np.float64) for across, _ in curves])
    values = np.concatenate([np.asarray(up, np.float64) for _, up in curves])
    values = values[np.isfinite(values)]
    low, high = float(epochs.min()), float(epochs.max())
    room = 0.04 * (high - low) if high > low else 0.5
    up = ticks(float(values.min()) if floor_at is None else floor_at, float(values.max()))
    return Axes(_within(low, high, whole=True), up, ("epoch", name), (low - room, high + room), size)


def sparklines(e: Examples, rows: np.ndarray) -> list[Sparkline | None]:
    """A small histogram for each class, all over the same scores; None where no example of the class was seen.

    A path for each of FATES, over SPARK_BINS units of width with the ground at SPARK_HEIGHT, an empty one where there
    is nothing; and `cuts`: where the kept end, and where the likely wrong begin.
    """
    seen, c, f = rows[e.rank[rows] > 0], len(e.classes), len(FATES)
    if not len(seen):
        return [None] * c
    low, high = score_range(e.score[seen])
    scale = SPARK_BINS / (high - low) if high > low else 0.0
    place, label, fate = np.clip((e.score[seen] - low) * scale, 0, SPARK_BINS), e.label[seen], fates(e)[seen]
    cell = (label * f + fate) * SPARK_BINS + np.minimum(place, SPARK_BINS - 1).astype(np.int64)
    counts = np.bincount(cell, minlength=c * f * SPARK_BINS).reshape(c, f, SPARK_BINS)
    ends, begins = np.full(c, -np.inf), np.full(c, np.inf)
    kept, wrong = fate == FATES.index("kept"), fate == FATES.index("wrong")
    np.maximum.at(ends, label[kept], place[kept])
    np.minimum.at(begins, label[wrong], place[wrong])
    return [_sparkline(*drawn) for drawn in zip(counts, ends.tolist(), begins.tolist(), strict=True)]


def _sparkline(counts: np.ndarray, kept_end: float, wrong_begin: float) -> Sparkline | None:
    """Bars stand one upon the other; heights are square roots, so that a few wrong ones can be seen."""
    stacked = counts.cumsum(axis=0)
    if not stacked[-1].any():
        return None
    heights = SPARK_HEIGHT * np.sqrt(stacked / stacked[-1].max())
    bars = [_bars(np.where(count > 0, top, 0)) for count, top in zip(counts, heights, strict=True)]
    cuts = tuple(round(cut, 2) for cut in (kept_end, wrong_begin) if np.isfinite(cut))
    return {**dict(zip(FATES, bars, strict=True)), "cuts": cuts}


def _bars(heights: np.ndarray) -> str:
    """The outline of the bars that are there."""
    pieces, above = [], False
    for k, height in enumerate(heights.tolist()):
        if height > 0:
            pieces.append(f"{'' if above else f'M{k} {SPARK_HEIGHT:g}'}V{SPARK_HEIGHT - height:.1f}h1")
        elif above:
            pieces.append(f"V{SPARK_HEIGHT:g}z")
        above = height > 0
    return "".join(pieces) + (f"V{SPARK_HEIGHT:g}z" if above else "")
