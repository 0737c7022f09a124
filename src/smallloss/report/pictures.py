"""The examples to look at, small enough for the page: of each class the most suspicious and the borderline ones."""

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from smallloss.data.dataset import Dataset
from smallloss.record.examples import NOBODY, SPLITS
from smallloss.record.run import Run
from smallloss.report.facts import FATES, fates, printable, shortened
from smallloss.words import one_line

if TYPE_CHECKING:
    from PIL import Image

CLASSES_SHOWN = 10
PER_CLASS = 8
NEAREST = 2  # on each side of where likely wrong begins, per class
LONGEST_SIDE = 128
TEXT_LENGTH = 240
ID_LENGTH = 28
_COARSE_SIDE = 48  # up to here a picture is enlarged dot by dot
_PNG_BYTES = 4096  # beyond, it is a photograph, and a JPEG is several times smaller


@dataclass(frozen=True)
class Shown:
    """One example in a gallery."""

    id: str
    short_id: str
    label: str
    predicted: str
    label_score: float
    rank: int
    of: int  # examples of the class that were ranked
    fate: str  # kept, aside or wrong
    picture: str | None  # as a data address; None where inputs are not pictures
    coarse: bool  # few pixels, to be seen as they are
    text: str | None = None  # what there is to read: the text, or the row of a table


@dataclass(frozen=True)
class Suspects:
    """The most suspicious examples that carry one label."""

    label: str
    likely_wrong: int
    shown: list[Shown]


def gallery(run: Run) -> list[Suspects]:
    """The lowest label scores under each label, of the labels with the most likely wrong examples."""
    return [
        Suspects(one_line(run.examples.classes[code]), count, _shown(run, wrong[:PER_CLASS]))
        for code, count, wrong, _ in _classes_shown(run)
    ]


def borderline(run: Run) -> list[Shown]:
    """Under the same labels, the nearest to where likely wrong begins: the first beyond it, the last before it."""
    return [
        one for *_, wrong, others in _classes_shown(run) for one in _shown(run, [*wrong[-NEAREST:], *others[:NEAREST]])
    ]


def _classes_shown(run: Run) -> Iterator[tuple[int, int, list[int], list[int]]]:
    """The labels with the most likely wrong examples, in their order, and how many those are; their rows, and the other
    rows with this label, the worst first: none that was answered for."""
    e = run.examples
    counts = np.bincount(e.label[e.likely_wrong], minlength=len(e.classes))
    most = np.argsort(-counts, kind="stable")[:CLASSES_SHOWN]
    ranked = e.rank > 0 if e.answer is None else (e.rank > 0) & (e.answer == NOBODY)
    for code in sorted(most[counts[most] > 0].tolist()):
        rows = np.flatnonzero(ranked & (e.label == code))
        rows = rows[np.argsort(e.label_score[rows], kind="stable")]
        yield code, int(counts[code]), rows[e.likely_wrong[rows]].tolist(), rows[~e.likely_wrong[rows]].tolist()


def _shown(run: Run, rows: Sequence[int]) -> list[Shown]:
    e, data = run.examples, run.dataset
    counts = [np.bincount(e.label[(e.split == k) & (e.rank > 0)], minlength=len(e.classes)) for k in range(len(SPLITS))]
    found, fate = [], fates(e)
    for row in rows:
        picture = None if data is None else thumbnail(data, row, LONGEST_SIDE)
        code, seen = int(e.label[row]), int(e.seen[row])
        name, label = e.ids[row], e.classes[code]
        short = name.removeprefix(f"{label}/")  # the folder of its class says nothing new
        found.append(Shown(
            id=printable(name),
            short_id=printable(short if len(short) <= ID_LENGTH else "…" + short[1 - ID_LENGTH :]),
            label=one_line(label),
            predicted=one_line(e.classes[seen]) if seen >= 0 else "–",
            label_score=float(e.label_score[row]),
            rank=int(e.rank[row]),
            of=int(counts[int(e.split[row])][code]),
            fate=FATES[fate[row]],
            picture=None if picture is None else embedded(picture),
            coarse=picture is not None and max(picture.size) <= _COARSE_SIDE,
            text=None if data is None or data.shown is None else shortened(printable(data.shown[row]), TEXT_LENGTH),
        ))  # fmt: skip
    return found


def thumbnail(data: Dataset, index: int, longest_side: int) -> "Image.Image | None":
    """An example as a person should see it: the whole picture from its file; where that is gone, the square that the
    network sees; None where inputs are not pictures."""
    from PIL import Image

    from smallloss.data.decode import whole

    if data.pictures is None:
        return None
    if data.sources is not None:
        with suppress(Exception):  # a file may hold anything by now, and a decoder may fail in any way
            return whole(data.sources[index], longest_side)
    pixels = np.asarray(data.pictures[index])
    picture = Image.fromarray(pixels if pixels.shape[-1] in (3, 4) else pixels[..., 0])
    picture.thumbnail((longest_side, longest_side))
    return picture


def embedded(picture: "Image.Image") -> str:
    """A picture inside the page: a PNG, exact, where that is small, else a JPEG if it is the smaller of the two."""
    file, photograph = io.BytesIO(), io.BytesIO()
    picture.save(file, format="PNG", optimize=True)
    if file.tell() > _PNG_BYTES and picture.mode != "RGBA":
        picture.save(photograph, format="JPEG", quality=80, optimize=True)
    kind, file = ("jpeg", photograph) if 0 < photograph.tell() < file.tell() else ("png", file)
    return f"data:image/{kind};base64," + base64.b64encode(file.getvalue()).decode("ascii")
