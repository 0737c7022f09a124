"""`smallloss compare`: several methods under one protocol, with one stage 1, on one page."""

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from smallloss import methods as known
from smallloss.errors import InputError, SmallLossError
from smallloss.files import is_leftover, write_json
from smallloss.knobs import Arg, Opt, declared, several, usual
from smallloss.run.clean import DATA, clean
from smallloss.words import listed

_OWN = {"data", "out", "method", "seed", "ship", "relabel", "promise", "corrections"}  # not taken over from clean
_ASKED = "compare.json"
_BESIDE = "confident_learning"  # what users would else run: cleanlab's rule


@dataclass(frozen=True)
class Comparison:
    page: Path
    rows: list[dict[str, Any]]
    failed: dict[str, str]  # what -> why
    words: str  # accuracy after the last epoch, a line for each method


def _with_options_of_clean(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options are declared once, in `clean`."""
    taken = [parameter for parameter, _ in declared(clean) if parameter.name not in _OWN]
    own = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
    function.__signature__ = inspect.Signature([*own, *taken])  # type: ignore[attr-defined]
    return function


@_with_options_of_clean
def compare(
    data: Annotated[Any, Arg("DATA", DATA)],
    out: Annotated[
        str | Path, Opt("FOLDER", "Folder of all runs and their page. The same command goes on; several may at once.",
                        kind=Path, required=True)
    ] = "",
    *,
    methods: Annotated[
        str, Opt("NAMES", f"Methods, with commas; cross_entropy and {_BESIDE} always stand beside them: "
                 f"{', '.join(known.names())}.")
    ] = "rsl",
    seeds: Annotated[int, Opt("N", "Seeds from 0: each draws its own noise, parts and weights.", least=1)] = 3,
    say: Callable[[str], None] = print,
    beside: Sequence[str] = (_BESIDE,),
    **options: Any,
) -> Comparison:  # fmt: skip
    """Run several methods on the same data under one protocol, and write one page.

    Stage 1 is trained once for each seed. A run that is finished is never run again, also with several processes on
    one folder; one that failed is told with its reason, and tried again by the next call. In Python, data may also be
    a function that gives the data of each seed.
    """
    from smallloss.comparing.jobs import Grid, Job
    from smallloss.comparing.page import in_words, lines_of, write_page

    named = several(methods)
    if not named:
        raise InputError(f"--methods names none; there are {', '.join(known.names())}.")
    names = list(dict.fromkeys([*named, *beside]))
    for name in names:
        known.get(name)
    usually = {name: value for name, value in usual(clean).items() if name not in _OWN}
    if strange := sorted(options.keys() - usually.keys()):
        raise InputError(f"compare has no option {strange[0]!r}; it takes those of clean: {listed(usually, 30, str)}.")
    folder, asked = Path(out), {"data": data} | usually | options
    _refuse_another(folder, asked)
    jobs, grid = [Job(name, seed) for seed in range(seeds) for name in names], Grid(folder, asked)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / _ASKED, _plain(asked))
    failed = grid.work(jobs, say)
    shown = [row for row in grid.results.rows() if row["seed"] < seeds and row["method"] in {"cross_entropy", *names}]
    lines = lines_of(shown, grid)
    return Comparison(write_page(shown, lines, failed, grid), shown, failed, in_words(lines))


def _refuse_another(folder: Path, asked: dict[str, Any]) -> None:
    """Runs of other data or settings must not stand in one table."""
    if not (folder / _ASKED).is_file():
        if folder.is_dir() and any(not is_leftover(one.name) for one in folder.iterdir()):
            raise InputError(f"--out {folder} is not empty and not a comparison; name another folder.")
        return
    before, now = json.loads((folder / _ASKED).read_text(encoding="utf-8")), _plain(asked)
    differ = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if differ:
        raise InputError(
            f"{folder} holds a comparison that was asked for otherwise: {listed(differ, say=str)} differ. Give the "
            "same command to go on, or another --out."
        )


def _plain(asked: dict[str, Any]) -> dict[str, Any]:
    machine = {"device", "path", "workers", "deterministic"}  # several machines may share a folder
    asked = asked | {"settings": asked.get("settings") or None}
    return {name: repr(value) for name, value in asked.items() if value is not None and name not in machine}


def require_all(failed: dict[str, str]) -> None:
    """The command says so, with its exit status, where something failed."""
    if failed:
        name, why = next(iter(failed.items()))
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise SmallLossError(f"{name}{more} failed: {why} The same command tries again.")
