"""The page's plots, as SVG to stand inside it.

No text of the user is drawn here: names stand in the page's own legends, in the reader's fonts.
"""

import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from smallloss.record.examples import Examples
from smallloss.report.sparklines import score_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 60
WIDTH = 6.5  # inches, 72 units each
# Drawn in colours that stand for the page's own, so that a plot follows it into the dark and onto paper.
_COLOURS = {
    "#100001": "var(--ink)",
    "#100002": "var(--quiet)",
    "#100003": "var(--line)",
    "#200001": "var(--kept)",
    "#200002": "var(--aside)",
    "#200003": "var(--wrong)",
    "#300000": "var(--curve-0)",
    "#300001": "var(--curve-1)",
    "#300002": "var(--curve-2)",
    "#300003": "var(--curve-3)",
}
_INK, _QUIET, _LINE, _KEPT, _ASIDE, _WRONG, *_CURVES = _COLOURS
CURVES = len(_CURVES)
DASHES = ("", "6 2", "2 2", "6 2 2 2")  # a second way to tell curves apart
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "smallloss",
    "text.parse_math": False,
    "font.size": 10.5,
    "text.color": _QUIET,
    "axes.labelcolor": _QUIET,
    "axes.edgecolor": _LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": _LINE,
    "xtick.labelcolor": _QUIET,
    "ytick.color": _LINE,
    "ytick.labelcolor": _QUIET,
    "ytick.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": _LINE,
    "grid.linewidth": 0.6,
}


def score_histogram(e: Examples, rows: np.ndarray) -> str:
    """How many examples have which score, by what became of them, one upon the other.

    The outermost bars hold the thousandth beyond them too, so that one huge loss does not flatten the rest.
    """
    seen = rows[e.rank[rows] > 0]
    score = np.clip(e.score[seen], *score_range(e.score[seen]))
    edges = np.histogram_bin_edges(score, min(BINS, 5 + len(seen) // 10))
    kept, issue = e.kept[seen], (e.likely_wrong | e.corrected)[seen]

    def draw(axes: "Axes") -> None:
        floor = np.zeros(len(edges) - 1)
        for which, colour in ((kept, _KEPT), (~kept & ~issue, _ASIDE), (issue, _WRONG)):
            top = floor + np.histogram(score[which], edges)[0]
            axes.stairs(top, edges, baseline=floor, fill=True, color=colour, linewidth=0)
            floor = top
        if e.true is not None:
            wrong = np.histogram(score[(e.true != e.label)[seen]], edges)[0]
            axes.stairs(wrong, edges, color=_INK, linewidth=1.2)
        axes.set_xlabel("score")
        axes.set_ylabel("examples")
        axes.locator_params(axis="y", integer=True, nbins=5)

    return _svg("scores", 2.9, draw)


def learning_curves(curves: Sequence[tuple[Sequence[int], Sequence[float]]]) -> str:
    """Accuracy after each epoch, in percent, one curve per stage."""

    def draw(axes: "Axes") -> None:
        for k, (epochs, shares) in enumerate(curves):
            axes.plot(epochs, [100 * share for share in shares], **_line(k, alone=len(epochs) == 1))
        axes.set_xlabel("epoch")
        axes.set_ylabel("accuracy, %")
        axes.locator_params(axis="x", integer=True)
        axes.locator_params(axis="y", nbins=5)

    return _svg("curves", 2.9, draw)


def loss_curves(kept: np.ndarray, wrong: np.ndarray, start: int) -> str:
    """Mean losses after each recorded epoch, of which `start` is the first, from 0; the axis counts from 1."""

    def draw(axes: "Axes") -> None:
        for k, (losses, colour) in enumerate(((kept, _KEPT), (wrong, _WRONG))):
            epochs = start + 1 + np.arange(len(losses))
            axes.plot(epochs, losses, **_line(k, alone=len(epochs) == 1) | {"color": colour})
        axes.set_ylim(bottom=0)
        axes.set_xlabel("epoch")
        axes.set_ylabel("mean loss")
        axes.locator_params(axis="x", integer=True)
        axes.locator_params(axis="y", nbins=5)

    return _svg("losses", 2.9, draw)


def _line(k: int, *, alone: bool) -> dict[str, Any]:
    dashes = tuple(map(int, DASHES[k % len(DASHES)].split()))
    return {
        "color": _CURVES[k % CURVES],
        "linewidth": 1.6,
        "dashes": dashes,
        "marker": "o" if alone else "",  # a single point makes no line
        "markersize": 4,
    }


def _svg(prefix: str, height: float, draw: Callable[["Axes"], None]) -> str:
    """One plot, drawn the same whatever style the user has set, byte for byte."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure.add_subplot())
        return _for_page(figure, prefix)


def _for_page(figure: "Figure", prefix: str) -> str:
    """The drawing alone: no prolog, no addresses, ids of its own, and the page's colours."""
    file = io.StringIO()
    no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(file, format="svg", transparent=True, metadata=no_metadata)
    _, _, svg = file.getvalue().partition("<svg")
    head, _, drawing = svg.partition(">")
    head = re.sub(r' (xmlns(:\w+)?|version|width|height)="[^"]*"', "", head)
    text = f'<svg aria-hidden="true"{head}>' + re.sub(r"(?s)<metadata>.*?</metadata>\s*", "", drawing)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", text)
    return re.sub("|".join(_COLOURS), lambda found: _COLOURS[found[0]], text)
