"""What the audit command says beside its result: how many were asked about, what was written, what comes next."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smallloss.auditing.page import SUSPICIOUS
from smallloss.data.table_files import read_table
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


def next_run(config: Mapping[str, Any], corrections: Path, rates: Path, *, as_before: bool, estimated: bool) -> str:
    """The files that were written, and the command that takes them, with the options of the run before.

    Rates that the answers left as they were come from where they came from before, T and the verdict with them: from
    an estimate, from the noise that was drawn, from a file of T.
    """
    data, noise = config["data"], config.get("noise", {})
    options, drawn, given = list(config.get("options", [])), noise.get("drawn"), config.get("given", [])
    words = ["smallloss", "clean", data.get("source") or "DATA", "--out", "NEW"]
    words += [] if data.get("label") is None else ["--label", data["label"]]
    words += options + (["--noise", drawn] if drawn is not None and "--noise" not in options else [])
    stays = as_before and (estimated or drawn is not None or bool(given))
    if not stays:
        words += ["--noise-rate", str(rates)]
    elif estimated:
        words += ["--estimate"] if drawn is not None else []
    else:
        words += given
    words += ["--corrections", str(corrections)]
    written = [corrections] if stays else [rates, corrections]
    told = f"Written: {' and '.join(map(str, written))}. To clean again with {'it' if stays else 'both'}:"
    return f"{told}\n{shlex.join(words)}"
