"""What the terminal and the page both say: rows per class, the verdict's tone, names and numbers in words."""

import re
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np

from smallloss.criterion.selection import (
    BALANCE,
    CORRECTED,
    KEPT,
    LIKELY_WRONG,
    NO_CLASS,
    REASONS,
    SAFETY,
    precision_recall,
)
from smallloss.criterion.transition import margin
from smallloss.record.examples import TRAIN, Examples
from smallloss.record.run import Run
from smallloss.report.compare import advice
from smallloss.words import one_line, percent, stage_words

TRAINED_ON = "trained on"
FATES = ("kept", "aside", "wrong")  # the page has a colour for each
FATE_OF = {KEPT: "kept", SAFETY: "aside", BALANCE: "aside"} | dict.fromkeys(
    (LIKELY_WRONG, CORRECTED, NO_CLASS), "wrong"
)
_STAGE1 = "Cross Entropy on all labels (stage 1)"


@dataclass(frozen=True)
class Agreement:
    """Precision and recall over some examples; None where there is nothing to divide by."""

    wrong: int  # labels that differ from the true one
    kept_precision: float | None  # right labels among the kept
    kept_recall: float | None  # kept ones among the right labels
    issue_precision: float | None  # wrong labels among those called likely wrong
    issue_recall: float | None  # called likely wrong among the wrong labels


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


def fates(e: Examples) -> np.ndarray:
    """The place in FATES of each example that was ranked."""
    of_reason = [FATES.index(FATE_OF.get(code, "aside")) for code in range(len(REASONS))]
    return np.array(of_reason)[e.reason]


def class_rows(run: Run) -> list[ClassRow]:
    """One row per observed class of what was trained on."""
    e, rows = run.examples, run.examples.rows(TRAIN)
    counts = np.bincount(e.label[rows], minlength=len(e.classes))
    members = np.split(rows[np.argsort(e.label[rows], kind="stable")], np.cumsum(counts)[:-1])
    intervals, margins = _class_facts(run)
    facts = zip(e.classes, members, _rates(run).tolist(), intervals, margins, strict=True)
    found = []
    for name, mine, rate, interval, least in facts:
        cutoff = None if not len(mine) or isnan(e.cutoff[mine[0]]) else float(e.cutoff[mine[0]])
        found.append(replace(_row(run, name, mine, rate), interval=interval, margin=least, cutoff=cutoff))
    return found


def _rates(run: Run) -> np.ndarray:
    """As they are after the answers, where there are any."""
    said = run.rates or {}
    return np.asarray(said.get("noise_rate", run.noise_rate), np.float64)


def _class_facts(run: Run) -> tuple[list[Any], list[Any]]:
    """Per class: the interval of its rate, and its margin; None where there is none."""
    nothing: list[Any] = [None] * len(run.examples.classes)
    found, theory = run.intervals, run.verdict.theory
    intervals = (
        nothing if found is None else list(zip(map(float, found["low"]), map(float, found["high"]), strict=True))
    )
    if theory is not None:
        return intervals, list(theory.margin)
    return intervals, nothing if run.estimate is None else margin(run.estimate.transition).tolist()


def table_rows(run: Run) -> list[ClassRow]:
    """What stands under the classes: the training part, any part held out, and at last all of them."""
    splits = run.examples.splits
    apart = [_together(run, [split], TRAINED_ON if split == TRAIN else split) for split in splits]
    return [*(apart if len(splits) > 1 else []), _together(run, splits, "all")]


def _together(run: Run, splits: list[str], name: str) -> ClassRow:
    """All classes of the splits; the noise rate is the mean over the examples.

    It has the interval of the estimate, which is of all labels, but where what is held out stands alone.
    """
    rows = np.concatenate([run.examples.rows(split) for split in splits])
    row = _row(run, name, rows, float(_rates(run)[run.examples.label[rows]].mean()))
    if run.intervals is None or TRAIN not in splits:
        return row
    _, low, high = run.intervals["overall"]
    return replace(row, interval=(low, high))


def _row(run: Run, name: str, rows: np.ndarray, noise_rate: float) -> ClassRow:
    e = run.examples
    kept, aside, issue, corrected = (mask[rows] for mask in (e.kept, e.set_aside, e.likely_wrong, e.corrected))
    return ClassRow(
        name=one_line(name), examples=len(rows), noise_rate=noise_rate, kept=int(kept.sum()),
        set_aside=int(aside.sum()), likely_wrong=int(issue.sum()), corrected=int(corrected.sum()),
        agreement=None if e.true is None else agreement(kept, issue, (e.true == e.label)[rows]),
    )  # fmt: skip


def agreement(kept: np.ndarray, issue: np.ndarray, right: np.ndarray) -> Agreement:
    """Of masks over the same examples: a right label is the positive for the kept, a wrong one for the flags."""
    return Agreement(int((~right).sum()), *_shares(kept, right), *_shares(issue, ~right))


def _shares(chosen: np.ndarray, positive: np.ndarray) -> tuple[float | None, float | None]:
    precision, recall = (None if isnan(share) else share for share in precision_recall(chosen, positive))
    return precision, recall


def notes(run: Run) -> list[str]:
    """What a reader must know, each thing once."""
    said = [*advice(run.accuracies, sees_features=_sees_features(run)), *run.notes, *filter(None, [run.by_hand])]
    return [printable(note) for note in dict.fromkeys(said)]


def _sees_features(run: Run) -> bool:
    data = run.dataset
    return data is not None and (data.original is not None or data.kind not in ("pictures", "text"))


def accuracy_words(run: Run) -> list[str]:
    """Which classifier the run leaves behind, and why; how right it is by true labels, and by the given ones."""
    named = {one.method: one for one in run.accuracies}
    if not named:
        return []
    said = [] if run.shipped is None else [f"{called(run, run.shipped.method)} is shipped: {run.shipped.why}."]
    one = run.accuracies[0] if run.shipped is None else named[run.shipped.method]
    if one.true is not None:
        by_given = f"by the given labels, some of which may be wrong, it is {percent(one.last)}"
        said.append(f"Its accuracy is {one.true.words}; {by_given}.")
    return [printable(sentence) for sentence in said]


def by_true_labels(run: Run) -> list[str]:
    """In a cell of a table, for each method; nothing at all where the labels that accuracy is taken by are true."""
    true = [one.true for one in run.accuracies]
    if not any(true):
        return []
    return [
        "–" if one is None else f"{100 * one.value:.0f} ({100 * one.low:.0f}–{100 * one.high:.0f}) %" for one in true
    ]


def ranked_by(run: Run) -> str:
    """What the score is of."""
    return printable(f"{run.evidence}, and answers by hand" if run.by_hand else run.evidence)


def called(run: Run, name: str) -> str:
    """A method or stage as the paper writes it."""
    if name == "stage1":
        return _STAGE1
    return printable(next((one.called for one in run.accuracies if one.method == name), stage_words(name)))


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
