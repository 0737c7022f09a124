"""What the classifier of a run says of new examples: a row for each, in their order."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from smallloss.data.columns import Table
from smallloss.data.dataset import Dataset
from smallloss.data.memory import table_of
from smallloss.data.new_examples import NewExamples, load_new
from smallloss.data.pictures import read_pictures
from smallloss.data.table import new_rows, shown_again
from smallloss.data.table_files import as_cell, require_ending, write_table
from smallloss.engine.classifier import Classifier, load_classifier
from smallloss.engine.progress import Progress
from smallloss.errors import InputError
from smallloss.record.folder import read_config
from smallloss.run.jobs import refuse_bad_out, refuse_others
from smallloss.words import counted, one_line, quoted

_PART = 4096  # examples in memory at a time
_SAME = 1e-5  # of a feature's spread: the means of the same features differ by rounding alone
_FEW = 5  # classes that a summary counts


def predict(
    run: str | Path, data: str | Path, out: str | Path | None = None, *, net: Any = None, backbone: Any = None,
    device: str = "auto", progress: bool | None = False,
) -> dict[str, Any]:  # fmt: skip
    """Columns id, predicted_label and predicted_probability of the examples in a file or folder, also written to `out`.

    data: for a run of pictures, a folder of them (subfolders mean nothing), a picture, or a table of paths; arrays or
    features in an .npy or .npz; texts or rows in a table. Labels are not needed, and not looked at.
    A picture that cannot be read has a row without a prediction, and its reason under `reason`, a column that is there
    only then. net, backbone: as in `load_classifier`.
    """
    if out is not None:
        require_ending(Path(out))
        refuse_bad_out(Path(out), data)
        refuse_others(Path(out), ("id", "predicted_label", "predicted_probability"), perhaps=("reason",))
    classifier = load_classifier(run, net=net, backbone=backbone, device=device)
    new = load_new(Path(data).expanduser(), classifier.takes, described=classifier.describes)
    if new.table is not None:
        new = NewExamples(new.ids, inputs=_described(Path(run), classifier, new.table))
    label, probability = np.full(len(new), -1), np.full(len(new), np.nan)
    reasons: dict[int, str] = {}
    with Progress(enabled=progress) as bar:
        bar.stage("predicting", -(-len(new) // _PART), 0)
        for rows, inputs, lost in _parts(classifier, new):
            g = classifier.predict_proba(inputs)
            label[rows], probability[rows] = g.argmax(1), g.max(1)
            reasons |= lost
            bar.epoch("")
    names = np.array([*map(as_cell, classifier.classes), None], dtype=object)
    columns = {"id": [as_cell(one) for one in new.ids], "predicted_label": names[label]}
    columns["predicted_probability"] = probability
    if reasons:
        columns["reason"] = np.array([reasons.get(row) for row in range(len(new))], dtype=object)
    if out is not None:
        write_table(out, columns)
    return columns


def in_words(columns: Mapping[str, Any]) -> str:
    """How many examples were predicted to be what, the most frequent first, and how many could not be read."""
    counts = Counter(label for label in columns["predicted_label"] if label is not None).most_common()
    said = [f"{n:,} {quoted(label)}" for label, n in counts[:_FEW]]
    if len(counts) > _FEW:
        said.append(f"{sum(n for _, n in counts[_FEW:]):,} of {len(counts) - _FEW} other classes")
    lost = [(name, why) for name, why in zip(columns["id"], columns.get("reason", ()), strict=False) if why is not None]
    unread = f" {len(lost):,} cannot be read ({one_line(lost[0][0])}: {lost[0][1]})." if lost else ""
    return f"{counted(len(columns['id']), 'example')}: {', '.join(said) or 'none predicted'}.{unread}"


def _parts(classifier: Classifier, new: NewExamples) -> Iterator[tuple[np.ndarray, Any, dict[int, str]]]:
    """(rows, their inputs, why others of the part cannot be read), a part at a time."""
    for start in range(0, len(new), _PART):
        stop = min(start + _PART, len(new))
        if new.files is None:
            yield np.arange(start, stop), new.inputs[start:stop], {}
            continue
        found = read_pictures(new.files[start:stop], classifier.target)
        yield start + found.readable, found.inputs, {start + row: why for row, why in found.unreadable.items()}


def as_features(classifier: Classifier, X: Any, dataset: Callable[[], Dataset | None]) -> Any:
    """New texts or rows in memory, described as those of the run were; anything else as it is."""
    new = table_of(X, texts=classifier.seen.kind == "text") if classifier.describes else None
    if new is None:
        return X
    data = dataset()
    if data is None:
        raise InputError(_again(classifier, "a table in memory, or a file that is gone", "run clean on it again"))
    own, where = shown_again(data), new.where
    if own.text_columns:
        new = Table(pa.table({own.text_columns[0]: new.texts(new.text_columns or new.names)}), where)
    return _as_before(classifier, *new_rows(own, new), data.name)


def _described(run: Path, classifier: Classifier, table: Table) -> np.ndarray:
    """Features of new texts or rows: the terms, medians and categories are those of the data of the run."""
    data = read_config(run if run.is_dir() else run.parent)["data"]
    source = Path(data["source"] or "")
    if not data["source"] or not source.is_file():
        raise InputError(_again(classifier, data["source"] or "a table in memory", "put that file back where it was"))
    return _as_before(classifier, *new_rows(Table.read(source, data["label"]).own, table), str(source))


def _again(classifier: Classifier, source: str, what: str) -> str:
    things = "texts" if classifier.seen.kind == "text" else "rows"
    return (
        f"The run learned from features of the {things} of {source}, and new ones must be described by the same terms "
        f"and medians: {what}."
    )


def _as_before(classifier: Classifier, before: np.ndarray, new: np.ndarray, source: str) -> np.ndarray:
    """The features of new rows, if those of the rows learnt from are still what they were."""
    seen = classifier.seen
    away = np.abs(before.mean(0, dtype=np.float64) - seen.mean) if before.shape[1:] == seen.in_shape else np.inf
    if np.any(away > _SAME * np.asarray(seen.std)):
        raise InputError(
            f"{source} is not described as it was when the run was made: it has changed since. Put it back as it was."
        )
    return new
