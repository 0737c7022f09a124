"""Figures by matplotlib, the same bytes for the same data, whatever style the user has set."""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, QUIET, RIGHT, WRONG = "#1f2328", "#6e7781", "#1a7f5a", "#c2410c"
COLOURS = ("#1f6feb", "#c2410c", "#1a7f5a", "#8250df")
_STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "smallloss", "text.parse_math": False, "font.size": 9,
    "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#d8dee4", "grid.linewidth": 0.5, "axes.axisbelow": True, "axes.edgecolor": QUIET,
    "xtick.color": QUIET, "ytick.color": QUIET, "text.color": INK, "axes.labelcolor": INK, "legend.frameon": False,
    "lines.linewidth": 1.4,
}  # fmt: skip


@contextmanager
def _styled() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def drawn(draw: Callable[["Figure"], None], size: tuple[float, float]) -> tuple[str, bytes]:
    """A figure as SVG, to stand in a page or alone, and as PNG."""
    from matplotlib.figure import Figure

    with _styled():
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        text, picture = io.StringIO(), io.BytesIO()
        figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    _, _, svg = text.getvalue().partition("<svg")
    return "<svg" + re.sub(r"(?s)<metadata>.*?</metadata>\s*", "", svg), picture.getvalue()


def curves_of(curves: Mapping[str, Sequence[Sequence[tuple[int, float]]]], reference: str) -> str:
    """Small multiples: for each method a panel with the curve of every seed, the reference's mean in grey behind."""
    names = list(curves)
    columns = min(4, len(names))
    rows = -(-len(names) // columns)

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for panel, name in zip(panels, names, strict=False):
            for shown, of in ((reference, QUIET), (name, COLOURS[0])):
                for curve in curves.get(shown, ()):
                    epochs, shares = np.array(curve, float).reshape(-1, 2).T
                    marker = "o" if len(curve) == 1 else ""
                    thin = 0.8 if shown != name else 1.4
                    panel.plot(epochs, shares, color=of, linewidth=thin, marker=marker, markersize=3)
            panel.set_title(name)
            panel.xaxis.get_major_locator().set_params(integer=True)
        for panel in panels[len(names) :]:
            panel.set_visible(False)
        figure.supxlabel("epoch of the last stage", fontsize=9)
        figure.supylabel("accuracy, %", fontsize=9)

    return drawn(draw, (2.4 * columns + 0.5, 1.9 * rows + 0.4))[0]
