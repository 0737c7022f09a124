"""Small jobs on files: corrupt a column of labels, select from losses recorded elsewhere. No torch."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.corrupt import corrupt
from smallloss.criterion.labels import alike_note, encode_labels
from smallloss.criterion.selection import Selection
from smallloss.criterion.transition import from_spec
from smallloss.data.table_files import read_table, write_table
from smallloss.data.told import read_rates, read_scores, read_transition
from smallloss.errors import InputError
from smallloss.files import read_npy, require_folder
from smallloss.noise.choose import select
from smallloss.words import listed


def corrupt_file(
    labels: Path, out: Path, *, noise: str, column: str = "label", seed: int = 0, exact: bool = False,
    class_map: str | None = None,
) -> tuple[int, int]:  # fmt: skip
    """Write every row with its `true_label` and a noisy `label`; (how many rows, how many now wrong).

    `noise` is a kind with its rate (uniform:0.5) or a file that holds T. Other columns of a table are kept.
    """
    refuse_bad_out(out, labels, noise)
    kept, values = _label_column(labels, column)
    refuse_others(out, (*kept, "true_label", column))
    codes, classes = encode_labels(values)
    T = _transition(noise, classes, class_map)
    noisy = corrupt(codes, T, seed, exact=exact)
    names = np.array(classes)
    write_table(out, {**kept, "true_label": names[codes], column: names[noisy]})
    return len(codes), int((noisy != codes).sum())


def select_file(
    losses: Path, out: Path, *, noise_rate: str | None = None, transition: Path | None = None, **options: Any
) -> Selection:
    """Rank and select from a table or npz of losses; write one row per example, in input order."""
    if (noise_rate is None) == (transition is None):
        raise InputError(
            "How many labels are wrong must be known here: give either --noise-rate (0.2, or cat=0.3,dog=0.1, or a "
            "csv) or --transition (a file that holds T); `smallloss clean` can estimate it."
        )
    refuse_bad_out(out, losses, noise_rate, transition)
    scores = read_scores(losses)
    _, classes = encode_labels(scores.labels)  # numbers in the order of numbers, as in `clean`: T may be unnamed
    rates, upper = (None, None) if noise_rate is None else read_rates(noise_rate, classes)
    T = None if transition is None else read_transition(transition, classes)
    selection = select(
        scores.mean, scores.labels, noise_rate=rates, upper=upper, transition=T, classes=classes, **options
    )
    selection = replace(selection, notes=(*selection.notes, *alike_note(classes)))
    table = ({} if scores.ids is None else {"id": np.array(scores.ids)}) | selection.table()
    refuse_others(out, table)
    write_table(out, table)
    return selection


def refuse_bad_out(out: Path, *sources: str | Path | None) -> None:
    """Before any work: the folder of --out is there, and it is nothing that is read, by whatever name or link."""
    require_folder(out)
    for source in sources:
        if source is not None and out.exists() and Path(source).exists() and out.samefile(source):
            raise InputError(f"--out {out} is the file that is read, {source}, and would be lost; name another.")


def refuse_others(out: Path, columns: Iterable[str], perhaps: Iterable[str] = ()) -> None:
    """Nothing is written over but an empty file, or a table of the very `columns`, as the same command writes it."""
    if not out.exists():
        return
    try:
        ours = out.is_file() and (
            not out.stat().st_size or set(read_table(out).column_names) - set(perhaps) == set(columns)
        )
    except InputError:
        ours = False
    if not ours:
        raise InputError(
            f"--out {out} is there already, and not a table of this command; move it away or name another."
        )


def _label_column(path: Path, column: str) -> tuple[dict[str, Any], Any]:
    if path.suffix == ".npy":
        return {}, read_npy(path)
    table = read_table(path)
    if column not in table.column_names:
        raise InputError(
            f"{path} has the columns {listed(table.column_names)}, but no {column!r}; name it with --column."
        )
    if "true_label" in table.column_names:
        raise InputError(f"{path} has a column 'true_label' already, which would be lost; rename or drop it first.")
    kept = {name: table.column(name).to_pylist() for name in table.column_names if name != column}
    return kept, table.column(column).to_pylist()


def _transition(noise: str, classes: tuple[str, ...], class_map: str | None) -> np.ndarray:
    if Path(noise).suffix in (".csv", ".npy", ".parquet"):
        return read_transition(noise, classes)
    if class_map is None:
        return from_spec(noise, len(classes))
    if not noise.startswith("structured:"):
        raise InputError(f"--map is for structured noise; {noise} has no use for it.")
    position = {name: code for code, name in enumerate(classes)}
    target = list(range(len(classes)))
    for pair in class_map.split(","):
        source, arrow, goal = (part.strip() for part in pair.partition(":"))
        if not arrow or source not in position or goal not in position:
            raise InputError(f"{pair!r} in --map is not a pair of labels; write truck:automobile,cat:dog.")
        target[position[source]] = position[goal]
    return from_spec(noise, len(classes), target)
