"""What the terminal and the page both say: rows per class, the verdict's tone, names and numbers in words."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smallloss import methods
from smallloss.criterion.transition import margin
from smallloss.report.compare import advice
from smallloss.report.result import TRAIN, Part, Result
from smallloss.report.truth import Agreement, Fates, agreement, fates_of
from smallloss.words import one_line, percent

TRAINED_ON = "trained on"
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
    corrected: int  # by hand, or found to be of none of the classes
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
    rates = selection.quota.noise_rate
    fates = fates_of(result.dataset, [part], result.pins)
    rows = [_row(name, rate, fates.of(mine)) for name, rate, mine in zip(names, rates, members, strict=True)]
    more = zip(*_class_facts(result, part), strict=True)
    return [
        replace(row, interval=interval, margin=margin, cutoff=None if np.isnan(cutoff) else cutoff)
        for row, (interval, margin, cutoff) in zip(rows, more, strict=True)
    ]


def _class_facts(result: Result, part: Part) -> tuple[list[Any], list[Any], list[float]]:
    """Per class: the interval of its rate, its margin, its cut-off; None where there is none."""
    nothing: list[Any] = [None] * len(part.selection.classes)
    found, theory = result.estimate, result.verdict.theory
    intervals = nothing if found is None else list(zip(found.low.tolist(), found.high.tolist(), strict=True))
    margins = nothing if theory is None else list(theory.margin)
    if theory is None and found is not None:
        margins = margin(found.transition).tolist()
    return intervals, margins, part.selection.cutoff.tolist()


def whole_row(result: Result, parts: list[Part], name: str) -> ClassRow:
    """All classes of the parts together; their noise rate is the mean over the examples.

    It has the interval of the estimate, which is of all labels, but where what is held out stands alone.
    """
    rates = [part.selection.quota.noise_rate[part.selection.class_index] for part in parts]
    noise_rate = np.concatenate(rates).mean()
    row = _row(name, noise_rate, fates_of(result.dataset, parts, result.pins))
    if result.estimate is None or TRAIN not in [part.split for part in parts]:
        return row
    return replace(row, interval=result.estimate.overall[1:])


def _row(name: str, noise_rate: float, fates: Fates) -> ClassRow:
    kept, issue, corrected, seen, right = fates
    return ClassRow(
        name=one_line(name),
        examples=len(seen),
        noise_rate=float(noise_rate),
        kept=int(kept.sum()),
        set_aside=int((seen & ~kept & ~issue & ~corrected).sum()),
        likely_wrong=int(issue.sum()),
        corrected=int(corrected.sum()),
        agreement=None if right is None else agreement(kept, issue, right),
    )


def train_part(result: Result) -> Part:
    return next(part for part in result.parts if part.split == TRAIN)


def table_rows(result: Result) -> list[ClassRow]:
    """What stands under the classes: the training part, any part held out, and at last all of them."""
    parts = sorted(result.parts, key=lambda part: part.split != TRAIN)
    apart = [whole_row(result, [part], TRAINED_ON if part.split == TRAIN else part.split) for part in parts]
    return [*(apart if len(parts) > 1 else []), whole_row(result, parts, "all")]


def notes(result: Result) -> list[str]:
    """What a reader must know, each thing once."""
    data = result.dataset
    sees_features = data.original is not None or data.kind not in ("pictures", "text")
    said = [*advice(result.accuracies, sees_features=sees_features), *result.notes, *train_part(result).selection.notes]
    return [printable(note) for note in dict.fromkeys(said)]


def accuracy_words(result: Result) -> list[str]:
    """Which classifier the run leaves behind, and why; how right it is by true labels, and by the given ones."""
    named = {one.method: one for one in result.accuracies}
    if not named:
        return []
    said = [] if result.shipped is None else [f"{called(result.shipped.method)} is shipped: {result.shipped.why}."]
    one = result.accuracies[0] if result.shipped is None else named[result.shipped.method]
    if one.true is not None:
        by_given = f"by the given labels, some of which may be wrong, it is {percent(one.last)}"
        said.append(f"Its accuracy is {one.true.words}; {by_given}.")
    return [printable(sentence) for sentence in said]


def by_true_labels(result: Result) -> list[str]:
    """In a cell of a table, for each method; nothing at all where the labels that accuracy is taken by are true."""
    true = [one.true for one in result.accuracies]
    if not any(true):
        return []
    return [
        "–" if one is None else f"{100 * one.value:.0f} ({100 * one.low:.0f}–{100 * one.high:.0f}) %" for one in true
    ]


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


def pieces(name: str) -> list[str]:
    """A name cut where a line may break: behind a folder, a stroke or a low line, not within a word."""
    return re.split(r"(?<=[/_-])(?=.)", name)
