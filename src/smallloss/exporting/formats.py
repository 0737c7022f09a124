"""A run's examples in the words of other tools, and names that any file system takes."""

import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from smallloss.data.decode import is_picture
from smallloss.data.table_files import EXPORTED, as_cell, write_table
from smallloss.errors import InputError
from smallloss.files import PREFIX, SUFFIX
from smallloss.record.examples import NOBODY, Examples

Columns = Mapping[str, np.ndarray]  # of the examples table; texts are objects, None where there is none

CLEANED = EXPORTED[2:]  # what a cleaned table says of an example beside its id and its label
NAMES = "names.csv"
AUDITED = ("audit_answer", "audited_label")
KEEP = ("selected", "not likely wrong", "all")


def cleaned(e: Examples, keep: str, relabel: bool) -> tuple[np.ndarray, np.ndarray]:
    """(the rows that stay, the class of every row); with `relabel` likely wrong ones stay, by what the run suggests.

    Where it suggests nothing, because its classifier sees the very label they have, that is under this label.

    What a person said comes first, whatever is kept: right stays; wrong goes out under the label that they named;
    none of the classes is left out.
    """
    said, likely = _said(e), e.likely_wrong
    stays = {"selected": e.kept, "not likely wrong": ~likely, "all": np.ones_like(likely)}[keep]
    label = np.where(relabel & likely & (e.suggested >= 0), e.suggested, e.label)
    stays = ((stays | (relabel & likely)) & ~found_wrong(e)) | (said >= 0)
    return np.flatnonzero(stays), np.where(said >= 0, said, label)


def cleaned_columns(e: Examples, rows: np.ndarray, label: np.ndarray) -> dict[str, Any]:
    """The cleaned dataset as a table; `weight` is the run's, 0 for what it did not select, 1 for a person's word."""
    table = e.table()
    heard = ("audit_answer",) if are_answered(e) else ()
    columns = {"id": table["id"], "label": e.named(label), **{name: table[name] for name in (*CLEANED, *heard)}}
    columns["weight"] = np.where(_said(e) >= 0, e.weight.dtype.type(1), e.weight)
    return {name: values[rows] for name, values in columns.items()}


def _said(e: Examples) -> np.ndarray:
    """The true class by hand, NONE or NOBODY."""
    return np.full(len(e), NOBODY) if e.answer is None else e.answer


def found_wrong(e: Examples) -> np.ndarray:
    """Those whose label a person found wrong, whether or not they named another."""
    said = _said(e)
    return (said != NOBODY) & (said != e.label)


def are_answered(e: Examples) -> bool:
    """Did a person answer for any of them?"""
    return bool((_said(e) != NOBODY).any())


def labelstudio_tasks(e: Examples, shows: str, shown: Sequence[str]) -> list[dict[str, Any]]:
    """Tasks for Label Studio's JSON import, each with its suggested label where the run has one.

    What a person said of a label is an annotation, with the class they named; none of the classes is said in `meta`.

    shows: "image" or "text", what `shown` holds. The labelling interface has a control `label` over it:
        <Image name="image" value="$image"/>  <Choices name="label" toName="image"> ... </Choices>
    """
    names = ("id", "given_label", "label_score", "predicted_probability", "suggested_label", *AUDITED)
    tasks = []
    for what, (name, given, score, sure, suggested, answer, audited) in zip(shown, _rows(e, names), strict=True):
        guess = {"model_version": "smallloss", "score": _number(sure)}
        meta = {"id": name, "given_label": given, "label_score": _number(score)}
        predictions = [] if suggested is None else [guess | _choice(shows, suggested)]
        task: dict[str, Any] = {"data": {shows: what}, "predictions": predictions, "meta": meta}
        if answer is not None:
            meta["audit_answer"] = answer
            task["annotations"] = [] if audited is None else [_choice(shows, audited)]
        tasks.append(task)
    return tasks


def _choice(shows: str, label: str) -> dict[str, Any]:
    choice = {"from_name": "label", "to_name": shows, "type": "choices", "value": {"choices": [label]}}
    return {"result": [choice]}


def local_file(path: Path) -> str:
    """The address of a picture in a Label Studio that serves local files.

    It needs LOCAL_FILES_SERVING_ENABLED=true, LOCAL_FILES_DOCUMENT_ROOT=/ and a local storage that names the
    folder of the pictures.
    """
    return "/data/local-files/?d=" + quote(os.fsencode(path).lstrip(b"/"))


