"""What the audit command says beside its result: how many were asked about, what was written, what comes next."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smallloss.data.table_files import read_table
from smallloss.report.audit_page import SUSPICIOUS
from smallloss.words import counted

_STRATA = {"kept": "kept", "dropped": "dropped", SUSPICIOUS: "that were not kept, the most suspicious first"}
_ALL = ", all that are left of those trained on"
_LEFT = {"kept": _ALL, "dropped": _ALL, SUSPICIOUS: ", all that are left"}


def how_many(table: Path, wanted: Mapping[str, int]) -> str:
    """How many examples of each stratum a table asks about, and where that is all there are, fewer than wanted."""
    strata = read_table(table).column("stratum").to_pylist()
    said = [
        f"{strata.count(name):,} {_STRATA[name]}{_LEFT[name] if strata.count(name) < number else ''}"
        for name, number in wanted.items()
        if number
    ]
    return f"{counted(len(strata), 'question')}: {'; '.join(said)}."


def next_run(config: Mapping[str, Any], corrections: Path, rates: Path | None) -> str:
    """The files that were written, and the command that takes them, with the options of the run before.

    Without `rates` they are estimated once more, as they were before: the answers have not changed them.
    """
    data, noise = config["data"], config.get("noise", {})
    words = ["smallloss", "clean", data.get("source") or "DATA", "--out", "NEW"]
    words += [] if data.get("label") is None else ["--label", data["label"]]
    words += config.get("options", [])
    if rates is not None:
        words += ["--noise-rate", str(rates)]
    elif noise.get("drawn") is not None:
        words.append("--estimate")
    words += ["--corrections", str(corrections)]
    written = " and ".join(str(path) for path in (rates, corrections) if path is not None)
    return f"Written: {written}. To clean again with {'both' if rates else 'it'}:\n{shlex.join(words)}"
