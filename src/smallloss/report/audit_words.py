"""What the audit command says beside its result: how many were asked about, what was written, what comes next."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smallloss.data.tables import read_table
from smallloss.words import counted


def how_many(table: Path, kept: int, dropped: int) -> str:
    """How many examples of each stratum a table asks about, and where that is all there are, fewer than wanted."""
    strata = read_table(table).column("stratum").to_pylist()
    found = {"kept": (strata.count("kept"), kept), "dropped": (strata.count("dropped"), dropped)}
    said = [
        f"{count:,} {name}{', all that are left' if count < wanted else ''}"
        for name, (count, wanted) in found.items()
        if wanted
    ]
    return f"{counted(len(strata), 'question')}: {'; '.join(said)}."


def next_run(data: Mapping[str, Any], rates: Path, corrections: Path) -> str:
    """The files that were written, and the command that takes them. data: what the config of the run says of it."""
    source = data.get("source") or "DATA"
    options = {"--label": data.get("label"), "--labels": "LABELS" if source.endswith(".npy") else None}
    options |= {"--out": "NEW", "--noise-rate": rates, "--corrections": corrections}
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return (
        f"Written: {rates} and {corrections}. To clean again with both, add the other options of this run to:\n"
        f"{shlex.join(['smallloss', 'clean', source, *words])}"
    )