def fiftyone_samples(e: Examples, paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Samples for FiftyOne, which these lines load:

        import json, fiftyone as fo
        labels = ("ground_truth", "prediction")
        samples = [
            fo.Sample(**row | {name: fo.Classification(**row[name]) for name in labels})
            for row in json.load(open("samples.json", encoding="utf-8"))
        ]
        fo.Dataset("cleaned").add_samples(samples)

    The tags are the reason and the split; mistakenness is 1 - label_score, null for what was never seen. Where a person
    was asked, audit_answer and audited_label are fields of every sample.
    """
    names = ("reason", "split", "given_label", "predicted_label", "predicted_probability", "label_score", *AUDITED)
    heard, samples = are_answered(e), []
    for path, (reason, split, given, seen, sure, score, *audit) in zip(paths, _rows(e, names), strict=True):
        low = _number(score)
        sample = {
            "filepath": _utf8(path),
            "tags": [tag for tag in (reason, split) if tag],
            "ground_truth": {"label": given},
            "prediction": {"label": seen, "confidence": _number(sure)},
            "mistakenness": None if low is None else 1 - low,
        }
        samples.append(sample | (dict(zip(AUDITED, audit, strict=True)) if heard else {}))
    return samples


def _rows(e: Examples, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Cells of these columns, row by row; None where the run has no such column."""
    table = e.table()
    return zip(*(table.get(name, [None] * len(e)) for name in names), strict=True)


def _number(value: float | None) -> float | None:
    """A number as JSON can say it."""
    return None if value is None or not np.isfinite(value) else float(value)


def _utf8(path: Path) -> str:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"The path {str(path)!a} is not UTF-8, which JSON cannot hold; rename it.") from None
    return str(path)


_LONGEST = 200  # bytes; file systems take 255, and a number and an ending may follow
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\u200e\u200f\u2028-\u202e\u2066-\u2069]')  # bidi marks too
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\..*)?", re.IGNORECASE)


def safe_name(text: str) -> str:
    """`text` as the name of a file or folder on any system: one part of a path, not hidden, not a Windows device."""
    name = _FORBIDDEN.sub("_", as_cell(text)).strip().strip(" .")
    name = name.encode()[:_LONGEST].decode("utf-8", "ignore").rstrip(" .") or "_"
    return f"_{name}" if _RESERVED.fullmatch(name) else name


class Names:
    """Safe names, each given out once whatever the case of its letters or the form of its accents."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {_key(name) for name in taken}
        self._next: dict[str, int] = {}

    def folder(self, label: str) -> str:
        return self._free(safe_name(label), "")

    def file(self, path: Path) -> str:
        """The name of the file at `path`, its ending kept."""
        stem, ending = (path.stem, path.suffix) if is_picture(path.name) else (path.name, "")
        return self._free(safe_name(stem), ending)

    def _free(self, name: str, ending: str) -> str:
        key = _key(name + ending)
        free = name + ending
        while _key(free) in self._taken:
            number = self._next[key] = self._next.get(key, 1) + 1
            free = f"{name}~{number}{ending}"
        self._taken.add(_key(free))
        return free


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def write_folder(target: Path, paths: Sequence[Path], labels: Sequence[str], copy: bool) -> None:
    """A subfolder per class, of links or copies, and names.csv, which says what label each stands for."""
    names = Names(taken=[NAMES])
    folder_of = {label: names.folder(label) for label in sorted(set(labels))}
    files_of = {label: Names() for label in folder_of}
    with _all_or_nothing(target) as new:
        for folder in folder_of.values():
            (new / folder).mkdir()
        for path, label in zip(paths, labels, strict=True):
            place = new / folder_of[label] / files_of[label].file(path)
            if copy:
                shutil.copyfile(path, place)
            else:
                place.symlink_to(path)
        write_table(new / NAMES, {"folder": list(folder_of.values()), "label": list(folder_of)})


@contextmanager
def _all_or_nothing(target: Path) -> Iterator[Path]:
    """A new folder beside the target, which takes its place at the end, or is gone."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, suffix=SUFFIX, dir=target.parent) as beside:
        new = Path(beside) / "new"
        new.mkdir()
        yield new
        new.rename(target)  # the system refuses it where a link or a folder that is not empty has come in between
