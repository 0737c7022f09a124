"""The command line: verbs only. Everything they do lives elsewhere, and is imported when it is needed."""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from smallloss import methods
from smallloss.errors import InputError, SmallLossError
from smallloss.files import FULL
from smallloss.models import registry as nets
from smallloss.noise.answers import PROMISE
from smallloss.words import percent

app = typer.Typer(
    help="Find wrong labels with the losses of an ordinary training run, and learn a good classifier in spite of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_DO_NOT_USE = 3  # the verdict says so


def _panel(title: str | None) -> Callable[..., Any]:
    """Options under one heading of the help: (what their value is, what they do). A switch has no value, and is given
    its name, lest it have a --no- twin."""

    def option(value: str, help: str, *names: str, **more: Any) -> Any:
        return typer.Option(*names, metavar=value, help=help, rich_help_panel=title, **more)

    return option


def _argument(value: str, help: str) -> Any:
    return typer.Argument(metavar=value, help=help)


_option, _data, _noise, _training, _machine = map(_panel, (None, "Data", "Noise", "Training", "Machine"))
_RUN = "A run folder that `smallloss clean` wrote"
_TABLE = "Table to write, .csv or .parquet: one row per example."
_DATA = (
    "A folder of pictures with one subfolder per class; a .csv or .parquet of picture paths, texts or columns; an .npz "
    "of arrays; an .npy of features with --labels; idx:FOLDER; cifar10:PATH; cifar100:PATH; hf:NAME; or digits, a demo."
)
_NEW = "New examples of the same kind: a folder of pictures, a table of paths, texts or columns, an .npy or .npz."
_FEATURES = "Features for the network to see instead of DATA: .npy in the order of DATA, or .npz or .parquet with ids."
_BACKBONE = (
    "Pretrained model that makes such features of pictures or texts: timm:NAME, hf:NAME, hf:FOLDER or module:function."
)
_PROTOCOL = (
    "Validation part of a benchmark: paper (a tenth, by its true labels), full (none) or honest (a tenth, by the "
    "labels as they are)."
)
_RATES = "Share of wrong labels: 0.2, or cat=0.3,dog=0.1, or a .csv with the columns label and noise_rate."
_TRANSITION = "File that holds the transition matrix T, if known; its rows are true classes."
_PRIOR = "How frequent the true classes are; uniform is the only choice. If left out: "
_PRIOR_IN_CLEAN = "known with --noise, taken from T, or estimated with the rates; otherwise classes are not balanced."
_PRIOR_IN_SELECT = "taken from T; without T, classes are not balanced."
_KINDS = "uniform:0.5, pairwise:0.4, structured:0.4"
_WRONG = f"Make labels wrong on purpose, for a benchmark: {_KINDS}, human:FILE@random1."
_METHOD = f"How to learn in spite of wrong labels: {', '.join(methods.names())}."
_PROMISE = "Share of the kept labels that must be right for the verdict to be green."
_SHIP = "Which classifier to leave behind: best (on the held-out part; a tie is the method's) or method."
_RELABEL = "Train on all labels once more, the likely wrong ones as suggested; shipped if best."
_PRESET = "Settings to start from: paper, fast (GPU) or cpu. If left out, the hardware decides."
_NET = f"Network to train: {', '.join(nets.names())}. If left out, the preset's for pictures, mlp for anything else."
_SET = "Any other setting, such as stage1.lr=0.05 or beta=0.1; may be repeated."
_PATH = "Where the inputs are kept: resident (on the device), streaming (read batch by batch) or auto (by their size)."


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


@app.command()
@_spoken
def clean(
    data: Annotated[str, _argument("DATA", _DATA)],
    out: Annotated[Path, _option("FOLDER", "The run folder. The same command resumes a stopped run.")],
    strict: Annotated[bool, _option("", "Exit with status 3 if the verdict is 'do not trust'.", "--strict")] = False,
    promise: Annotated[float, _option("SHARE", _PROMISE)] = PROMISE,
    label: Annotated[str | None, _data("NAME", "Column of labels, if not called label, given_label or y.")] = None,
    labels: Annotated[Path | None, _data("FILE", "File of labels, if DATA is an .npy of features.")] = None,
    features: Annotated[Path | None, _data("FILE", _FEATURES)] = None,
    backbone: Annotated[str | None, _data("NAME", _BACKBONE)] = None,
    corrections: Annotated[Path | None, _data("FILE", "Answers by hand: the corrections.csv of an audit.")] = None,
    protocol: Annotated[str | None, _data("NAME", _PROTOCOL)] = None,
    noise_rate: Annotated[str | None, _noise("RATE", _RATES + " If left out, it is estimated.")] = None,
    transition: Annotated[Path | None, _noise("FILE", _TRANSITION)] = None,
    prior: Annotated[str | None, _noise("NAME", _PRIOR + _PRIOR_IN_CLEAN)] = None,
    estimate: Annotated[bool, _noise("", "Estimate the noise rates even where they are known.", "--estimate")] = False,
    noise: Annotated[str | None, _noise("KIND", _WRONG)] = None,
    method: Annotated[str, _training("NAME", _METHOD)] = "rsl",
    ship: Annotated[str, _training("WHICH", _SHIP)] = "best",
    relabel: Annotated[bool, _training("", _RELABEL, "--relabel")] = False,
    preset: Annotated[str | None, _training("NAME", _PRESET)] = None,
    net: Annotated[str | None, _training("NAME", _NET)] = None,
    epochs: Annotated[int | None, _training("N", "Epochs of every stage, instead of the preset's.")] = None,
    set_: Annotated[list[str] | None, _training("NAME=VALUE", _SET, "--set")] = None,
    seed: Annotated[int, _training("N", "Seed of every random draw.", min=0)] = 0,
    device: Annotated[str, _machine("NAME", "auto, cpu or cuda.")] = "auto",
    path: Annotated[str, _machine("NAME", _PATH)] = "auto",
    workers: Annotated[int, _machine("N", "Processes that read the batches of a streaming run.", min=0)] = 0,
    deterministic: Annotated[bool, _machine("", "Repeatable bit for bit on a GPU; slower.", "--deterministic")] = False,
) -> None:  # fmt: skip
    """Train on the data, find the labels that are likely wrong, learn a classifier in spite of them, write a report."""
    from rich.console import Console

    from smallloss import cleaning
    from smallloss.report.terminal import render

    run = cleaning.clean(
        data, out, label=label, labels=labels, features=features, backbone=backbone,
        method=method, ship=ship, relabel=relabel, preset=preset, noise=noise,
        noise_rate=noise_rate, transition=transition, prior=prior,
        estimate=estimate, corrections=corrections, protocol=protocol, net=net, epochs=epochs,
        settings=_pairs(set_ or []), seed=seed, device=device, path=path, workers=workers,
        deterministic=deterministic, promise=promise, progress=None,
    )  # fmt: skip
    render(run.result, Console(), run.folder)
    if strict and run.verdict.word == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


@app.command()
@_spoken
def check(
    matrix: Annotated[Path, _argument("T", "T as .csv, .npy or .parquet; rows are true classes.")],
) -> None:
    """Say whether small losses can find wrong labels under a transition matrix T (exit status 3 if not)."""
    from smallloss.data.matrix import read_matrix
    from smallloss.noise.verdict import check as of_matrix

    T, classes = read_matrix(matrix)
    verdict = of_matrix(T, classes)
    print(verdict)
    if verdict.word == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


@app.command()
@_spoken
def corrupt(
    labels: Annotated[Path, _argument("LABELS", "A .csv or .parquet table, or an .npy of labels.")],
    noise: Annotated[str, _option("KIND", f"{_KINDS}, uniform_excluding:0.5, or a file that holds T.")],
    out: Annotated[Path, _option("FILE", "Table to write, .csv or .parquet; adds the column true_label.")],
    column: Annotated[str, _option("NAME", "Column of labels.")] = "label",
    map_: Annotated[str | None, _option("PAIRS", "For structured noise: truck:car,cat:dog,dog:cat.", "--map")] = None,
    seed: Annotated[int, _option("N", "Seed of the random draws.", min=0)] = 0,
    exact: Annotated[bool, _option("", "Exact counts instead of independent draws.", "--exact")] = False,
) -> None:  # fmt: skip
    """Make labels wrong on purpose, for a benchmark."""
    from smallloss.jobs import corrupt_file

    rows, wrong = corrupt_file(labels, out, noise=noise, column=column, seed=seed, exact=exact, class_map=map_)
    print(f"{out}: {rows:,} rows; {wrong:,} labels ({percent(wrong / rows)}) are now wrong ({noise}, seed {seed}).")


@app.command()
@_spoken
def select(
    losses: Annotated[Path, _argument("LOSSES", "A .csv, .parquet or .npz of labels and losses, mean or per epoch.")],
    out: Annotated[Path, _option("FILE", _TABLE)],
    noise_rate: Annotated[str | None, _option("RATE", _RATES)] = None,
    transition: Annotated[Path | None, _option("FILE", "File that holds T, instead of noise rates.")] = None,
    prior: Annotated[str | None, _option("NAME", _PRIOR + _PRIOR_IN_SELECT)] = None,
    beta: Annotated[float, _option("SHARE", "Safety: how much less than 1 - noise rate is kept.")] = 0.2,
    gamma: Annotated[str, _option("NUMBER", "Balance of the classes: middle, none, or a number from 1.")] = "middle",
) -> None:  # fmt: skip
    """Rank and select examples by losses that were recorded elsewhere."""
    from rich.console import Console

    from smallloss.criterion.quota import Gamma
    from smallloss.jobs import select_file
    from smallloss.report.terminal import render_selection
    from smallloss.values import converted

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
    promise: Annotated[float | None, _option("SHARE", f"{_PROMISE} If left out, as in the run.")] = None,
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
    from smallloss.preparing import data_of_run
    from smallloss.record.run import Run

    dataset = data_of_run(run) if data is None else load(data, label=label, labels=labels)
    if answers is not None:
        result = auditing.read_back(run, answers, promise=promise, dataset=dataset)
        print(f"{result}\n\n{next_run(Run.read(run), run, as_before=not result.rates.sampled)}")
        if dataset is None:
            print(f"{run / 'report.html'} is as it was: the data of the run was not found; name it with --data.")
        return
    if dataset is None:
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
    from smallloss import exporting

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
    from smallloss import predicting

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
