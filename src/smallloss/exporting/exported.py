"""What an export wrote, in counts and in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from smallloss.words import listed

_GUESSES = "Suggested labels are the network's guesses: look at them before you rely on them."


@dataclass(frozen=True)
class Exported:
    """Counts are of examples; `str` is what a terminal shows."""

    path: Path
    examples: int  # of the run
    written: int
    relabelled: int = 0  # of the written, those under another label than they had
    by_hand: int = 0  # of the relabelled, those under the label that a person named
    why: Mapping[str, int] = field(default_factory=dict)  # reason -> how many are left out for it
    note: str = ""  # which columns of the data are not in it, and how to have them

    @property
    def left_out(self) -> int:
        return self.examples - self.written

    def __str__(self) -> str:
        suggested = self.relabelled - self.by_hand
        written = [f"{self.written:,} examples"]
        written += [f"{suggested:,} under the suggested label"] if suggested else []
        written += [f"{self.by_hand:,} under the label given by hand"] if self.by_hand else []
        why = ", ".join(f"{count:,} {reason}" for reason, count in self.why.items())
        said = f"{self.path}: {', '.join(written)}; {self.left_out:,} left out{f': {why}' if why else ''}"
        return "\n".join([said, *([_GUESSES] if suggested else []), *([self.note] if self.note else [])])


def left_out_of_csv(columns: list[str]) -> str:
    """The sentence on the columns that a csv cannot hold."""
    one = len(columns) == 1
    what = f"The column {listed(columns)} is" if one else f"The columns {listed(columns)} are"
    return f"{what} not in it: a csv cannot hold lists, records or bytes; --to parquet keeps {'it' if one else 'them'}."
