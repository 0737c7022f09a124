"""The cleaned dataset out of a run folder, in the format of whoever goes on with it. No torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smallloss import words
from smallloss.auditing.run import Audited
from smallloss.auditing.session import answered
from smallloss.criterion.selection import LIKELY_WRONG, REASONS, UNREADABLE
from smallloss.data.columns import Table
from smallloss.data.decode import is_picture
from smallloss.data.source import load
from smallloss.data.table_files import CLEANLAB, is_table, write_table
from smallloss.errors import InputError
from smallloss.exporting import formats
from smallloss.exporting.formats import KEEP, Columns
from smallloss.files import file_of, place, seen_from, write_json
from smallloss.record.examples import Examples

_CLEANED = ("folder", "csv", "parquet")  # the others show every example
_ENDING = {"folder": "", "csv": ".csv", "parquet": ".parquet", "cleanlab": ".csv"}
_ENDING |= {"labelstudio": ".json", "fiftyone": ".json"}
FORMATS = tuple(_ENDING)
_SHOWS_ORIGINALS = ("folder", "labelstudio", "fiftyone")
_GUESSES = "Suggested labels are the network's guesses: look at them before you rely on them."
_ESTIMATED = (
    "By the estimate {} to {} of the labels are wrong, so some that are called likely wrong may be right: check some "
    "by hand (smallloss audit), or leave none out (--keep all)."
)


@dataclass(frozen=True)
class Exported:
    """Counts are of examples; `str` is what a terminal shows."""

    path: Path
    examples: int  # of the run
    written: int
    relabelled: int = 0  # of the written, those under another label than they had
    by_hand: int = 0  # of the relabelled, those under the label that a person named
    why: Mapping[str, int] = field(default_factory=dict)  # reason -> how many are left out for it
    note: str = ""  # which columns of the data are not in it, and how to have them

    @property
    def left_out(self) -> int:
        return self.examples - self.written

    def __str__(self) -> str:
        suggested = self.relabelled - self.by_hand
        written = [f"{self.written:,} examples"]
        written += [f"{suggested:,} under the suggested label"] if suggested else []
        written += [f"{self.by_hand:,} under the label given by hand"] if self.by_hand else []
        why = ", ".join(f"{count:,} {reason}" for reason, count in self.why.items())
        said = f"{self.path}: {', '.join(written)}; {self.left_out:,} left out{f': {why}' if why else ''}"
        return "\n".join([said, *([_GUESSES] if suggested else []), *([self.note] if self.note else [])])


def _exported(target: Path, e: Examples, rows: np.ndarray, **more: Any) -> Exported:
    """What there is to say of it; `rows`: what was written."""
    lost = np.bincount(np.delete(e.reason, rows), minlength=len(REASONS))
    lost[UNREADABLE] += len(e.unreadable)
    why = {name: count for name, count in zip(REASONS, lost.tolist(), strict=True) if count}
    return Exported(target, len(e) + len(e.unreadable), len(rows), why=why, **more)


class _Originals(NamedTuple):
    """What the examples were before they became inputs: files of pictures, or texts and rows, or neither."""

    paths: Sequence[Path] = ()
    texts: Sequence[str] = ()


def export(
    run: str | Path, out: str | Path, to: str, *, data: str | Path | None = None, label: str | None = None,
    relabel: bool = False, keep: str | None = None, copy: bool = False,
) -> Exported:  # fmt: skip
    """Write the examples of a run to `out`, which is new or empty. The originals are never touched.

    to: the cleaned dataset as "folder" (a subfolder per class, with links to the pictures, or with copies of them),
    "csv" or "parquet"; or every example to look at in "cleanlab", "labelstudio" or "fiftyone", where the last two
    leave out what cannot be read.
    data, label: the DATA and the column of labels that the run was made from, where originals are linked or shown, and
    whose own columns, or the paths of whose pictures, stand in a csv or parquet; left out, where the run found them.
    keep: "selected", "not likely wrong" (the default) or "all". relabel: likely wrong examples are not left out
    but get their suggested label, where they have one. What a person said of an example, in the audit of this run or in
    the corrections it was made with, comes before all of this (see `formats.cleaned`).
    In csv, a text that a spreadsheet would run has an apostrophe.
    """
    _refuse_odd_wishes(to, keep, relabel, copy)
    target, found = place(out), answered(Path(run))
    e = found.examples
    _refuse_taken(target, to)
    if data is None and to in _SHOWS_ORIGINALS:
        data, label = _recorded_source(found, to)
    originals = _Originals() if data is None else _find_originals(data, label, found)
    _refuse_unfit(originals, data, to)
    if to == "folder":
        _refuse_inside(target, Path(str(data)))
    rows, codes = formats.cleaned(e, keep or ("not likely wrong" if to in _CLEANED else "all"), relabel)
    if not len(rows):
        raise InputError(
            f"No example of {found.folder} is left to export; keep more of them (--keep), or relabel (--relabel)."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    if to not in _CLEANED:
        return _write_all(target, to, e, originals)
    note = ""
    if to == "folder":
        labels = e.named(codes[rows]).tolist()
        formats.write_folder(target, [originals.paths[i] for i in rows], labels, copy)
    else:
        ours = formats.cleaned_columns(e, rows, codes)
        columns, note = _with_own(ours, rows, target, found, originals.paths, data, label)
        write_table(target, columns)
    changed = (codes != e.label)[rows]
    by_hand = changed & formats.found_wrong(e)[rows]
    counts = {"relabelled": int(changed.sum()), "by_hand": int(by_hand.sum())}
    said = _exported(target, e, rows, **counts, note=note)
    if found.intervals is None or not said.why.get(REASONS[LIKELY_WRONG]):
        return said
    ends = (words.percent(end, 0) for end in found.intervals["overall"][1:])
    return replace(said, note="\n".join(filter(None, [note, _ESTIMATED.format(*ends)])))


def _write_all(target: Path, to: str, e: Examples, originals: _Originals) -> Exported:
    """Every example, for a tool that shows them."""
    if to == "cleanlab":  # it has no ids: only a row for each input, readable or not, says which is which
        table = e.with_unreadable()
        write_table(target, {name: table[name] for name in CLEANLAB})
        return Exported(target, len(table["id"]), len(table["id"]))
    if to == "fiftyone":
        write_json(target, formats.fiftyone_samples(e, originals.paths))
    else:
        kind = "image" if originals.paths else "text"
        shown = [formats.local_file(path) for path in originals.paths] or originals.texts
        write_json(target, formats.labelstudio_tasks(e, kind, shown))
    return _exported(target, e, np.arange(len(e)))


def _refuse_odd_wishes(to: str, keep: str | None, relabel: bool, copy: bool) -> None:
    if to not in FORMATS:
        raise InputError(f"{to!r} is not a format to export to; --to is one of {', '.join(FORMATS)}.")
    if keep is not None and keep not in KEEP:
        raise InputError(f"--keep is {keep!r}; it is one of {', '.join(KEEP)}.")
    if to not in _CLEANED and (relabel or keep not in (None, "all")):
        raise InputError(
            f"{to} shows every example under its given label; --keep and --relabel go with {', '.join(_CLEANED)}."
        )
    if copy and to != "folder":
        raise InputError(f"--copy goes with --to folder: {to} holds no pictures.")


def _refuse_taken(target: Path, to: str) -> None:
    """Nothing is written through a link, and nothing that is there is written over."""
    ending = _ENDING[to]
    if ending and target.suffix != ending:
        raise InputError(f"{target} does not end in {ending}, which {to} needs; name it so.")
    if target.is_symlink():
        raise InputError(f"{target} is a link; name what it points to.")
    if target.is_dir() and (ending or any(target.iterdir())):
        what = "a folder; name a file" if ending else "not empty; name a new or an empty folder"
        raise InputError(f"{target} is {what}.")
    if target.exists() and not target.is_dir() and (not ending or target.stat().st_size):
        raise InputError(f"{target} already exists; move it away or name another file.")


def _recorded_source(run: Audited, to: str) -> tuple[str, str | None]:
    """The DATA and the column of labels, where the run wrote them down."""
    source = run.settings["data"].get("source")
    if source is None:
        raise InputError(
            f"{to} needs the originals, but {run.folder} does not say where {run.name} is; "
            "name the data that the run was made from with --data (in Python, data=)."
        )
    return source, run.settings["data"].get("label")


def _find_originals(data: str | Path, label: str | None, run: Audited) -> _Originals:
    dataset = load(data, label=label)
    run.require(dataset, run.folder)
    files = [one for one in dataset.sources or () if isinstance(one, str)]  # a table may hold pictures themselves
    return _Originals([place(one) for one in files] if len(files) == len(dataset) else (), dataset.shown or ())


def _refuse_unfit(originals: _Originals, data: str | Path | None, to: str) -> None:
    if to not in _SHOWS_ORIGINALS or originals.paths or (to == "labelstudio" and originals.texts):
        return
    what = "neither picture files nor texts" if to == "labelstudio" else "no picture files"
    others = ["csv", "parquet", "cleanlab", *(["labelstudio"] if originals.texts else [])]
    raise InputError(f"{data} has {what}, which {to} needs; export to {', '.join(others[:-1])} or {others[-1]}.")


def _refuse_inside(target: Path, source: Path) -> None:
    """Among the originals the export would be taken for a class of theirs."""
    root = source.expanduser().resolve()
    if root.is_dir() and target.resolve().is_relative_to(root):
        raise InputError(f"{target} is inside {source}, where nothing is written; name a folder elsewhere.")


def _with_own(
    ours: dict[str, Any],
    rows: np.ndarray,
    target: Path,
    run: Audited,
    paths: Sequence[Path],
    data: Any,
    label: str | None,
) -> tuple[dict[str, Any], str]:
    """Our columns of these rows and the user's own beside them, or where their pictures are; and what is to be said."""
    listed = run.examples.with_unreadable()
    own, note = _own_table(run, listed, data, label)
    if own is not None:
        keeps, there = target.suffix == ".parquet", np.flatnonzero(listed["reason"] != REASONS[UNREADABLE])
        columns = own.beside(ours, there[rows], target.parent, nested=keeps)
        if keeps or not own.nested:
            return columns, ""
        one = len(own.nested) == 1
        lacks = f"The column {words.listed(own.nested)} is" if one else f"The columns {words.listed(own.nested)} are"
        kept = "--to parquet keeps it." if one else "--to parquet keeps them."
        return columns, f"{lacks} not in it: a csv cannot hold lists, records or bytes; {kept}"
    source = run.settings["data"].get("source")
    if data is None and source is not None and Path(source).is_dir() and all(map(is_picture, run.ids)):
        paths = [file_of(Path(source), name) for name in run.ids]
    if not paths:
        return ours, note
    return {**ours, "path": [seen_from(target.parent, paths[i]) for i in rows]}, ""


