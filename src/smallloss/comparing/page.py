"""The page of a comparison: a line for each method, its difference to plain training, what it costs, its curve."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from smallloss import methods
from smallloss.files import write_text
from smallloss.record.examples import HELD_OUT
from smallloss.record.run import Run
from smallloss.report.compare import REFERENCE, Difference, paired
from smallloss.report.svg import panels
from smallloss.report.templates import environment

if TYPE_CHECKING:
    from smallloss.comparing.jobs import Grid

HERE = Path(__file__).parent
_DIGITS = {"kept": 0, "seconds": 1}
_SURE = 1.959963984540054  # of a normal distribution, 95 %


def lines_of(rows: Sequence[dict[str, Any]], grid: "Grid") -> list[dict[str, Any]]:
    """One for each method, plain training first."""
    names = _methods(rows)
    right = {name: {row["seed"]: _right(grid, row) for row in rows if row["method"] == name} for name in names}
    lines = []
    for name in names:
        some = sorted((row for row in rows if row["method"] == name), key=lambda row: row["seed"])
        beside = "" if name == REFERENCE else difference(right[name], right[REFERENCE]).words
        lines.append(_line(name, some, beside))
    return lines


def in_words(lines: Sequence[dict[str, Any]]) -> str:
    """For a terminal."""
    width = max((len(line["name"]) for line in lines), default=0)
    return "\n".join(f"{line['name']:<{width}}  {line['last']} %  {line['beside']}".rstrip() for line in lines)


def _methods(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [name for name in (REFERENCE,) if rows] + sorted({row["method"] for row in rows} - {REFERENCE})


def write_page(
    folder: Path, rows: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]], failed: dict[str, str], grid: "Grid"
) -> Path:
    """report.html, from the rows, a line for each method and the run folders."""
    names = _methods(rows)
    runs = [Run.read(grid.run_of_row(row)) for row in rows[:1]]
    curves = [[_curve(row) for row in rows if row["method"] == name and row["curve"]] for name in names]
    drawn = [(methods.called(name), Markup(panel)) for name, panel in zip(names, panels(curves), strict=False)]
    page = environment(HERE).get_template("page.html.jinja").render(
        name=runs[0].name if runs else "", on=runs[0].accuracy_on if runs else "", lines=lines, failed=failed,
        seeds=len({row["seed"] for row in rows}), curves=drawn,
        made=sorted({f"{row['hardware']}; {row['commit'] or row['version']}" for row in rows}),
        notes=runs[0].notes[:1] if runs else [],
    )  # fmt: skip
    return write_text(folder / "report.html", page)


def _curve(row: dict[str, Any]) -> Any:
    """Epochs, and accuracies after them in percent."""
    return list(zip(*row["curve"], strict=True))


def _line(name: str, rows: Sequence[dict[str, Any]], beside: str) -> dict[str, Any]:
    times = [row["seconds"] / row["plain_seconds"] for row in rows]
    taken = ("best", "last", "selected_precision", "precision", "kept", "seconds")
    return {
        "name": methods.called(name), "beside": beside, "times": spread(times, 2), "net": rows[0]["net"],
        **{what: spread([row[what] for row in rows], _DIGITS.get(what, 2)) for what in taken},
    }  # fmt: skip


def spread(values: Iterable[float | None], digits: int = 2) -> str:
    """Mean, and the standard deviation where there are several; a dash where one is not known."""
    known = list(values)
    if not known or any(value is None for value in known):
        return "–"
    numbers = [float(value) for value in known if value is not None]
    more = f" ± {stdev(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return f"{mean(numbers):,.{digits}f}{more}"


def difference(ours: dict[int, tuple[Any, Any]], theirs: dict[int, tuple[Any, Any]]) -> Difference:
    """Paired, over all seeds: with one by Tango's interval; with several an example that was tested in all of them
    counts as one draw, not as many."""
    seeds = sorted(ours.keys() & theirs.keys())
    if len(seeds) == 1:
        return paired(ours[seeds[0]][1], theirs[seeds[0]][1])
    example = np.concatenate([ours[seed][0] for seed in seeds])
    gained = np.concatenate([ours[seed][1].astype(float) - theirs[seed][1] for seed in seeds])
    value = float(gained.mean())
    _, which = np.unique(example, return_inverse=True)
    error = _SURE * float(np.sqrt((np.bincount(which, gained - value) ** 2).sum())) / len(gained)
    return Difference(value, value - error, value + error)


def _right(grid: "Grid", row: dict[str, Any]) -> tuple[Any, Any]:
    """Which examples were tested, and which of them the method got right."""
    run = Run.read(grid.run_of_row(row))
    right = next(one.right for one in run.accuracies if one.method == row["method"])
    held_out = run.examples.rows(HELD_OUT)
    return (held_out if len(held_out) == len(right) else np.arange(len(right))), right
