"""Figures as files: drawn from run folders, as SVG and PNG, with what each shows."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from smallloss.comparing.jobs import run_of
from smallloss.errors import InputError
from smallloss.files import write_bytes, write_json
from smallloss.paper import figures, trained
from smallloss.paper.cells import Cell
from smallloss.paper.figures import Plot

PLAIN = (
    Plot("fig1", "Fig. 1: three kinds of noise", "Uniform, pairwise and structured noise.", figures.matrices),
    Plot("fig_beta", "Appendix C: prop(i) for some β", "At a rate of 0.5 another branch begins.", figures.proportions),
    Plot("fig_gamma", "Appendix C: relative numbers for some γ",
         "Balancing matters for structured noise alone.", figures.relative_numbers),
    Plot("fig_kappa", "Appendix C: weights for some κ", "The larger κ, the less uncertain examples weigh.",
         figures.weights),
)  # fmt: skip
PLOTS = {plot.name: plot for plot in (*PLAIN, *trained.PLOTS)}
_HASHES: Any = {"svg.hashsalt": "smallloss", "svg.fonttype": "none", "savefig.dpi": 110}  # equal data, equal bytes


def plot_of(name: str) -> Plot:
    require_matplotlib()
    return PLOTS[name]


def draw(plot: Plot, out: Path, runs: Mapping[Cell, Path]) -> None:
    """OUT/figures/NAME.svg and .png, and in NAME.json what it shows. A run that is not there leaves its place empty."""
    import matplotlib

    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_HASHES):
        shown = plot.draw(*([_seen(plot, runs)] if plot.noises else []))
        for ending, said in (("svg", {"Date": None}), ("png", None)):
            drawn = BytesIO()
            shown.figure.savefig(drawn, format=ending, metadata=said)
            write_bytes(folder / f"{plot.name}.{ending}", drawn.getvalue())
    write_json(folder / f"{plot.name}.json", {"found": shown.found, "holds": shown.holds})


def _seen(plot: Plot, runs: Mapping[Cell, Path]) -> dict[str, trained.Losses]:
    """By the noise, or by the share of the data where that is what differs."""
    found = {}
    for cell, folder in runs.items():
        run = run_of(folder, "cross_entropy", 0)
        if (run / "report.html").is_file():
            found[cell.spec if len(plot.shares) == 1 else f"{cell.share:g}"] = trained.Losses(run)
    return found


def require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("The paper's figures are drawn by matplotlib: pip install 'smallloss[paper]'.") from None
