"""What an export wrote, in counts and in words."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Exported:
    """Counts are of examples; `str` is what a terminal shows."""

    path: Path
    examples: int  # of the run
    written: int
    relabelled: int = 0  # of the written, those under another label than they had
    unreadable: int = 0  # of those left out
    by_hand: int = 0  # of the relabelled, those under the label that a person named
    found_wrong: int = 0  # of those left out, those that a person found wrong
    note: str = ""  # how to put it beside the data, where its columns are not in it

    @property
    def left_out(self) -> int:
        return self.examples - self.written

    def __str__(self) -> str:
        suggested = self.relabelled - self.by_hand
        written = [f"{self.written:,} examples"]
        written += [f"{suggested:,} under their suggested label"] if suggested else []
        written += [f"{self.by_hand:,} under the label given by hand"] if self.by_hand else []
        left_out = [f"{self.left_out:,} left out"]
        left_out += [f"{self.found_wrong:,} of them found wrong by hand"] if self.found_wrong else []
        left_out += [f"{self.unreadable:,} of them unreadable"] if self.unreadable else []
        said = f"{self.path}: {', '.join(written)}; {', '.join(left_out)}"
        return f"{said}\n{self.note}" if self.note else said
