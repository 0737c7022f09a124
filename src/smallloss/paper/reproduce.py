"""`smallloss reproduce`: a table or figure of the paper from our own runs, beside the paper's, on one page."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from smallloss.errors import InputError
from smallloss.files import write_text
from smallloss.knobs import Arg, Opt, several
from smallloss.paper.cells import Cell
from smallloss.paper.items import TABLES, Row, Table
from smallloss.words import counted, listed

if TYPE_CHECKING:
    from smallloss.paper.figures import Plot

FIGURES = (
    "fig1", "fig2", "fig3", "fig4", "fig4_more", "fig5", "fig5_pairwise", "fig5_structured", "fig_beta", "fig_gamma",
    "fig_kappa",
)  # fmt: skip
_PLAIN = "as it is"


class Reproduced(NamedTuple):
    page: Path
    words: str
    failed: dict[str, str]


def reproduce(
    name: Annotated[str, Arg("NAME", f"What to make: {', '.join((*TABLES, *FIGURES))}.")],
    out: Annotated[str | Path, Opt("FOLDER", "Folder of all runs and their page. The same command goes on; several may "
        "at once.", kind=Path, required=True)] = "",
    *,
    data: Annotated[str | Path | None, Opt("FOLDER", "Holds the official files of CIFAR-10, CIFAR-100; of "
        "WebVision for table4.")] = None,
    cells: Annotated[str | None, Opt("NAMES", "Some cells only, with commas, as cifar10/uniform/0.5; "
        "digits/uniform/0.5 needs no files.")] = None,
    methods: Annotated[str | None, Opt("NAMES", "Some methods only, with commas.")] = None,
    preset: Annotated[str | None, Opt("NAME", "paper, fast (GPU) or cpu. If left out, by the hardware; for fig2 to "
        "fig5 appendix B's recipe; for table4 the paper's, or `better` with small steps.")] = None,
    net: Annotated[Any, Opt("NAME", "Network to train. If left out, the preset's; for table4 inception-resnet-v2."
        )] = None,
    epochs: Annotated[int | None, Opt("N", "Epochs of every stage, instead of the preset's.")] = None,
    seeds: Annotated[int, Opt("N", "Seeds from 0: each draws its own noise, parts and weights.", least=1)] = 1,
    device: Annotated[str, Opt("NAME", "auto, cpu or cuda.")] = "auto",
    say: Callable[[str], None] = print,
) -> Reproduced:  # fmt: skip
    """Make a table or figure of the paper from runs of our own, with the paper's figures beside them.

    What was run is never run again; entries that were not are blank.
    """
    folder, how = Path(out), {"preset": preset, "net": net, "epochs": epochs, "device": device}
    how = {option: value for option, value in how.items() if value is not None}
    place = None if data is None else Path(data)
    if name in TABLES:
        failed = _table(TABLES[name], folder, place, cells, methods, how, seeds, say)
    elif name in FIGURES:
        failed = _figure(name, folder, place, cells, how, say)
    else:
        raise InputError(f"There is nothing named {name!r} to reproduce; there are {', '.join((*TABLES, *FIGURES))}.")
    from smallloss.paper.page import write_page

    page, words = write_page(folder, name)
    return Reproduced(page, words, failed)


def _table(
    table: Table, out: Path, data: Path | None, cells: str | None, methods: str | None, how: Mapping[str, Any],
    seeds: int, say: Callable[[str], None],
) -> dict[str, str]:  # fmt: skip
    from smallloss import methods as known
    from smallloss.paper.tables import ours, work_of
    from smallloss.paper.webvision import WebVision, recipe

    names = several(cells) or list(table.cells)
    asked, there = several(methods), {row.method for row in table.rows}
    for method in asked:
        known.get(method)
        if method not in there:
            raise InputError(f"{table.name} has no row of {method!r}; its methods are {', '.join(sorted(there))}.")
    if table.measured_on and cells is not None:
        raise InputError(f"{table.name} has no cells to choose: every run of it is measured on all its sets.")
    places: Sequence[Cell | WebVision]
    if table.measured_on:
        places, how = [whole := WebVision(data)], recipe(how)
        for lack in whole.lacks:
            say(lack)
    else:
        places = [Cell(name, data) for name in names]
    works = list(work_of(table, places, asked or None))
    say(_plan(out, [(work.folder(out), work.rows) for work in works], seeds))
    failed: dict[str, str] = {}
    for work in works:
        say(f"{work.cell.name}{'' if work.variant == _PLAIN else f', {work.variant}'}: {work.methods}")
        found = work.run(out, how, seeds, lambda words: say(f"  {words}"))
        failed |= {f"{work.cell.name}, {what}": why for what, why in found.failed.items()}
        lines = ours(table, out, names)
        write_text(out / f"{table.name}.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    return failed


def _figure(
    name: str, out: Path, data: Path | None, cells: str | None, how: Mapping[str, Any], say: Callable[[str], None]
) -> dict[str, str]:
    """Its runs first, one plain training for each of its cells."""
    from smallloss.paper.drawn import draw, plot_of

    plot = plot_of(name)
    asked = several(cells)
    runs = dict(_runs(plot, Cell(asked[0]).source if asked else "cifar10", data, out))
    there = list(dict.fromkeys(cell.name for cell in runs))
    for one in asked:
        if one not in there:
            raise InputError(f"{name} is made of {listed(there, 12, str) or 'no runs'}, not of {Cell(one).name}.")
    failed: dict[str, str] = {}
    for cell, folder in runs.items():
        if not asked or cell.name in asked:
            failed |= _train(cell, folder, how, say)
    draw(plot, out, runs)
    return failed


def _runs(plot: "Plot", source: str, data: Path | None, out: Path) -> Iterator[tuple[Cell, Path]]:
    from smallloss.paper.tables import folder_of

    for noise in plot.noises:
        for share in plot.shares:
            cell = Cell(f"{source}/{noise.replace(':', '/')}", data, share)
            yield cell, folder_of(out, cell.name, "appendix B" if share == 1 else f"appendix B, {share:g} of the data")


def _train(cell: Cell, folder: Path, how: Mapping[str, Any], say: Callable[[str], None]) -> dict[str, str]:
    from smallloss.comparing.compare import compare
    from smallloss.paper.trained import recipe

    say(f"{cell.name}{'' if cell.share == 1 else f', {cell.share:g} of the data'}: plain training")
    options = recipe(how) | cell.told()
    found = compare(cell, folder, methods="cross_entropy", seeds=1, say=lambda _: None, beside=(), **options)
    return {f"{cell.name}, {what}": why for what, why in found.failed.items()}


def _plan(out: Path, works: Sequence[tuple[Path, Sequence[Row]]], seeds: int) -> str:
    """What there is to do, and what it will cost by what similar runs have cost here."""
    from smallloss.comparing.jobs import Results

    asked = {(folder, method, seed) for folder, rows in works for method in ("cross_entropy", *(r.method for r in rows))
             for seed in range(seeds)}  # fmt: skip
    lines = [(folder, line) for folder in {folder for folder, _ in works} for line in Results(folder).rows()]
    done = asked & {(folder, line["method"], line["seed"]) for folder, line in lines}
    left = len(asked) - len(done)
    plan = f"{counted(len(asked), 'run')}, {len(done)} of them done."
    if not left:
        return plan
    if not lines:
        return f"{plan} What they cost here is said once the first is done."
    mean = sum(line["seconds"] for _, line in lines) / len(lines)
    return f"{plan} At {mean:,.0f} s each, the mean of those done here, the other {left} take {_time(left * mean)}."


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"
