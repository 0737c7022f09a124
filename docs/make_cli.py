"""Write docs/reference/cli.md. Its options come from the code, with the words of `--help`.

python docs/make_cli.py
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from smallloss import methods
from smallloss.cli import app

PAGE = Path(__file__).parent / "reference" / "cli.md"
VERBS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def page() -> str:
    """In the order of --help; what a verb has beside its options is said here."""
    parts = [BEGINNING, *(part for verb in VERBS for part in _section(verb)), END]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _section(verb: str) -> Iterator[str]:
    examples = VERBS[verb].epilog.split("\n\n")[0]  # --help has more
    yield f"## {verb}\n\n`{examples}`"
    yield f"{VERBS[verb].help} {MORE.get(verb, '')}".strip()
    if verb == "reproduce":
        yield f"`NAME`: {VERBS[verb].params[0].help}"
    own = [one for one in VERBS[verb].params if one.param_type_name == "option" and one.name != "help"]
    earlier = {one.name: before for one in own if (before := _before(one, verb))}
    panels: dict[str | None, list[Any]] = {}
    for one in own:
        if one.name not in earlier:
            panels.setdefault(getattr(one, "rich_help_panel", None), []).append(one)
    for panel, options in panels.items():
        yield "\n".join([f"|{panel or 'option'}||default|", "|---|---|---|", *map(_option, options)])
    for other in dict.fromkeys(earlier.values()):
        shared = (f"`{one.opts[-1]}`" for one in own if earlier.get(one.name) == other)
        yield f"As in [`{other}`](#{other}): {', '.join(shared)}."


def _option(one: Any) -> str:
    value = f" {one.metavar.partition(' ')[0]}" if one.metavar else ""
    usual = one.default if one.default not in (None, False, "") and not one.required else None
    told = "required" if one.required else "" if usual is None else f"`{usual}`"
    known = one.help if one.name == "method" else one.help.replace(f": {', '.join(methods.names())}", "")
    return f"|`{one.opts[-1]}{value}`|{known}|{told}|"


def _before(one: Any, verb: str) -> str | None:
    """The verb that had this option first, in the same words and with the same default."""
    told = (one.name, one.help, one.default)
    same = (name for name, known in VERBS.items() if told in [(o.name, o.help, o.default) for o in known.params])
    first = next(same)
    return None if first == verb or not one.help else first


BEGINNING = """# The command line

<!-- Made by docs/make_cli.py. Edit that, or the options in the code, and run it again. -->

`--help` says the same of each command; `smallloss --install-completion` teaches your shell to complete them.
"""

MORE = {
    "clean": (
        "[DATA](../guide/your-data.md#what-data-can-be), [the run folder](run-folder.md), "
        "[the noise](../guide/noise.md), [settings](settings.md), [methods](../guide/benchmarks.md#methods)."
    ),
    "compare": "[Guide](../guide/benchmarks.md).",
    "reproduce": "[Guide](../guide/benchmarks.md).",
    "check": "[What it says](verdicts.md).",
    "corrupt": "[Kinds of noise](../guide/benchmarks.md#noise-on-purpose).",
    "select": "[What the file holds](../guide/your-loop.md#losses-in-a-file).",
    "audit": "[Guide](../guide/audit.md).",
    "report": "[Guide](../guide/your-loop.md#a-report-of-your-training).",
    "open": "[What it shows](report.md#the-labels-to-look-at).",
    "export": "[Guide](../guide/export.md).",
    "predict": "[Guide](../guide/predict.md).",
}

END = """## Stop and resume

After Ctrl-C, a kill or a power cut, give the same command again: it goes on from the last checkpoint, and ends byte
for byte as an unbroken run on the same machine with as many threads would (on a GPU with `--deterministic` only).

A setting may change as long as no saved stage was trained by it: if the loss of `rsl_wm` becomes NaN, a smaller
`--set rsl_wm.lr` goes on after stage 1. Other changes are refused, and named.

## Exit statuses

- 0: done
- 1: our failure (`SMALLLOSS_DEBUG=1` shows where), or the disk is full
- 2: bad use or bad input
- 3: the verdict is *do not trust*: of `check` always, of `clean` with `--strict`
- 130: stopped by Ctrl-C
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
