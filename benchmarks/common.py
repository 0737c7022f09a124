"""What every benchmark shares: one JSON line per measurement, with all that is needed to judge it."""

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"


def commit() -> str:
    """The commit measured; given by SMALLLOSS_COMMIT where the tree travelled without its history."""
    if "SMALLLOSS_COMMIT" in os.environ:
        return os.environ["SMALLLOSS_COMMIT"]
    asked = ["git", "rev-parse", "--short=12", "HEAD"]
    done = subprocess.run(asked, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def hardware() -> str:
    import torch

    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    return f"{platform.machine()} CPU, {os.cpu_count()} cores, torch {torch.__version__}"


def named_values(pairs: Iterable[str]) -> dict[str, str]:
    """What --set was given: NAME=VALUE, each."""
    return dict(pair.split("=", 1) for pair in pairs)


def record(path: Path, row: dict[str, Any]) -> None:
    """Append one line and flush it: a run that is cut off keeps what it measured. What the row says of its own making,
    such as a commit before this one, stands."""
    path.parent.mkdir(parents=True, exist_ok=True)
    script = os.path.relpath(sys.argv[0])
    places = (_place(word) for word in sys.argv[1:])
    facts = {"commit": commit(), "hardware": hardware(), "command": shlex.join(["python", script, *places])}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(facts | row) + "\n")
        file.flush()


def _place(word: str) -> str:
    """A place as a reader has it: absolute folders are theirs to choose."""
    path = Path(word)
    if not path.is_absolute() or not path.parent.exists():  # --out need not exist yet
        return word
    return "FOLDER" if path.is_dir() else f"FOLDER/{path.name}"