def _own_table(run: Audited, listed: Columns, data: str | Path | None, label: str | None) -> tuple[Table | None, str]:
    """The user's own table, or none and the sentence that says how to join. listed: all that the run was given."""
    ids = list(listed["id"])
    name, numbered = run.name, ids == [str(i) for i in range(len(ids))]
    on = f"on id ({'the row number, from 0' if numbered else 'the name of each example there'})."
    place = run.settings["data"].get("source") if data is None else data
    if place is None or not is_table(place):
        if place is not None and is_picture(ids[0]) and not Path(place).expanduser().exists():
            return None, f"The paths of the pictures are not in it, because {place} is gone: name it with --data."
        return None, f"To add columns of {name}, join {on}"
    path = Path(place).expanduser()
    if data is not None:
        return Table.read(path, label), ""
    lacks, join = f"The columns of {name} are not in it, because {path}", f"join it with {name} {on}"
    if not path.is_file():
        return None, f"{lacks} is gone: name it with --data, or {join}"
    try:
        own = Table.read(path, run.settings["data"].get("label"))
        # Labels that were drawn for the run are not those of the data.
        drawn = run.settings.get("noise", {}).get("drawn") is not None
        same = own.row_names() == ids and (drawn or own.labels().tolist() == list(listed["given_label"]))
    except InputError:
        same = False
    if same:
        return own, ""
    again = "put it back as it was, or name a copy of that with --data"
    return None, f"{lacks} has changed since; {again if numbered else join}"
