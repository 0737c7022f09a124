"""The result on a terminal: the verdict, the methods, the classes, and where the files are."""

import shlex
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smallloss.criterion.selection import Selection
from smallloss.record.run import Run
from smallloss.report.compare import REFERENCE, compare, shares
from smallloss.report.facts import (
    ClassRow,
    accuracy_words,
    by_true_labels,
    called,
    class_rows,
    notes,
    printable,
    ranked_by,
    table_rows,
)
from smallloss.words import percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

CLASSES_SHOWN = 20
NET_SHOWN = 20  # letters: ours are shorter
_TO_LOOK_AT = 100  # examples: what a person goes through in a quarter of an hour
_STYLES = {"green": "bold green", "amber": "bold yellow", "red": "bold red"}


def render(run: Run, console: "Console", folder: str | Path | None = None) -> None:
    """Print the run. Names are handed to rich as Text, so that `[red]` in a name is just a name."""
    from rich.text import Text

    console.print()
    console.print(Text(run.verdict.headline, style=_STYLES[run.verdict.tone]))
    if run.verdict.counts:
        console.print(Text(printable(run.verdict.counts)))
    if run.accuracies:
        console.print()
        for sentence in accuracy_words(run):
            console.print(Text(sentence))
        console.print(_methods(run))
    console.print()
    for piece in _classes(run):
        console.print(piece)
    for note in _unsaid(run):
        console.print(Text(f"Note: {note}"))
    if folder is not None:
        console.print()
        for name, what in (
            ("report.html", "the report: open it in a browser"),
            ("examples.csv", "every example, in input order; also examples.parquet"),
        ):
            console.print(Text(f"{printable(str(Path(folder) / name))}  ({what})"), soft_wrap=True)
        audits: dict[str, list[str]] = {"to check by hand what is kept": []}
        if run.examples.likely_wrong.any():
            audits["to correct the worst"] = ["--suspicious", str(_TO_LOOK_AT)]
        for why, options in audits.items():
            command = shlex.join(["smallloss", "audit", str(folder), *options])
            console.print(Text(f"{printable(command)}  ({why})"), soft_wrap=True)


def _unsaid(run: Run) -> list[str]:
    """The notes that were not among the choices, which were printed before anything was trained."""
    said = [printable(f"{name} {words}").lower() for name, words in run.settings.get("chosen", {}).items()]
    return [note for note in notes(run) if not any(note.lower() in line for line in said)]


def render_selection(selection: Selection, console: "Console") -> None:
    """Print what became of each class, for losses that came from elsewhere."""
    from rich.text import Text

    columns = selection.class_table()
    most = np.argsort(-np.asarray(columns["noise_rate"]), kind="stable")[:CLASSES_SHOWN]
    table = _class_table("Class by class")
    for k in np.sort(most):
        counts = [f"{columns[name][k]:,}" for name in ("n", "kept", "likely_wrong", "set_aside")]
        counts.insert(1, percent(columns["noise_rate"][k]))
        table.add_row(*map(Text, (printable(str(columns["label"][k])), *counts)))
    console.print(table)
    if len(columns["label"]) > CLASSES_SHOWN:
        console.print(
            f"{len(columns['label']) - CLASSES_SHOWN:,} more classes, with smaller noise rates, are in the table."
        )
    for note in selection.notes:
        console.print(Text(f"Note: {printable(note)}"))


def _methods(run: Run) -> "Table":
    from rich.text import Text

    true, columns = by_true_labels(run), shares(run.accuracies)
    if true:  # the network as it is at the end is what is shipped, and there is no room for all
        columns = {"given labels": columns["last"]}
    table = _table(f"Accuracy on {printable(run.accuracy_on)}")
    table.add_column("method", no_wrap=True)
    table.add_column("net", no_wrap=True, overflow="ellipsis", max_width=NET_SHOWN)
    timed = not any(isnan(found.seconds) for found in run.accuracies)  # of a run read back nobody knows
    for name in (*(["true labels"] if true else []), *columns, *(["seconds"] if timed else [])):
        title = name.replace("mean of ", "mean of\n").replace(" labels", "\nlabels")
        table.add_column(title, justify="right", no_wrap=True, style="dim" if name == "given labels" else "")
    by = " by given labels" if true else ""
    table.add_column(f"compared with {called(run, REFERENCE)}{by} (95 % interval)")
    differences = compare(run.accuracies)
    for k, (found, *taken) in enumerate(zip(run.accuracies, *columns.values(), strict=True)):
        beside = differences[found.method].words if found.method in differences else ""
        numbers = (*true[k : k + 1], *map(percent, taken), *([f"{found.seconds:,.0f}"] if timed else []))
        table.add_row(*map(Text, (called(run, found.method), printable(found.net), *numbers)), beside)
    return table


def _classes(run: Run) -> list["Table | str"]:
    """The classes in their order; where there are many, those with the largest noise rates."""
    from rich.text import Text

    known = run.examples.true is not None
    rows = class_rows(run)
    hidden = len(rows) - CLASSES_SHOWN
    if hidden > 0:
        rows = sorted(rows, key=lambda row: -row.noise_rate)[:CLASSES_SHOWN]
    full = known and run.intervals is not None  # rates with intervals, precision and recall: just 80 columns
    pairs = ("kept:\nprec. / rec.", "likely\nwrong:\nprec. / rec.") if known else ()
    table = _class_table(f"Labels, ranked by {ranked_by(run)}", *pairs, gap=0 if full else 1)
    for row in rows:
        table.add_row(*map(Text, _cells(row)))
    table.add_section()
    for row in table_rows(run):
        table.add_row(*map(Text, _cells(row)), style="bold")
    pieces: list[Table | str] = [table]
    if hidden > 0:
        pieces.append(f"{hidden:,} more classes, with smaller noise rates, are in report.html.")
    return pieces


def _class_table(title: str, *more: str, gap: int = 1) -> "Table":
    table = _table(title, gap)
    table.add_column("class", overflow="ellipsis", min_width=8)  # the one to give way where room is short
    for name in ("examples", "noise", "kept", "likely\nwrong", "set\naside", *more):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _cells(row: ClassRow) -> list[str]:
    numbers = [f"{count:,}" for count in (row.kept, row.likely_wrong, row.set_aside)]
    rate = percent(row.noise_rate)
    if row.interval is not None:
        rate = f"{100 * row.noise_rate:.0f} ({100 * row.interval[0]:.0f}–{100 * row.interval[1]:.0f}) %"
    found = row.agreement
    pairs = [] if found is None else [
        _pair(found.kept_precision, found.kept_recall), _pair(found.issue_precision, found.issue_recall),
    ]  # fmt: skip
    return [row.name, f"{row.examples:,}", rate, *numbers, *pairs]


def _pair(precision: float | None, recall: float | None) -> str:
    return " / ".join("–" if share is None else f"{100 * share:.1f}" for share in (precision, recall))


def _table(title: str, gap: int = 1) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    words, padding = Text(title, style="bold"), (0, gap, 0, 0)
    return Table(title=words, title_justify="left", box=box.SIMPLE_HEAD, padding=padding, show_edge=False)
