"""What the other commands take, and what they say in the end. The work is elsewhere, imported when it is needed."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from smallloss.errors import InputError
from smallloss.knobs import Arg, Opt, converted
from smallloss.run.clean import KINDS, PRIOR, PROMISED, RATES, TRANSITION
from smallloss.words import percent

if TYPE_CHECKING:
    from smallloss.criterion.selection import Selection
    from smallloss.exporting.export import Exported
    from smallloss.noise.verdict import Judgement

_RUN = "A run folder that `smallloss clean` wrote"
_TABLE = "Table to write, .csv or .parquet: one row per example."
_NEW = "New examples of the same kind: a folder of pictures, a table of paths, texts or columns, an .npy or .npz."


def _gamma(value: Any) -> Any:
    from smallloss.criterion.quota import Gamma

    return converted(value, Gamma, "--gamma")


def check(matrix: Annotated[Path, Arg("T", "T as .csv, .npy or .parquet; rows are true classes.")]) -> "Judgement":
    """Say whether small losses can find wrong labels under a transition matrix T (exit status 3 if not)."""
    from smallloss.data.told import read_matrix
    from smallloss.noise.verdict import check as of_matrix

    return of_matrix(*read_matrix(matrix))


def methods() -> str:
    """List the methods: what each does, must know of the noise, and costs."""
    from smallloss import methods

    known = {
        None: "nothing",
        "noise rate": "noise rates (estimated, if not given)",
        "matrix": "a transition matrix (estimated, if not given)",
    }
    return "\n".join(
        f"{one.name}\n  {one.says}\n  needs: {known[one.needs]}\n  costs: {one.costs}" for one in methods.described()
    )


def corrupt(
    labels: Annotated[Path, Arg("LABELS", "A .csv or .parquet table, or an .npy of labels.")],
    noise: Annotated[str, Opt("KIND", f"{KINDS}, uniform_excluding:0.5, or a file that holds T.", required=True)],
    out: Annotated[Path, Opt("FILE", "Table to write, .csv or .parquet; adds the column true_label.", required=True)],
    column: Annotated[str, Opt("NAME", "Column of labels.")] = "label",
    class_map: Annotated[str | None, Opt("PAIRS", "For structured noise: truck:car,cat:dog,dog:cat.",
        flag="--map")] = None,
    seed: Annotated[int, Opt("N", "Seed of every random draw.", least=0)] = 0,
    exact: Annotated[bool, Opt("", "Exact counts instead of independent draws.")] = False,
) -> str:  # fmt: skip
    """Make labels wrong on purpose, for a benchmark."""
    from smallloss.run.jobs import corrupt_file

    rows, wrong = corrupt_file(labels, out, noise=noise, column=column, seed=seed, exact=exact, class_map=class_map)
    return f"{out}: {rows:,} rows; {wrong:,} labels ({percent(wrong / rows)}) are now wrong ({noise}, seed {seed})."


def select(
    losses: Annotated[Path, Arg("LOSSES", "A .csv, .parquet or .npz of labels and losses, mean or per epoch.")],
    out: Annotated[Path, Opt("FILE", _TABLE, required=True)],
    noise_rate: Annotated[str | None, Opt("RATE", RATES)] = None,
    transition: Annotated[Path | None, Opt("FILE", TRANSITION)] = None,
    prior: Annotated[str | None, Opt("NAME", PRIOR)] = None,
    beta: Annotated[float, Opt("SHARE", "Safety: how much less than 1 - noise rate is kept.")] = 0.2,
    gamma: Annotated[Any, Opt("NUMBER", "Balance of the classes: middle, none, or a number from 1.",
        read=_gamma)] = "middle",
) -> "Selection":  # fmt: skip
    """Rank and select examples by losses that were recorded elsewhere."""
    asked = dict(locals())
    from smallloss.run.jobs import select_file

    return select_file(**asked)


def audit(
    run: Annotated[Path, Arg("RUN", f"{_RUN}.")],
    answers: Annotated[Path | None, Opt("FILE", "The .csv of answers, to read back.")] = None,
    promise: Annotated[float | None, Opt("SHARE", f"{PROMISED} If left out, as in the run.")] = None,
    data: Annotated[str | None, Opt("DATA", "DATA of the run, if it has moved.")] = None,
    label: Annotated[str | None, Opt("NAME", "--label of the run, with --data.")] = None,
    labels: Annotated[Path | None, Opt("FILE", "--labels of the run, if it had them.")] = None,
    kept: Annotated[int | None, Opt("N", "Kept examples to check; if left out, what the promise takes.")] = None,
    dropped: Annotated[int | None, Opt("N", "Other examples to check; if left out, half as many.")] = None,
    suspicious: Annotated[int | None, Opt("N", "Instead: the N most suspicious, the worst first.")] = None,
    held_out: Annotated[int | None, Opt("N", "Instead: N held-out examples, for the accuracy.")] = None,
    seed: Annotated[int, Opt("N", "Seed of the random draw, once for a run.", least=0)] = 0,
) -> str:
    """Draw examples to check by hand, or go through the most suspicious; with --answers, say what the answers show."""
    from smallloss.auditing import session as auditing
    from smallloss.data.source import load
    from smallloss.record.folder import read_config
    from smallloss.record.run import data_of_run

    dataset = data_of_run(run) if data is None else load(data, label=label, labels=labels)
    if answers is not None:
        result = auditing.read_back(run, answers, promise=promise, dataset=dataset)
        said = [str(result), "", result.next_run]
        if dataset is None:
            as_it_was = "is as it was: the data of the run was not found; name it with --data."
            said.append(f"{run / 'report.html'} {as_it_was}")
        return "\n".join(said)
    if dataset is None:
        read_config(run)  # what is no run at all is said first
        raise InputError(f"The data of {run} is not where the run found it, so there is nothing to show: give --data.")
    asked = auditing.ask(
        run, kept=kept, dropped=dropped, suspicious=suspicious, held_out=held_out, promise=promise, seed=seed,
        dataset=dataset,
    )  # fmt: skip
    page = f"{asked.page}  (open it in a browser, answer from the keyboard, save)"
    return f"{page}\n{asked.table}  (the same questions as a table)\n{asked.words}"


def open(
    run: Annotated[Path, Arg("RUN", f"{_RUN}.")],
    data: Annotated[str | None, Opt("DATA", "DATA of the run, if it has moved.")] = None,
    label: Annotated[str | None, Opt("NAME", "--label of the run, with --data.")] = None,
    labels: Annotated[Path | None, Opt("FILE", "--labels of the run, if it had them.")] = None,
    port: Annotated[int, Opt("N", "Port on this machine; 0 takes a free one.", least=0)] = 0,
    no_browser: Annotated[bool, Opt("", "Print the address, and open no browser.")] = False,
) -> str:
    """Open the page of a run, with every picture, and check at random; answers are saved into it. Ctrl-C ends it."""
    import webbrowser

    from smallloss.auditing.run import read_run
    from smallloss.auditing.saved import ROUTES
    from smallloss.auditing.serving import Server
    from smallloss.data.source import load
    from smallloss.record.run import data_of_run

    found = read_run(run)
    dataset = data_of_run(run) if data is None else load(data, label=label, labels=labels)
    if dataset is not None:
        found.require(dataset, run)
        found = found.shown_with(dataset)  # type: ignore[assignment]
    with Server(found, port) as server:
        print(f"{server.address}\nIt holds the token: whoever has it may look and decide. Ctrl-C ends it.", flush=True)
        if not no_browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    there = [table.path(found) for table in ROUTES.values() if table.path(found).is_file()]
    said = [
        f"{file}  (to rank anew by it: {shlex.join(['smallloss', 'audit', str(run), '--answers', str(file)])})"
        for file in there
    ]
    return "\n".join(said) or "Nothing was decided."


def export(
    run: Annotated[Path, Arg("RUN", f"{_RUN}.")],
    to: Annotated[str, Opt("FORMAT", "folder, csv, parquet, cleanlab, labelstudio or fiftyone.", required=True)],
    out: Annotated[Path, Opt("PATH", "What to write, new or empty: a folder, .csv, .parquet or .json.", required=True)],
    data: Annotated[str | None, Opt("DATA", "DATA of the run, if it has moved.")] = None,
    label: Annotated[str | None, Opt("NAME", "--label of the run, with --data.")] = None,
    keep: Annotated[str | None, Opt("WHICH", "selected, 'not likely wrong' (default) or all.")] = None,
    relabel: Annotated[bool, Opt("", "Give likely wrong examples their suggested label.")] = False,
    copy: Annotated[bool, Opt("", "Copy the pictures instead of linking to them.")] = False,
) -> "Exported":
    """Write the cleaned dataset, or all examples for another tool; the originals are never touched."""
    asked = dict(locals())
    from smallloss.exporting.export import export as write

    return write(**asked)


def predict(
    run: Annotated[Path, Arg("RUN", f"{_RUN}, or its model file.")],
    data: Annotated[str, Arg("DATA", _NEW)],
    out: Annotated[Path, Opt("FILE", _TABLE, required=True)],
    device: Annotated[str, Opt("NAME", "auto, cpu or cuda.")] = "auto",
) -> str:
    """Classify new examples, which need no labels, with the classifier of a run."""
    from smallloss.run.predict import in_words, predict

    return f"{out}: {in_words(predict(run, data, out, device=device, progress=None))}"
