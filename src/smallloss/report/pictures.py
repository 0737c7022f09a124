"""The examples to look at, small enough for the page: of each class the most suspicious and the borderline ones."""

import base64
import io
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from smallloss.data.dataset import Dataset
from smallloss.report.result import Result
from smallloss.report.summary import printable, shortened
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


def gallery(result: Result) -> list[Suspects]:
    """The lowest label scores under each label, of the labels with the most likely wrong examples."""
    ranked = _ranked(result)
    found = []
    for code, count in _classes_shown(result, ranked):
        worst = _by_score(result, ranked, code, wrong=True)[:PER_CLASS]
        shown = [_shown(result, ranked, k) for k in worst]
        found.append(Suspects(one_line(result.dataset.classes[code]), count, shown))
    return found


def borderline(result: Result) -> list[Shown]:
    """Under the same labels, the nearest to where likely wrong begins: the first beyond it, the last before it."""
    ranked = _ranked(result)
    found = []
    for code, _ in _classes_shown(result, ranked):
        beyond = _by_score(result, ranked, code, wrong=True)[-NEAREST:]
        before = _by_score(result, ranked, code, wrong=False)[:NEAREST]
        found += [_shown(result, ranked, k) for k in [*beyond, *before]]
    return found


def _ranked(result: Result) -> dict[str, np.ndarray]:
    """The ranked examples of all parts, one after the other, without those that a person has answered for."""
    columns: dict[str, list[np.ndarray]] = {}
    for part in result.parts:
        chosen = part.selection
        seen = np.flatnonzero((chosen.rank_in_class > 0) & ~np.isin(part.index, list(result.pins)))
        fate = np.where(chosen.mask, "kept", np.where(chosen.is_label_issue, "wrong", "aside"))
        for name, values in (
            ("index", part.index),
            ("label_score", chosen.label_score),
            ("rank", chosen.rank_in_class),
            ("of", chosen.quota.n[chosen.class_index]),
            ("fate", fate),
        ):
            columns.setdefault(name, []).append(values[seen])
    return {name: np.concatenate(values) for name, values in columns.items()}


def _classes_shown(result: Result, ranked: dict[str, np.ndarray]) -> list[tuple[int, int]]:
    """The labels with the most likely wrong examples, in their order, and how many those are."""
    flagged = ranked["index"][ranked["fate"] == "wrong"]
    counts = np.bincount(result.dataset.labels[flagged], minlength=len(result.dataset.classes))
    most = np.argsort(-counts, kind="stable")[:CLASSES_SHOWN]
    return [(code, int(counts[code])) for code in sorted(most[counts[most] > 0].tolist())]


def _by_score(result: Result, ranked: dict[str, np.ndarray], code: int, *, wrong: bool) -> list[int]:
    """Places among the ranked of one label's examples before or beyond where likely wrong begins, the worst first."""
    mine = (result.dataset.labels[ranked["index"]] == code) & ((ranked["fate"] == "wrong") == wrong)
    at = np.flatnonzero(mine)
    return at[np.lexsort((ranked["index"][at], ranked["label_score"][at]))].tolist()


def _shown(result: Result, ranked: dict[str, np.ndarray], k: int) -> Shown:
    data, index = result.dataset, int(ranked["index"][k])
    picture = thumbnail(data, index, LONGEST_SIDE)
    predicted, name = int(result.seen_instead[index]), data.ids[index]
    short = name.removeprefix(f"{data.classes[data.labels[index]]}/")  # the folder of its class says nothing new
    return Shown(
        id=printable(name),
        short_id=printable(short if len(short) <= ID_LENGTH else "…" + short[1 - ID_LENGTH :]),
        label=one_line(data.classes[data.labels[index]]),
        predicted=one_line(data.classes[predicted]) if predicted >= 0 else "–",
        label_score=float(ranked["label_score"][k]),
        rank=int(ranked["rank"][k]),
        of=int(ranked["of"][k]),
        fate=str(ranked["fate"][k]),
        picture=None if picture is None else embedded(picture),
        coarse=picture is not None and max(picture.size) <= _COARSE_SIDE,
        text=None if data.shown is None else shortened(printable(data.shown[index]), TEXT_LENGTH),
    )


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
