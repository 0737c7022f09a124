"""The result on a terminal: the verdict, the methods, the classes, and where the files are."""

import shlex
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smallloss.criterion.selection import Selection
from smallloss.record.run import Run
from smallloss.report import facts
from smallloss.report.compare import REFERENCE
from smallloss.report.facts import ClassRow, printable
from smallloss.words import percent, wrapped

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

    def say(words: str, style: str = "", *, width: int | None = console.width) -> None:
        console.print(Text(wrapped(printable(words), width), style=style), soft_wrap=True)

    console.print()
    say(run.verdict.headline, _STYLES[run.verdict.tone])
    if run.verdict.counts:
        say(run.verdict.counts)
    if run.accuracies:
        console.print()
        for sentence in facts.accuracy_words(run):
            say(sentence)
        console.print(_methods(run))
    console.print()
    for piece in _classes(run):
        console.print(piece)
    for note in _unsaid(run):
        say(f"Note: {note}")
    if folder is None:
        return
    console.print()
    audit = ["smallloss", "audit", str(folder)]
    lines = [
        f"{Path(folder) / 'report.html'}  (the report: open it in a browser)",
        f"{Path(folder) / 'examples.csv'}  (every example, in input order; also examples.parquet)",
        f"{shlex.join(audit)}  (to check by hand what is kept)",
    ]
    if run.examples.likely_wrong.any():
        lines.append(f"{shlex.join([*audit, '--suspicious', str(_TO_LOOK_AT)])}  (to correct the worst)")
    for line in lines:  # in a file each stays one, to be copied
        say(line, width=console.width if console.is_terminal else None)


def _unsaid(run: Run) -> list[str]:
    """The notes that were not among the choices, which were printed before anything was trained."""
    said = [printable(f"{name} {words}").lower() for name, words in run.settings.get("chosen", {}).items()]
    return [note for note in facts.notes(run) if not any(note.lower() in line for line in said)]


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

    rows = facts.method_rows(run)
    true = bool(rows[0].true)
    # By true labels the network as it is at the end is what is shipped, and there is no room for all.
    columns = {"given labels": "last"} if true else {title: title for title in rows[0].shares}
    table = _table(f"Accuracy on {printable(run.accuracy_on)}")
    table.add_column("method", no_wrap=True)
    table.add_column("net", no_wrap=True, overflow="ellipsis", max_width=NET_SHOWN)
    timed = not any(isnan(row.seconds) for row in rows)  # of a run read back nobody knows
    for name in (*(["true labels"] if true else []), *columns, *(["seconds"] if timed else [])):
        title = name.replace("mean of ", "mean of\n").replace(" labels", "\nlabels")
        table.add_column(title, justify="right", no_wrap=True, style="dim" if name == "given labels" else "")
    by = " by given labels" if true else ""
    table.add_column(f"compared with {facts.called(run, REFERENCE)}{by} (95 % interval)")
    for row in rows:
        numbers = [*([row.true] if true else []), *(percent(row.shares[title]) for title in columns.values())]
        numbers += [f"{row.seconds:,.0f}"] if timed else []
        table.add_row(*map(Text, (row.name, row.net, *numbers, row.beside)))
    return table


def _classes(run: Run) -> list["Table | str"]:
    """The classes in their order; where there are many, those with the largest noise rates."""
    from rich.text import Text

    known = run.examples.true is not None
    rows = facts.class_rows(run)
    hidden = len(rows) - CLASSES_SHOWN
    if hidden > 0:
        rows = sorted(rows, key=lambda row: -row.noise_rate)[:CLASSES_SHOWN]
    full = known and run.intervals is not None  # rates with intervals, precision and recall: just 80 columns
    pairs = ("kept:\nprec. / rec.", "likely\nwrong:\nprec. / rec.") if known else ()
    table = _class_table(f"Labels, ranked by {facts.ranked_by(run)}", *pairs, gap=0 if full else 1)
    for row in rows:
        table.add_row(*map(Text, _cells(row)))
    table.add_section()
    for row in facts.table_rows(run):
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
    pairs = [] if row.agreement is None else [facts.pair(row.agreement.kept), facts.pair(row.agreement.issues)]
    return [row.name, f"{row.examples:,}", rate, *numbers, *pairs]


def _table(title: str, gap: int = 1) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    words, padding = Text(title, style="bold"), (0, gap, 0, 0)
    return Table(title=words, title_justify="left", box=box.SIMPLE_HEAD, padding=padding, show_edge=False)
