"""The command line: each verb is a function that declares its options; here are its words and its exit status."""

import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smallloss.comparing.compare import Comparison, compare, require_all
from smallloss.errors import SmallLossError
from smallloss.files import FULL
from smallloss.knobs import Arg, Opt, declared, said_as
from smallloss.run import verbs
from smallloss.run.clean import CleanRun, clean
from smallloss.run.report import report

if TYPE_CHECKING:
    from smallloss.criterion.selection import Selection
    from smallloss.noise.verdict import Judgement
    from smallloss.record.run import Run

app = typer.Typer(
    help="Find wrong labels with the losses of an ordinary training run, and learn a good classifier in spite of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_DO_NOT_USE = 3  # the verdict says so


def _spoken(verb: Callable[..., None]) -> Callable[..., None]:
    """Errors are sentences: never a traceback, and an exit status that a script can read."""

    @functools.wraps(verb)
    def speak(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except SmallLossError as error:
            _say_and_exit(str(error), error.exit_status)
        except KeyboardInterrupt:
            _say_and_exit("Stopped. What was saved is kept; the same command resumes from there.", 130)
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


def _say_and_exit(sentence: str, status: int) -> None:
    print(f"smallloss: {sentence}", file=sys.stderr)
    raise typer.Exit(status)


def _verb(function: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
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
        app.command(function.__name__, help=(function.__doc__ or "").partition("\n")[0])(spoken)
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


@_verb(clean)
def _clean(
    run: CleanRun,
    strict: Annotated[bool, Opt("", "Exit with status 3 if the verdict is 'do not trust'.")] = False,
) -> None:
    from rich.console import Console

    from smallloss.report.terminal import render

    render(run.result, Console(), run.folder)
    if strict and run.verdict.word == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


@_verb(compare)
def _compare(found: Comparison) -> None:
    print(f"\nAccuracy after the last epoch:\n{found.words}\n")
    print(f"{found.page}  (the page: open it in a browser)")
    require_all(found)


@_verb(report)
def _report(run: "Run", recorded: Any, out: Any) -> None:
    from rich.console import Console

    from smallloss.report.terminal import render

    render(run, Console(), recorded if out is None else out)


@_verb(verbs.check)
def _check(verdict: "Judgement") -> None:
    print(verdict)
    if verdict.word == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


def _printed(found: Any) -> None:
    print(found)


_verb(verbs.methods)(_printed)
_verb(verbs.corrupt)(_printed)


@_verb(verbs.select)
def _select(selection: "Selection", out: Any) -> None:
    from rich.console import Console

    from smallloss.report.terminal import render_selection

    render_selection(selection, Console())
    print(f"{out}: {len(selection.mask):,} rows")


_verb(verbs.audit)(_printed)
_verb(verbs.open)(_printed)
_verb(verbs.export)(_printed)
_verb(verbs.predict)(_printed)


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
