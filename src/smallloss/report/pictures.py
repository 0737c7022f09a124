"""The most suspicious examples of each class, small enough to stand in the page."""

import base64
import io
from dataclasses import dataclass

import numpy as np

from smallloss.criterion.verdict import one_line
from smallloss.report.result import Result
from smallloss.report.summary import printable

CLASSES_SHOWN = 10
PER_CLASS = 8
LONGEST_SIDE = 64
TEXT_LENGTH = 240
ID_LENGTH = 28


@dataclass(frozen=True)
class Suspect:
    """One example whose label is likely wrong."""

    id: str
    short_id: str
    predicted: str
    label_score: float
    picture: str | None  # a PNG as a data address; None where inputs are not pictures
    text: str | None = None  # what there is to read: the text, or the row of a table


@dataclass(frozen=True)
class Suspects:
    """The most suspicious examples that carry one label."""

    label: str
    likely_wrong: int
    shown: list[Suspect]


def gallery(result: Result) -> list[Suspects]:
    """The lowest label scores under each label, of the labels with the most likely wrong examples."""
    data = result.dataset
    flagged = np.concatenate([part.index[part.selection.is_label_issue] for part in result.parts])
    scores = np.concatenate([part.selection.label_score[part.selection.is_label_issue] for part in result.parts])
    counts = np.bincount(data.labels[flagged], minlength=len(data.classes))
    most = np.argsort(-counts, kind="stable")[:CLASSES_SHOWN]
    found = []
    for code in sorted(most[counts[most] > 0].tolist()):
        mine = data.labels[flagged] == code
        index, score = flagged[mine], scores[mine]
        worst = np.lexsort((index, score))[:PER_CLASS]
        shown = [_suspect(result, int(index[k]), float(score[k])) for k in worst]
        found.append(Suspects(one_line(data.classes[code]), int(counts[code]), shown))
    return found


def _suspect(result: Result, index: int, score: float) -> Suspect:
    data, predicted, name = result.dataset, int(result.predicted[index]), result.dataset.ids[index]
    return Suspect(
        id=printable(name),
        short_id=printable(name if len(name) <= ID_LENGTH else "…" + name[1 - ID_LENGTH :]),
        predicted=one_line(data.classes[predicted]) if predicted >= 0 else "–",
        label_score=score,
        picture=data_address(np.asarray(data.inputs[index]), LONGEST_SIDE) if data.is_image else None,
        text=None if data.shown is None else _shortened(printable(data.shown[index])),
    )


def _shortened(text: str) -> str:
    return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 1] + "…"


def data_address(pixels: np.ndarray, longest_side: int) -> str:
    """A picture as a small PNG inside the page."""
    from PIL import Image

    picture = Image.fromarray(pixels if pixels.shape[-1] in (3, 4) else pixels[..., 0])
    picture.thumbnail((longest_side, longest_side))
    file = io.BytesIO()
    picture.save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
