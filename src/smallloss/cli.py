"""The command line: each verb is a function that declares its options; here are its words and its exit status."""

import functools
import inspect
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smallloss.comparing.compare import Comparison, compare, require_all
from smallloss.errors import SmallLossError
from smallloss.files import FULL
from smallloss.knobs import Arg, Opt, declared, said_as
from smallloss.paper.reproduce import Reproduced, reproduce
from smallloss.run import verbs
from smallloss.run.clean import CleanRun, clean
from smallloss.run.report import report
from smallloss.words import wrapped

if TYPE_CHECKING:
    from smallloss.criterion.selection import Selection
    from smallloss.noise.verdict import Judgement
    from smallloss.record.run import Run

app = typer.Typer(
    help="Find wrong labels with the losses of an ordinary training run, and learn a good classifier in spite of them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
_DO_NOT_USE = 3  # the verdict says so
_GOES_ON = ("clean", "compare")  # where they were stopped


def _spoken(verb: Callable[..., None]) -> Callable[..., None]:
    """Errors are sentences: never a traceback, and an exit status that a script can read."""

    @functools.wraps(verb)
    def speak(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except SmallLossError as error:
            _say_and_exit(str(error), error.exit_status)
        except KeyboardInterrupt:
            if verb.__name__ not in _GOES_ON:
                _say_and_exit("Stopped.", 130)
            _say("smallloss: Stopped. What was saved is kept; this goes on from there:", sys.stderr)
            print(shlex.join(["smallloss", *sys.argv[1:]]), file=sys.stderr)  # whole, to be copied
            raise typer.Exit(130) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except OSError as error:
            status = 1 if error.errno in FULL else 2
            _say_and_exit(f"{error.filename or 'A file'} could not be used: {error.strerror or error}", status)
        except typer.Exit:
            raise
        except Exception as error:
            if os.environ.get("SMALLLOSS_DEBUG"):
                raise
            what = f"{type(error).__name__}: {error}"
            _say_and_exit(f"smallloss failed ({what}). This is a bug in smallloss; SMALLLOSS_DEBUG=1 shows where.", 1)

    return speak


def _say(words: Any, stream: Any = None) -> None:
    """In the width of a terminal; elsewhere as it is, a sentence a line."""
    stream = stream or sys.stdout
    print(wrapped(str(words), shutil.get_terminal_size().columns if stream.isatty() else None), file=stream)


def _show(run: "Run", folder: Any) -> None:
    from rich.console import Console

    from smallloss.report.terminal import render

    render(run, Console(), folder)


def _say_and_exit(sentence: str, status: int) -> None:
    _say(f"smallloss: {sentence}", sys.stderr)
    raise typer.Exit(status)


def _verb(function: Callable[..., Any], *examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with the options that a function declares, and those of what says in the end what came of it.

    That is given what the function returns, and whatever else it names. Typer reads all from a signature.
    """

    def with_words(say: Callable[..., None]) -> Callable[..., None]:
        own, told = dict(declared(function)), list(inspect.signature(say).parameters)[1:]
        options = {parameter.name: (parameter, said) for parameter, said in (*own.items(), *declared(say))}

        def run(**values: Any) -> None:
            for name, (_, said) in options.items():
                if isinstance(said, Opt) and said.read is not None:
                    values[name] = said.read(values[name])
            shown = {"progress": None} if "progress" in inspect.signature(function).parameters else {}
            found = function(**{parameter.name: values[parameter.name] for parameter in own}, **shown)
            say(found, **{name: values[name] for name in told})

        flags = [_flag(parameter, said) for parameter, said in options.values()]
        spoken = _spoken(functools.wraps(function)(run))
        spoken.__signature__ = inspect.Signature(flags)  # type: ignore[attr-defined]
        spoken.__annotations__ = {flag.name: flag.annotation for flag in flags}
        name = function.__name__
        lines = "\n\n".join(examples)  # to typer one line break is none
        app.command(name, help=(function.__doc__ or "").partition("\n")[0], epilog=lines)(spoken)
        return say

    return with_words


def _flag(parameter: inspect.Parameter, said: Arg | Opt) -> inspect.Parameter:
    """A parameter as typer takes it. A switch is given its name, lest it have a --no- twin."""
    kind, default, keyword = said_as(parameter, said), parameter.default, inspect.Parameter.KEYWORD_ONLY
    if isinstance(said, Arg):
        argument = typer.Argument(metavar=said.value, help=said.help)
        return inspect.Parameter(parameter.name, keyword, annotation=Annotated[kind, argument])
    names = [said.called(parameter.name)] if kind is bool or said.flag else []
    option = typer.Option(*names, metavar=said.value, help=said.help, rich_help_panel=said.panel, min=said.least)
    if default is None and not said.required:
        kind = kind | None
    return parameter.replace(
        annotation=Annotated[kind, option], kind=keyword,
        default=inspect.Parameter.empty if said.required else default,
    )  # fmt: skip


@_verb(
    clean,
    "smallloss clean photos/ --out runs/photos",
    "smallloss clean reviews.csv --out runs/reviews --label stars --noise-rate 20%",
    "smallloss clean embeddings.npy --labels labels.csv --out runs/embeddings",
)
def _clean(
    run: CleanRun,
    strict: Annotated[bool, Opt("", "Exit with status 3 if the verdict is 'do not trust'.")] = False,
) -> None:
    _show(run.result, run.folder)
    if run.answered is not None:
        _say(f"\nThis run was audited before, and its page says so again:\n{run.answered}")
    if strict and run.verdict.word == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


@_verb(
    compare,
    "smallloss compare digits --methods rsl,co_teaching --seeds 3 --out compared",
)
def _compare(found: Comparison) -> None:
    print(f"\nAccuracy after the last epoch:\n{found.words}\n")
    _say(f"{found.page}  (the page: open it in a browser)")
    require_all(found.failed)


@_verb(
    reproduce,
    "smallloss reproduce table1 --data data --cells cifar10/uniform/0.5 --out paper",
    "smallloss reproduce fig1 --out paper",
)
def _reproduce(found: Reproduced) -> None:
    _say(f"\n{found.words}\n\n{found.page}  (the page: open it in a browser)")
    require_all(found.failed)


@_verb(
    report,
    "smallloss report runs/photos",
    "smallloss report ledger.npz --data photos/ --out runs/mine --noise-rate 0.2",
)
def _report(run: "Run", recorded: Any, out: Any) -> None:
    _show(run, recorded if out is None else out)


@_verb(
    verbs.check,
    "smallloss check T.csv",
)
def _check(verdict: "Judgement") -> None:
    _say(verdict)
    if verdict.word == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


def _printed(found: Any) -> None:
    _say(found)


_verb(
    verbs.methods,
    "smallloss methods",
)(_printed)
_verb(
    verbs.corrupt,
    "smallloss corrupt labels.csv --noise uniform:0.5 --out noisy.csv --seed 1",
)(_printed)


@_verb(
    verbs.select,
    "smallloss select losses.csv --out found.csv --noise-rate 0.1",
)
def _select(selection: "Selection", out: Any) -> None:
    from rich.console import Console

    from smallloss.report.terminal import render_selection

    render_selection(selection, Console())
    _say(f"{out}: {len(selection.mask):,} rows")


_verb(
    verbs.audit,
    "smallloss audit runs/photos",
    "smallloss audit runs/photos --answers audit-answers.csv",
    "smallloss audit runs/photos --suspicious 100",
)(_printed)
_verb(verbs.open, "smallloss open runs/photos")(_printed)
_verb(
    verbs.export,
    "smallloss export runs/photos --to folder --out cleaned",
    "smallloss export runs/reviews --to csv --out cleaned.csv --relabel",
    "smallloss export runs/photos --to labelstudio --out tasks.json",
)(_printed)
_verb(
    verbs.predict,
    "smallloss predict runs/photos new_photos/ --out predictions.csv",
)(_printed)


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", metavar="", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from smallloss import __version__

        print(f"smallloss {__version__}")
        raise typer.Exit


def main() -> None:
    app()
