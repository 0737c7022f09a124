"""What the terminal and the page both say: rows per class and per method, T, notes, names and numbers in words."""

import re
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from smallloss.criterion.selection import (
    BALANCE,
    CORRECTED,
    KEPT,
    LIKELY_WRONG,
    NO_CLASS,
    REASONS,
    SAFETY,
    PrecisionRecall,
    precision_recall,
)
from smallloss.criterion.transition import margin
from smallloss.record.examples import TRAIN, Examples
from smallloss.record.run import Run
from smallloss.report.compare import advice, compare, shares
from smallloss.words import counted, one_line, percent, stage_words

FATES = ("kept", "aside", "wrong")  # the page has a colour for each
FATE_OF = {KEPT: "kept", SAFETY: "aside", BALANCE: "aside"} | dict.fromkeys(
    (LIKELY_WRONG, CORRECTED, NO_CLASS), "wrong"
)
MATRIX_CLASSES = 20  # more do not fit side by side
_PAIRS_SHOWN = 12
_WORTH_NAMING = 0.02  # of a true class
_SHORT_NAME = 4


class Agreement(NamedTuple):
    """Of some examples, how well what became of them agrees with the true labels."""

    wrong: int  # labels that differ from the true one
    kept: PrecisionRecall  # of right labels
    issues: PrecisionRecall  # those called likely wrong, of wrong labels


class ClassRow(NamedTuple):
    """How many examples of a class became what. An example that was never seen is only counted."""

    name: str
    examples: int
    noise_rate: float
    interval: tuple[float, float] | None  # of an estimated noise rate, 90 %
    kept: int
    set_aside: int
    likely_wrong: int
    corrected: int  # by hand, or found to be of none of the classes
    agreement: Agreement | None  # where the true labels are known
    margin: float = float("nan")  # T_kk minus the largest other entry of its column, where T is known or estimated
    cutoff: float = float("nan")  # the score of the last example kept


class MethodRow(NamedTuple):
    """How accurate a method is, beside plain training."""

    name: str
    net: str
    true: str  # by true labels, where the labels that accuracy is taken by are others
    shares: dict[str, float | None]  # by when they were taken
    beside: str
    seconds: float


def fates(e: Examples) -> np.ndarray:
    """The place in FATES of each example that was ranked."""
    of_reason = [FATES.index(FATE_OF.get(code, "aside")) for code in range(len(REASONS))]
    return np.array(of_reason)[e.reason]


def class_rows(run: Run) -> list[ClassRow]:
    """One row per observed class of what was trained on."""
    e, rows, found, theory = run.examples, run.examples.rows(TRAIN), run.intervals, run.verdict.theory
    ends = np.cumsum(np.bincount(e.label[rows], minlength=len(e.classes)))[:-1]
    members = np.split(rows[np.argsort(e.label[rows], kind="stable")], ends)
    made = []
    for k, (name, mine, rate) in enumerate(zip(e.classes, members, _rates(run).tolist(), strict=True)):
        interval = None if found is None else (float(found["low"][k]), float(found["high"][k]))
        made.append(_row(run, name, mine, rate, interval))
    if theory is not None or run.estimate is not None:
        margins = theory.margin if theory is not None else margin(run.noise.transition).tolist()
        made = [row._replace(margin=value) for row, value in zip(made, margins, strict=True)]
    cutoffs = [float(e.cutoff[mine[0]]) if len(mine) else float("nan") for mine in members]
    return [row._replace(cutoff=value) for row, value in zip(made, cutoffs, strict=True)]


def table_rows(run: Run) -> list[ClassRow]:
    """What stands under the classes: the training part, any part held out, and at last all of them.

    Their noise rate and its interval are those of the estimate, or of the answers, which are of all labels; of what is
    held out alone, and where there is no interval, the rate is the mean over the examples.
    """
    e, rates, splits, found = run.examples, _rates(run), run.examples.splits, run.intervals
    parts = [([split], "trained on" if split == TRAIN else split) for split in splits] if len(splits) > 1 else []
    made = []
    for some, name in [*parts, (splits, "all")]:
        rows = np.concatenate([e.rows(split) for split in some])
        rate, interval = float(rates[e.label[rows]].mean()), None
        if found is not None and TRAIN in some:
            rate, *interval = found["overall"]
        made.append(_row(run, name, rows, rate, interval and tuple(interval)))
    return made


def _rates(run: Run) -> np.ndarray:
    """As they are after the answers, where there are any."""
    return np.asarray((run.rates or {}).get("noise_rate", run.noise_rate), np.float64)


