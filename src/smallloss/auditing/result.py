"""What the answers by hand say of a run: in words, and as plain values for the run folder."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from smallloss.noise.answers import Answers
from smallloss.noise.intervals import COMBINED, OWN_ANSWERS, Interval, Rates
from smallloss.noise.verdict import Judgement
from smallloss.words import percent, quoted


@dataclass(frozen=True, eq=False)
class AuditResult:
    """`str(result)` is what a terminal shows."""

    run: str  # the key of the run that was answered for
    classes: np.ndarray
    answers: Answers
    rows: list[dict[str, Any]]  # the answers again, by id and in words, so that later ones add to them
    pins: dict[int, int]  # row of the dataset -> its true class by hand, or `audit.NONE`; what was known before too
    known: tuple[int, int]  # wrong labels and all among the examples, held out or not, that are known and no sample
    precision: Interval  # of the kept set, 95 %
    noise_rate: Interval  # of all that were trained on, 95 %
    rates: Rates  # per class, to select with next
    more: int  # answers that would halve the interval of the noise rate; 0 where nothing is left to ask
    pair: tuple[str, str] | None  # of classes, from which they should come
    verdict: Judgement  # with the answers in it

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {
            "run": self.run,
            "words": str(self).splitlines(),
            "verdict": self.verdict.to_dict(),
            "kept_precision": self.precision.to_dict(),
            "noise_rate": self.noise_rate.to_dict(),
            "classes": self.classes.tolist(),
            "rates": {name: getattr(self.rates, name).tolist() for name in ("noise_rate", "low", "high")},
            "source": list(self.rates.source),
            "more_to_halve": self.more,
            "pair": None if self.pair is None else list(self.pair),
            "answers": self.rows,
        }

    def __str__(self) -> str:
        return "\n".join([*self._counted(), *self._rates(), "", str(self.verdict)])

    def _counted(self) -> list[str]:
        wrong, answered = self.answers.counts()
        unsure = sum(row["answer"] == "unsure" for row in self.rows)
        drawn = f"{answered[0]:,} kept, {answered[1]:,} dropped; " if len(self.answers.index) else ""
        lines = [f"Answered: {drawn}{unsure:,} unsure, {self.answers.empty:,} open."]
        if answered[0]:
            lines.append(
                f"Kept labels: {answered[0] - wrong[0]:,} of {answered[0]:,} right, so {_span(self.precision)} of all "
                "kept labels are right (95 % interval)."
            )
        if self.known[1]:
            known = f"{self.known[1]:,}, {self.known[0]:,} of them wrong"
            lines.append(f"Known from corrections, or as the most suspicious, held out or not: {known}.")
        if not answered.any():
            return [
                *lines,
                "What share of all labels is wrong, only examples drawn at random can tell (smallloss audit).",
            ]
        n = self.noise_rate
        lines.append(
            f"Wrong labels among all that were trained on: about {percent(n.value)} ({_span(n)}, 95 % interval)."
        )
        if self.more:
            pair = "" if self.pair is None else " or ".join(map(quoted, self.pair))
            where = f", preferably for examples labelled {pair}" if pair else ""
            lines.append(f"About {self.more:,} more answers would halve the interval{where}.")
        return lines

    def _rates(self) -> list[str]:
        source = self.rates.source
        if not self.answers.counts()[1].any() and not self.rates.contradicted:
            return ["No label was drawn at random and decided on, so the noise rates stay as they were."]
        if self.rates.as_before:
            return ["The answers agree with the noise rates that the run used; they stay as they were."]
        lines = []
        if self.rates.contradicted:
            together = "" if set(source) == {OWN_ANSWERS} else "; all rates are shifted together"
            lines = [f"The answers do not agree with the noise rates that the run used{together}."]
        elif OWN_ANSWERS not in source:
            lines = ["The answers agree with the noise rates that the run used, and make some of them more certain."]
        words = {OWN_ANSWERS: "from its own answers", COMBINED: "from its estimate and its answers"}
        return [
            *lines,
            *(
                f"Label {quoted(str(self.classes[k]))}: {percent(self.rates.noise_rate[k])} wrong "
                f"({percent(self.rates.low[k])} to {percent(self.rates.high[k])}, 90 % interval), {words[source[k]]}."
                for k in range(len(source))
                if source[k] in words
            ),
        ]


def _span(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"
