"""What the served pages save into the run folder: one table of decisions, one of answers at random, never mixed."""

import csv
import io
from pathlib import Path
from typing import NamedTuple

from smallloss import files
from smallloss.auditing.run import Audited
from smallloss.auditing.written import AGAIN, KINDS, RANDOM
from smallloss.noise.answers import COLUMNS, SUSPICIOUS
from smallloss.report.workbench import FILE

_STRATUM, _KEY, _INDEX, _ANSWER = (COLUMNS.index(name) for name in ("stratum", "run", "index", "answer"))


class Saved(NamedTuple):
    """A table by its route: its file, and why what stands in it was asked. whole: what it lacks is taken back."""

    name: str
    strata: frozenset[str]
    whole: bool

    def path(self, run: Audited) -> Path:
        return run / self.name

    def read(self, run: Audited) -> bytes:
        return self.path(run).read_bytes() if self.path(run).is_file() else b""

    def write(self, run: Audited, body: bytes) -> bool:
        """Whether it is such a table on this run, as a page writes it: lines that end."""
        rows = self._ours(run, body)
        if rows is None:
            return False
        (run / "").mkdir(exist_ok=True)
        files.write_text(self.path(run), body.decode() + ("" if self.whole else self._left(run, rows)))
        return True

    def _left(self, run: Audited, rows: list[list[str]]) -> str:
        """What was answered before, and is not asked now."""
        there = {(row[_INDEX], row[_STRATUM]) for row in rows}
        before = self._ours(run, self.read(run)) or []
        left = io.StringIO(newline="")
        csv.writer(left, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
            row for row in before if row[_ANSWER] and (row[_INDEX], row[_STRATUM]) not in there
        )
        return left.getvalue()

    def _ours(self, run: Audited, body: bytes) -> list[list[str]] | None:
        try:
            columns, *rows = csv.reader(io.StringIO(body.decode(), newline=""), strict=True)
        except (ValueError, csv.Error):
            return None
        ours = (len(row) == len(COLUMNS) and row[_STRATUM] in self.strata and row[_KEY] == run.key for row in rows)
        return rows if tuple(columns) == COLUMNS and all(ours) else None


DECISIONS = Saved(FILE, frozenset({SUSPICIOUS}), whole=True)
# A page asks some of a round: what was answered on another one, and not read back yet, stays.
ANSWERS = Saved(f"{KINDS[RANDOM]}-answers.csv", frozenset({RANDOM, AGAIN}), whole=False)
ROUTES = {"decisions": DECISIONS, "answers": ANSWERS}
