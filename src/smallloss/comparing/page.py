"""The page of a comparison: a line for each method, its difference to plain training, what it costs, its curve."""

from collections.abc import Iterable, Mapping, Sequence
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

_DIGITS = {"best": 2, "last": 2, "selected_precision": 2, "precision": 2, "kept": 0, "seconds": 1}
_SURE = 1.959963984540054  # of a normal distribution, 95 %


def lines_of(rows: Sequence[dict[str, Any]], grid: "Grid") -> list[dict[str, Any]]:
    """One for each method, plain training first."""
    lines: list[dict[str, Any]] = []
    plain: dict[int, tuple[Any, Any]] = {}
    for name in sorted({row["method"] for row in rows}, key=lambda name: (name != REFERENCE, name)):
        mine = sorted((row for row in rows if row["method"] == name), key=lambda row: row["seed"])
        right = {row["seed"]: _right(grid, name, row["seed"]) for row in mine}
        plain = plain or right
        lines.append({
            "name": methods.called(name), "net": mine[0]["net"], "told": methods.needs(name),
            "beside": "" if name == REFERENCE else difference(right, plain).words,
            "times": _spread([row["seconds"] / row["plain_seconds"] for row in mine], 2),
            "curves": [list(zip(*row["curve"], strict=True)) for row in mine if row["curve"]],
            **{what: _spread([row[what] for row in mine], digits) for what, digits in _DIGITS.items()},
        })  # fmt: skip
    return lines


def in_words(lines: Sequence[dict[str, Any]]) -> str:
    """For a terminal."""
    width = max((len(line["name"]) for line in lines), default=0)
    return "\n".join(f"{line['name']:<{width}}  {line['last']} %  {line['beside']}".rstrip() for line in lines)


def write_page(
    rows: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]], failed: Mapping[str, str], grid: "Grid"
) -> Path:
    """report.html, from the rows, a line for each method and the run folders."""
    first = Run.read(grid.run_of(rows[0]["method"], rows[0]["seed"])) if rows else None
    drawn = zip(lines, panels([line["curves"] for line in lines]), strict=False)
    page = environment(Path(__file__).parent).get_template("page.html.jinja").render(
        name=first.name if first else "", on=first.accuracy_on if first else "",
        notes=first.notes[:1] if first else [], lines=lines, failed=failed, seeds=len({row["seed"] for row in rows}),
        curves=[(line["name"], Markup(panel)) for line, panel in drawn],
        made=sorted({f"{row['hardware']}; {row['commit'] or row['version']}" for row in rows}),
    )  # fmt: skip
    return write_text(grid.folder / "report.html", page)


def _spread(values: Iterable[float | None], digits: int) -> str:
    """Mean, and the standard deviation where there are several; a dash where one is not known."""
    known = list(values)
    numbers = [float(value) for value in known if value is not None]
    if len(numbers) < len(known):
        return "–"
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


def _right(grid: "Grid", method: str, seed: int) -> tuple[Any, Any]:
    """Which examples were tested, and which of them the method got right."""
    run = Run.read(grid.run_of(method, seed))
    right = next(one.right for one in run.accuracies if one.method == method)
    held_out = run.examples.rows(HELD_OUT)
    return (held_out if len(held_out) == len(right) else np.arange(len(right))), right
