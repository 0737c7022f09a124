"""The command line: verbs only. Everything they do lives elsewhere, and is imported when it is needed."""

import functools
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from smallloss.comparing.compare import compare
from smallloss.errors import InputError, SmallLossError
from smallloss.files import FULL
from smallloss.knobs import Arg, Opt, declared
from smallloss.run.clean import KINDS, PRIOR, PROMISED, RATES, clean
from smallloss.run.report import report
from smallloss.words import percent

app = typer.Typer(
    help="Find wrong labels with the losses of an ordinary training run, and learn a good classifier in spite of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_DO_NOT_USE = 3  # the verdict says so


def _option(value: str, help: str, *names: str, **more: Any) -> Any:
    """What its value is, and what it does. A switch has no value, and is given its name, lest it have a --no- twin."""
    return typer.Option(*names, metavar=value, help=help, **more)


def _argument(value: str, help: str) -> Any:
    return typer.Argument(metavar=value, help=help)


_RUN = "A run folder that `smallloss clean` wrote"
_TABLE = "Table to write, .csv or .parquet: one row per example."
_NEW = "New examples of the same kind: a folder of pictures, a table of paths, texts or columns, an .npy or .npz."
_PRIOR_IN_SELECT = "taken from T; without T, classes are not balanced."


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


def _clean(strict: bool = False, **asked: Any) -> None:
    from rich.console import Console

    from smallloss.report.terminal import render

    run = clean(**asked | {"settings": _pairs(asked["settings"] or []), "progress": None})
    render(run.result, Console(), run.folder)
    if strict and run.verdict.word == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


def _verb(function: Callable[..., Any], run: Callable[..., None], *more: inspect.Parameter) -> None:
    """A command with the options that a function declares, and some of its own; typer reads both from a signature."""
    flags = [*map(_flag, *zip(*declared(function), strict=True)), *more]
    spoken = _spoken(functools.wraps(function)(lambda **values: run(**values)))
    spoken.__signature__ = inspect.Signature(flags)  # type: ignore[attr-defined]
    spoken.__annotations__ = {flag.name: flag.annotation for flag in flags}
    app.command(function.__name__, help=(function.__doc__ or "").partition("\n")[0])(spoken)


def _flag(parameter: inspect.Parameter, said: Arg | Opt) -> inspect.Parameter:
    """A parameter as typer takes it. A switch is given its name, lest it have a --no- twin."""
    default, keyword = parameter.default, inspect.Parameter.KEYWORD_ONLY
    if isinstance(said, Arg):
        argument = _argument(said.value, said.help)
        return inspect.Parameter(parameter.name, keyword, annotation=Annotated[said.kind, argument])
    kind: Any = said.kind or (str if default is None else type(default))
    names = [said.called(parameter.name)] if kind is bool or said.flag else []
    option = typer.Option(*names, metavar=said.value, help=said.help, rich_help_panel=said.panel, min=said.least)
    if default is None and not said.required:
        kind = kind | None
    return parameter.replace(
        annotation=Annotated[kind, option], kind=keyword,
        default=inspect.Parameter.empty if said.required else default,
    )  # fmt: skip


_STRICT = inspect.Parameter(
    "strict", inspect.Parameter.KEYWORD_ONLY, default=False,
    annotation=Annotated[bool, _option("", "Exit with status 3 if the verdict is 'do not trust'.", "--strict")],
)  # fmt: skip
_verb(clean, _clean, _STRICT)


def _compare(**asked: Any) -> None:
    from smallloss.comparing.compare import require_all

    found = compare(**asked | {"settings": _pairs(asked["settings"] or [])})
    print(f"\nAccuracy after the last epoch:\n{found.words}\n")
    print(f"{found.page}  (the page: open it in a browser)")
    require_all(found)


_verb(compare, _compare)


def _report(**asked: Any) -> None:
    from rich.console import Console

    from smallloss.report.terminal import render

    folder = asked["recorded"] if asked["out"] is None else asked["out"]
    render(report(**asked), Console(), folder)


_verb(report, _report)


@app.command()
@_spoken
def check(
    matrix: Annotated[Path, _argument("T", "T as .csv, .npy or .parquet; rows are true classes.")],
) -> None:
    """Say whether small losses can find wrong labels under a transition matrix T (exit status 3 if not)."""
    from smallloss.data.told import read_matrix
    from smallloss.noise.verdict import check as of_matrix

    T, classes = read_matrix(matrix)
    verdict = of_matrix(T, classes)
    print(verdict)
    if verdict.word == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


@app.command("methods")
@_spoken
def list_methods() -> None:
    """List the methods: what each does, must know of the noise, and costs."""
    from smallloss import methods

    known = {None: "nothing", "noise rate": "noise rates (estimated, if not given)", "matrix": "a transition matrix"}
    for one in methods.described():
        print(f"{one.name}\n  {one.says}\n  needs: {known[one.needs]}\n  costs: {one.costs}")


@app.command()
@_spoken
def corrupt(
    labels: Annotated[Path, _argument("LABELS", "A .csv or .parquet table, or an .npy of labels.")],
    noise: Annotated[str, _option("KIND", f"{KINDS}, uniform_excluding:0.5, or a file that holds T.")],
    out: Annotated[Path, _option("FILE", "Table to write, .csv or .parquet; adds the column true_label.")],
    column: Annotated[str, _option("NAME", "Column of labels.")] = "label",
    map_: Annotated[str | None, _option("PAIRS", "For structured noise: truck:car,cat:dog,dog:cat.", "--map")] = None,
    seed: Annotated[int, _option("N", "Seed of the random draws.", min=0)] = 0,
    exact: Annotated[bool, _option("", "Exact counts instead of independent draws.", "--exact")] = False,
) -> None:  # fmt: skip
    """Make labels wrong on purpose, for a benchmark."""
    from smallloss.run.jobs import corrupt_file

    rows, wrong = corrupt_file(labels, out, noise=noise, column=column, seed=seed, exact=exact, class_map=map_)
    print(f"{out}: {rows:,} rows; {wrong:,} labels ({percent(wrong / rows)}) are now wrong ({noise}, seed {seed}).")


@app.command()
@_spoken
def select(
    losses: Annotated[Path, _argument("LOSSES", "A .csv, .parquet or .npz of labels and losses, mean or per epoch.")],
    out: Annotated[Path, _option("FILE", _TABLE)],
    noise_rate: Annotated[str | None, _option("RATE", RATES)] = None,
    transition: Annotated[Path | None, _option("FILE", "File that holds T, instead of noise rates.")] = None,
    prior: Annotated[str | None, _option("NAME", PRIOR + _PRIOR_IN_SELECT)] = None,
    beta: Annotated[float, _option("SHARE", "Safety: how much less than 1 - noise rate is kept.")] = 0.2,
    gamma: Annotated[str, _option("NUMBER", "Balance of the classes: middle, none, or a number from 1.")] = "middle",
) -> None:  # fmt: skip
    """Rank and select examples by losses that were recorded elsewhere."""
    from rich.console import Console

    from smallloss.criterion.quota import Gamma
    from smallloss.knobs import converted
    from smallloss.report.terminal import render_selection
    from smallloss.run.jobs import select_file

    balance = converted(gamma, Gamma, "--gamma")
    selection = select_file(
        losses, out, noise_rate=noise_rate, transition=transition, prior=prior, beta=beta, gamma=balance
    )
    render_selection(selection, Console())
    print(f"{out}: {len(selection.mask):,} rows")


@app.command()
@_spoken
def audit(
    run: Annotated[Path, _argument("RUN", f"{_RUN}.")],
    answers: Annotated[Path | None, _option("FILE", "The .csv of answers, to read back.")] = None,
    promise: Annotated[float | None, _option("SHARE", f"{PROMISED} If left out, as in the run.")] = None,
    data: Annotated[str | None, _option("DATA", "DATA of the run, if it has moved.")] = None,
    label: Annotated[str | None, _option("NAME", "--label of the run, with --data.")] = None,
    labels: Annotated[Path | None, _option("FILE", "--labels of the run, if it had them.")] = None,
    kept: Annotated[int | None, _option("N", "Kept examples to check; if left out, what the promise takes.")] = None,
    dropped: Annotated[int | None, _option("N", "Other examples to check; if left out, half as many.")] = None,
    suspicious: Annotated[int | None, _option("N", "Instead: the N most suspicious, the worst first.")] = None,
    held_out: Annotated[int | None, _option("N", "Instead: N held-out examples, for the accuracy.")] = None,
    seed: Annotated[int, _option("N", "Seed of the random draw, once for a run.", min=0)] = 0,
) -> None:  # fmt: skip
    """Draw examples to check by hand, or go through the most suspicious; with --answers, say what the answers show."""
    from smallloss.auditing import session as auditing
    from smallloss.auditing.words import next_run
    from smallloss.data.source import load
    from smallloss.record.folder import read_config
    from smallloss.record.run import Run, data_of_run

    dataset = data_of_run(run) if data is None else load(data, label=label, labels=labels)
    if answers is not None:
        result = auditing.read_back(run, answers, promise=promise, dataset=dataset)
        print(f"{result}\n\n{next_run(Run.read(run), run, as_before=not result.rates.sampled)}")
        if dataset is None:
            print(f"{run / 'report.html'} is as it was: the data of the run was not found; name it with --data.")
        return
    if dataset is None:
        read_config(run)  # what is no run at all is said first
        raise InputError(f"The data of {run} is not where the run found it, so there is nothing to show: give --data.")
    asked = auditing.ask(
        run, kept=kept, dropped=dropped, suspicious=suspicious, held_out=held_out, promise=promise, seed=seed,
        dataset=dataset,
    )  # fmt: skip
    print(f"{asked.page}  (open it in a browser, answer from the keyboard, save)")
    print(f"{asked.table}  (the same questions as a table)\n{asked.words}")


@app.command()
@_spoken
def export(
    run: Annotated[Path, _argument("RUN", f"{_RUN}.")],
    to: Annotated[str, _option("FORMAT", "folder, csv, parquet, cleanlab, labelstudio or fiftyone.")],
    out: Annotated[Path, _option("PATH", "What to write, new or empty: a folder, .csv, .parquet or .json.")],
    data: Annotated[str | None, _option("DATA", "DATA of the run, if it has moved.")] = None,
    label: Annotated[str | None, _option("NAME", "--label of the run, with --data.")] = None,
    keep: Annotated[str | None, _option("WHICH", "selected, 'not likely wrong' (default) or all.")] = None,
    relabel: Annotated[bool, _option("", "Give likely wrong examples their suggested label.", "--relabel")] = False,
    copy: Annotated[bool, _option("", "Copy the pictures instead of linking to them.", "--copy")] = False,
) -> None:  # fmt: skip
    """Write the cleaned dataset, or all examples for another tool; the originals are never touched."""
    from smallloss.exporting import export as exporting

    print(exporting.export(run, out, to, data=data, label=label, keep=keep, relabel=relabel, copy=copy))


@app.command()
@_spoken
def predict(
    run: Annotated[Path, _argument("RUN", f"{_RUN}, or its model file.")],
    data: Annotated[str, _argument("DATA", _NEW)],
    out: Annotated[Path, _option("FILE", _TABLE)],
    device: Annotated[str, _option("NAME", "auto, cpu or cuda.")] = "auto",
) -> None:  # fmt: skip
    """Classify new examples, which need no labels, with the classifier of a run."""
    from smallloss.run import predict as predicting

    print(f"{out}: {predicting.in_words(predicting.predict(run, data, out, device=device, progress=None))}")


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for (name, equals, _), text in zip(pairs, texts, strict=True):
        if not name or not equals:
            raise InputError(f"--set {text} is not a setting; write it as stage1.lr=0.05")
    return {name: value for name, _, value in pairs}


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, _option("", "Show the version and exit.", "--version")] = False,
) -> None:
    if version:
        from smallloss import __version__

        print(f"smallloss {__version__}")
        raise typer.Exit


def main() -> None:
    app()
