"""What the audit command says beside its result: how many were asked about, what was written, what comes next."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smallloss.data.table_files import read_table
from smallloss.words import counted


def how_many(table: Path, kept: int, dropped: int) -> str:
    """How many examples of each stratum a table asks about, and where that is all there are, fewer than wanted."""
    strata = read_table(table).column("stratum").to_pylist()
    found = {"kept": (strata.count("kept"), kept), "dropped": (strata.count("dropped"), dropped)}
    said = [
        f"{count:,} {name}{', all that are left of those trained on' if count < wanted else ''}"
        for name, (count, wanted) in found.items()
        if wanted
    ]
    return f"{counted(len(strata), 'question')}: {'; '.join(said)}."


def next_run(config: Mapping[str, Any], rates: Path, corrections: Path) -> str:
    """The files that were written, and the command that takes them, with the options of the run before."""
    data = config["data"]
    words = ["smallloss", "clean", data.get("source") or "DATA", "--out", "NEW"]
    words += [] if data.get("label") is None else ["--label", data["label"]]
    words += [*config.get("options", []), "--noise-rate", str(rates), "--corrections", str(corrections)]
    return f"Written: {rates} and {corrections}. To clean again with both:\n{shlex.join(words)}"
