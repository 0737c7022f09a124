"""What comes next after an audit: the command that learns from its answers."""

import shlex
from pathlib import Path

from smallloss.auditing.run import CORRECTIONS, FOLDER, RATES
from smallloss.record.run import Run


def next_run(run: Run, folder: Path, *, as_before: bool) -> str:
    """The files that were written, and the command that takes them, with the options of the run before.

    Rates that the answers left as they were come from where they came from before, T and the verdict with them: from
    an estimate, from the noise that was drawn, from a file of T.
    """
    corrections, rates = (folder / FOLDER / name for name in (CORRECTIONS, RATES))
    config, estimated = run.settings, run.estimate is not None
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
