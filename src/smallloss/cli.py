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
from smallloss.run_folder import read_config

app = typer.Typer(
    help="Find wrong labels with the losses of an ordinary training run, and learn in spite of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_DO_NOT_USE = 3  # the verdict says so
_DATA = (
    "A folder of pictures with a subfolder per class; a .csv or .parquet of picture paths, texts or columns; "
    "data.npz; features.npy with --labels; idx:FOLDER; cifar10:PATH; cifar100:PATH; hf:NAME; digits"
)
_FEATURES = "What the network sees in place of DATA: .npy in the order of DATA, or .npz or .parquet with ids"
_BACKBONE = "What makes such features of pictures or texts: timm:NAME, hf:NAME or FOLDER, module:function"
_NEW = "New examples like those of the run: a folder of pictures, a table of paths, texts or columns, .npy, .npz"
_PRIOR = "How frequent the true classes are: uniform; left out: from T, or estimated with the rates, else no balancing"
_CORRUPT = "Corrupt on purpose: uniform:0.5, pairwise:0.4, structured:0.4"
_PATH = "Where the data is while a network learns: resident (on the device), streaming (read batch by batch) or auto"
_RATES = "Share of wrong labels: 0.2, or cat=0.3,dog=0.1, or a csv of label,noise_rate"


def _spoken(verb: Callable[..., None]) -> Callable[..., None]:
    """Errors are sentences: never a traceback, and an exit status that a script can read."""

    @functools.wraps(verb)
    def speak(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except SmallLossError as error:
            _say_and_exit(str(error), error.exit_status)
        except KeyboardInterrupt:
            _say_and_exit("Stopped. What was saved is kept; the same command goes on from there.", 130)
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
            _say_and_exit(f"smallloss failed ({what}). This is our fault; SMALLLOSS_DEBUG=1 shows where.", 1)

    return speak


def _say_and_exit(sentence: str, status: int) -> None:
    print(f"smallloss: {sentence}", file=sys.stderr)
    raise typer.Exit(status)


@app.command()
@_spoken
def clean(
    data: Annotated[str, typer.Argument(help=_DATA)],
    out: Annotated[Path, typer.Option(help="The run folder. The same command goes on with it after a stop.")],
    label: Annotated[str | None, typer.Option(help="The column of labels in a table, if not found by its name")] = None,
    labels: Annotated[Path | None, typer.Option(help="A file of labels, where DATA is an .npy of features")] = None,
    features: Annotated[Path | None, typer.Option(help=_FEATURES)] = None,
    backbone: Annotated[str | None, typer.Option(help=_BACKBONE)] = None,
    method: Annotated[str, typer.Option(help=", ".join(methods.names()))] = "rsl",
    preset: Annotated[str | None, typer.Option(help="paper, fast (GPU) or cpu; by the hardware if left out")] = None,
    noise: Annotated[str | None, typer.Option(help=_CORRUPT + ", human:FILE@random1")] = None,
    noise_rate: Annotated[str | None, typer.Option(help=_RATES)] = None,
    transition: Annotated[Path | None, typer.Option(help="A file that holds T, rows true classes")] = None,
    prior: Annotated[str | None, typer.Option(help=_PRIOR + "; known where --noise is drawn")] = None,
    corrections: Annotated[Path | None, typer.Option(help="Answers by hand: the corrections.csv of an audit")] = None,
    protocol: Annotated[str | None, typer.Option(help="paper, full or honest")] = None,
    net: Annotated[str | None, typer.Option(help="wrn-28-2, preact-resnet-18, small-convnet, mlp, ...")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of every stage")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any setting: stage1.lr=0.05, beta=0.1")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    estimate: Annotated[bool, typer.Option(help="Estimate the noise rates even where they are known")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
    path: Annotated[str, typer.Option(help=_PATH)] = "auto",
    workers: Annotated[int, typer.Option(min=0, help="Processes that read the batches of a streaming run")] = 0,
    deterministic: Annotated[bool, typer.Option(help="Bit-for-bit on the GPU, slower")] = False,
    strict: Annotated[bool, typer.Option(help="Exit with status 3 when the verdict says do not use")] = False,
) -> None:  # fmt: skip
    """The main job: train, find the wrong labels, select, learn a classifier, report."""
    from rich.console import Console

    from smallloss import cleaning
    from smallloss.report.terminal import render

    run = cleaning.clean(
        data, out, label=label, labels=labels, features=features, backbone=backbone,
        method=method, preset=preset, noise=noise,
        noise_rate=noise_rate, transition=transition, prior=prior,
        estimate=estimate, corrections=corrections, protocol=protocol, net=net, epochs=epochs,
        settings=_pairs(set_ or []), seed=seed, device=device, path=path, workers=workers,
        deterministic=deterministic, progress=None,
    )  # fmt: skip
    render(run.result, Console(), run.folder)
    if strict and run.verdict is not None and run.verdict.trust == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


@app.command()
@_spoken
def check(
    matrix: Annotated[Path, typer.Argument(help="T as .csv, .npy or .parquet; rows are true classes")],
) -> None:
    """The theory's verdict on a transition matrix. Exit status 3: do not use small losses here."""
    from smallloss.criterion.verdict import check as judge
    from smallloss.data.matrix import read_matrix

    T, classes = read_matrix(matrix)
    verdict = judge(T, classes)
    print(verdict)
    if verdict.trust == "do not trust":
        raise typer.Exit(_DO_NOT_USE)


@app.command()
@_spoken
def corrupt(
    labels: Annotated[Path, typer.Argument(help="A csv or parquet table, or a .npy of labels")],
    noise: Annotated[str, typer.Option(help=_CORRUPT + ", uniform_excluding:0.5, or a file that holds T")],
    out: Annotated[Path, typer.Option(help="The table to write, .csv or .parquet; true_label is added")],
    column: Annotated[str, typer.Option(help="The column of labels")] = "label",
    map_: Annotated[str | None, typer.Option("--map", help="For structured noise: truck:car,cat:dog,dog:cat")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    exact: Annotated[bool, typer.Option(help="Exact counts instead of independent draws")] = False,
) -> None:  # fmt: skip
    """Make noisy labels for a benchmark."""
    from smallloss.jobs import corrupt_file

    rows, wrong = corrupt_file(labels, out, noise=noise, column=column, seed=seed, exact=exact, class_map=map_)
    print(f"{out}: {rows} rows, {wrong} labels ({100 * wrong / rows:.1f} %) are now wrong ({noise}, seed {seed})")


@app.command()
@_spoken
def select(
    losses: Annotated[Path, typer.Argument(help="csv, parquet or npz with labels and losses, mean or per epoch")],
    out: Annotated[Path, typer.Option(help="The table to write, .csv or .parquet: one row per example")],
    noise_rate: Annotated[str | None, typer.Option(help=_RATES)] = None,
    transition: Annotated[Path | None, typer.Option(help="A file that holds T, instead of rates")] = None,
    prior: Annotated[str | None, typer.Option(help=_PRIOR)] = None,
    beta: Annotated[float, typer.Option(help="Safety: how much less than 1 - noise rate is kept")] = 0.2,
    gamma: Annotated[str, typer.Option(help="Balance: middle, none, or a number from 1")] = "middle",
) -> None:  # fmt: skip
    """Rank and select from losses recorded elsewhere."""
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
    print(f"{out}: {len(selection.mask)} rows")


@app.command()
@_spoken
def audit(
    run: Annotated[Path, typer.Argument(help="A run folder that `smallloss clean` made")],
    answers: Annotated[Path | None, typer.Option(help="The csv that was filled in: read it back")] = None,
    data: Annotated[str | None, typer.Option(help="DATA of the run, to show it, if it has moved")] = None,
    label: Annotated[str | None, typer.Option(help="--label of the run, with --data")] = None,
    labels: Annotated[Path | None, typer.Option(help="--labels of the run, if it had them")] = None,
    kept: Annotated[int, typer.Option(min=0, help="Kept examples to look at")] = 40,
    dropped: Annotated[int, typer.Option(min=0, help="Dropped examples to look at")] = 20,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """What to look at by hand; with --answers, what the answers say."""
    from smallloss import auditing
    from smallloss.report.audit_words import how_many, next_run

    if answers is not None:
        print(auditing.read_back(run, answers))
        written = (run / auditing.FOLDER / name for name in (auditing.RATES, auditing.CORRECTIONS))
        print(f"\n{next_run(read_config(run), *written)}")
        return
    from smallloss.data.source import load
    from smallloss.preparing import data_of_run

    dataset = data_of_run(run) if data is None else load(data, label=label, labels=labels)
    table, page = auditing.audit(run, kept=kept, dropped=dropped, seed=seed, dataset=dataset)
    print(f"{page}  (open it, answer from the keyboard, save)\n{table}  (the same as a table)")
    print(how_many(table, kept, dropped))
    if dataset is None:
        print("Examples are shown by their ids alone, for the data of the run was not found: name it with --data.")


@app.command()
@_spoken
def export(
    run: Annotated[Path, typer.Argument(help="The run folder")],
    to: Annotated[str, typer.Option(help="folder, csv, parquet, cleanlab, labelstudio or fiftyone")],
    out: Annotated[Path, typer.Option(help="What to write: a folder, .csv, .parquet or .json, new or empty")],
    data: Annotated[str | None, typer.Option(help="The DATA of the run, if it has moved")] = None,
    label: Annotated[str | None, typer.Option(help="The column of labels in DATA, as given to the run")] = None,
    keep: Annotated[str | None, typer.Option(help="selected, 'not likely wrong' (if left out), all")] = None,
    relabel: Annotated[bool, typer.Option(help="Give likely wrong examples their suggested label")] = False,
    copy: Annotated[bool, typer.Option(help="Copies of the pictures instead of links")] = False,
) -> None:
    """Write the cleaned dataset, or every example for another tool to look at. Originals are never touched."""
    from smallloss import exporting

    print(exporting.export(run, out, to, data=data, label=label, keep=keep, relabel=relabel, copy=copy))


@app.command()
@_spoken
def predict(
    run: Annotated[Path, typer.Argument(help="A run folder that `smallloss clean` made, or its model file")],
    data: Annotated[str, typer.Argument(help=_NEW)],
    out: Annotated[Path, typer.Option(help="The table to write, .csv or .parquet: one row per example")],
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """What the classifier of a run says of new examples, which need no labels."""
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
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from smallloss import __version__

        print(f"smallloss {__version__}")
        raise typer.Exit


def main() -> None:
    app()
