"""A run in a cell of a notebook: the verdict and the worst labels, escaped, nothing loaded from anywhere."""

from pathlib import Path

from smallloss.record.run import Run
from smallloss.report.facts import printable
from smallloss.report.templates import environment
from smallloss.words import one_line

_ROWS = 10


def cell(run: Run, page: Path | None) -> str:
    """HTML, small enough to be looked at again and again; `page`: the report."""
    e, name = run.examples, [*map(one_line, run.examples.classes), ""]  # the last: of what has no suggestion
    worst = [
        {"id": one_line(e.ids[row]), "given": name[e.label[row]], "suggested": name[max(e.suggested[row], -1)],
         "score": float(e.label_score[row])}
        for row in e.worst[:_ROWS].tolist()
    ]  # fmt: skip
    short, _, headline = run.in_short.partition("\n")
    made = environment(Path(__file__).parent).get_template("notebook.html.jinja")
    return str(made.render(
        short=short, headline=headline, worst=worst, more=len(e.worst) - len(worst),
        page=None if page is None else printable(str(page)),
    ))  # fmt: skip
