"""What the terminal and the page both say: rows per class, the verdict's tone, names and numbers in words."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smallloss import methods
from smallloss.criterion.data_verdict import DataVerdict
from smallloss.criterion.estimate.result import interval
from smallloss.criterion.verdict import Verdict, one_line
from smallloss.report.result import Part, Result
from smallloss.report.truth import Agreement, agreement, right_labels

TRAIN = "train"
_NO_VERDICT = "No verdict: the transition matrix is not known, so the theory cannot say whether to trust the ranking."
_STAGE1 = "Stage 1: Cross Entropy on all labels"


@dataclass(frozen=True)
class ClassRow:
    """How many examples of a class became what. An example that was never seen is only counted."""

    name: str
    examples: int
    noise_rate: float
    kept: int
    set_aside: int
    likely_wrong: int
    agreement: Agreement | None  # with the true labels, where they are known
    interval: tuple[float, float] | None = None  # of an estimated noise rate, 90 %
    margin: float | None = None  # T_kk minus the largest other entry of its column, where T is known or estimated
    cutoff: float | None = None  # the score of the last example kept


def class_rows(result: Result, part: Part) -> list[ClassRow]:
    """One row per observed class of the part."""
    selection = part.selection
    counts = np.bincount(selection.class_index, minlength=len(selection.classes))
    members = np.split(np.argsort(selection.class_index, kind="stable"), np.cumsum(counts)[:-1])
    names = [str(label) for label in selection.classes]
    rows = [_row(result, part, *row) for row in zip(names, members, selection.quota.noise_rate, strict=True)]
    more = zip(*_class_facts(result, part), strict=True)
    return [
        replace(row, interval=interval, margin=margin, cutoff=None if np.isnan(cutoff) else cutoff)
        for row, (interval, margin, cutoff) in zip(rows, more, strict=True)
    ]


def _class_facts(result: Result, part: Part) -> tuple[list[Any], list[Any], list[float]]:
    """Per class: the interval of its rate, its margin, its cut-off; None where there is none."""
    nothing: list[Any] = [None] * len(part.selection.classes)
    found, verdict = result.estimate, result.verdict
    intervals = nothing if found is None else list(zip(found.low.tolist(), found.high.tolist(), strict=True))
    known: dict[str, float] = {}
    if isinstance(verdict, DataVerdict):
        known = {one.name: one.margin.value for one in verdict.classes}
    elif verdict is not None:
        known = dict(zip(verdict.classes, verdict.margin, strict=True))
    margins = [known.get(str(label)) for label in part.selection.classes]
    return intervals, margins, part.selection.cutoff.tolist()


def whole_row(result: Result, part: Part, name: str) -> ClassRow:
    """All classes of the part together; their noise rate is the mean over the examples."""
    selection = part.selection
    noise_rate = selection.quota.noise_rate[selection.class_index].mean()
    row = _row(result, part, name, np.arange(len(part.index)), noise_rate)
    if result.estimate is None or part.split != TRAIN:
        return row
    shares = np.bincount(selection.class_index, minlength=len(selection.classes)) / len(part.index)
    low, high = interval(noise_rate, result.estimate.draws @ shares, result.estimate.level)
    return replace(row, interval=(float(low), float(high)))


def _row(result: Result, part: Part, name: str, members: np.ndarray, noise_rate: float) -> ClassRow:
    selection, is_right = part.selection, right_labels(result.dataset, part)
    kept, issue = selection.mask[members], selection.is_label_issue[members]
    seen = selection.rank_in_class[members] > 0
    return ClassRow(
        name=one_line(name),
        examples=len(members),
        noise_rate=float(noise_rate),
        kept=int(kept.sum()),
        set_aside=int((seen & ~kept & ~issue).sum()),
        likely_wrong=int(issue.sum()),
        agreement=None if is_right is None else agreement(selection, is_right, members),
    )


def train_part(result: Result) -> Part:
    return next(part for part in result.parts if part.split == TRAIN)


def table_rows(result: Result) -> list[ClassRow]:
    """What stands under the classes: the whole training part, then any part held out."""
    return [
        whole_row(result, part, "all" if part.split == TRAIN else part.split)
        for part in sorted(result.parts, key=lambda part: part.split != TRAIN)
    ]


def notes(result: Result) -> list[str]:
    """What a reader must know, each thing once."""
    return [printable(note) for note in dict.fromkeys([*result.notes, *train_part(result).selection.notes])]


def headline(verdict: Verdict | DataVerdict | None) -> str:
    return _NO_VERDICT if verdict is None else verdict.headline


def tone(verdict: Verdict | DataVerdict | None) -> tuple[str, str]:
    """The verdict's colour, and the word that says the same without one."""
    if verdict is None:
        return "grey", "No verdict"
    if isinstance(verdict, DataVerdict):
        return {"trust": ("green", "Trust"), "caution": ("amber", "Take care")}.get(
            verdict.trust, ("red", "Do not trust")
        )
    if not verdict.trust:
        return "red", "Do not trust"
    return ("green", "Trust") if all(verdict.classifier_holds) else ("amber", "Trust with care")


def called(name: str) -> str:
    """A method or stage as the paper writes it."""
    return _STAGE1 if name == "stage1" else printable(methods.called(name))


def printable(text: str) -> str:
    """A text of any length on one line, the unprintable escaped."""
    if text.isprintable():  # as most are, and there may be a million
        return text
    return "".join(map(one_line, text))


def shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def percent(share: float | None) -> str:
    return "–" if share is None or np.isnan(share) else f"{100 * share:.1f} %"