def _row(run: Run, name: str, rows: np.ndarray, rate: float, interval: Any) -> ClassRow:
    e, agreement = run.examples, None
    kept, aside, issue, corrected = (mask[rows] for mask in (e.kept, e.set_aside, e.likely_wrong, e.corrected))
    if e.true is not None:
        right = (e.true == e.label)[rows]
        agreement = Agreement(int((~right).sum()), precision_recall(kept, right), precision_recall(issue, ~right))
    counts = {"kept": kept, "set_aside": aside, "likely_wrong": issue, "corrected": corrected}
    return ClassRow(
        one_line(name), len(rows), rate, interval, agreement=agreement,
        **{name: int(mask.sum()) for name, mask in counts.items()},
    )  # fmt: skip


def method_rows(run: Run) -> list[MethodRow]:
    """All of them have the same shares."""
    beside, taken = compare(run.accuracies), shares(run.accuracies)
    estimated = any(one.true for one in run.accuracies)
    rows = []
    for k, one in enumerate(run.accuracies):
        true = "–" if estimated else ""
        if one.true is not None:
            true = f"{100 * one.true.value:.0f} ({100 * one.true.low:.0f}–{100 * one.true.high:.0f}) %"
        words = beside[one.method].words if one.method in beside else ""
        share = {title: values[k] for title, values in taken.items()}
        rows.append(MethodRow(called(run, one.method), printable(one.net), true, share, words, one.seconds))
    return rows


def confusions(run: Run) -> dict[str, Any] | None:
    """T[i, j], how often a true i is labelled j, from the estimate or from the T that was known; None without either.

    rows: of cells (share, shade in percent of colour), empty where there are too many classes for a matrix. pairs: true
    class, the label it got, how often. tall: the names are too long to stand side by side.
    """
    known = run.settings.get("noise", {}).get("transition")
    if run.estimate is None and known is None:
        return None
    T = np.asarray(known if run.estimate is None else run.estimate.transition, dtype=np.float64)
    names, flips = [one_line(name) for name in run.examples.classes], np.where(np.eye(len(T), dtype=bool), 0, T)
    shades = np.where(flips > 0, 80 * np.sqrt(T), 55 * T)  # flips by their root: a rare one should not pass for none
    rows = [
        [(f"{100 * share:.0f}", round(shade)) if share >= 0.005 else ("", 0) for share, shade in row]
        for row in np.dstack([T, shades])[: len(T) if len(T) <= MATRIX_CLASSES else 0]
    ]
    worst = np.argsort(-flips, axis=None, kind="stable")[:_PAIRS_SHOWN]
    found = [(i, j) for i, j in np.column_stack(np.unravel_index(worst, T.shape)) if flips[i, j] >= _WORTH_NAMING]
    return {
        "estimated": run.estimate is not None, "names": names, "tall": any(len(name) > _SHORT_NAME for name in names),
        "rows": rows,
        "pairs": [(names[i], names[j], percent(T[i, j], 0)) for i, j in found],
    }  # fmt: skip


def notes(run: Run) -> list[str]:
    """What a reader must know, each thing once."""
    data = run.dataset
    features = data is not None and (data.original is not None or data.kind not in ("pictures", "text"))
    said = [*advice(run.accuracies, sees_features=features), *run.notes, *filter(None, [run.by_hand])]
    return [printable(note) for note in dict.fromkeys(said)]


def high_scores(run: Run) -> str:
    """Why some of the likely wrong look right by their label score, as they may by answers; empty where none does."""
    count = int((run.examples.label_score[run.examples.likely_wrong] > 0.5).sum())
    if not count:
        return ""
    return (
        f"{counted(count, 'label')} of the likely wrong {'has a label score' if count == 1 else 'have label scores'} "
        "above 0.5: by the answers probably right, but under each label as many are called likely wrong as its noise "
        "rate says. Look before you leave such ones out."
    )


def accuracy_words(run: Run) -> list[str]:
    """Which classifier the run leaves behind, and why; how right it is by true labels, and by the given ones."""
    if not run.accuracies:
        return []
    said, one = [], run.accuracies[0]
    if run.shipped is not None:
        said = [f"{called(run, run.shipped.method)} is shipped: {run.shipped.why}."]
        one = next(found for found in run.accuracies if found.method == run.shipped.method)
    if one.true is not None:
        by_given = f"by the given labels, some of which may be wrong, it is {percent(one.last)}"
        said.append(f"Its accuracy is {one.true.words}; {by_given}.")
    return [printable(sentence) for sentence in said]


def ranked_by(run: Run) -> str:
    """What the score is of."""
    return printable(f"{run.evidence}, and answers by hand" if run.by_hand else run.evidence)


def called(run: Run, name: str) -> str:
    """A method or stage as the paper writes it."""
    names = {one.method: one.called for one in run.accuracies} | {"stage1": "Cross Entropy on all labels (stage 1)"}
    return printable(names.get(name, stage_words(name)))


def pair(found: PrecisionRecall) -> str:
    """Precision and recall in percent; a dash where there is nothing to divide by."""
    return " / ".join("–" if isnan(share) else f"{100 * share:.1f}" for share in found)


def decimal(value: float) -> str:
    return "–" if isnan(value) else f"{value:.2f}"


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
