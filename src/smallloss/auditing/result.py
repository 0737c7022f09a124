"""What the answers by hand say of a run: in words, and as plain values for the run folder."""

import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np

from smallloss.auditing.run import CORRECTIONS, RATES, Audited
from smallloss.auditing.written import RANDOM, Heard
from smallloss.noise.accuracy import TrueAccuracy
from smallloss.noise.answers import SUSPICIOUS, UNSURE
from smallloss.noise.model import NoiseModel
from smallloss.noise.teach import ENOUGH
from smallloss.noise.verdict import Judgement
from smallloss.record.examples import HELD_OUT
from smallloss.words import counted, listed, percent, quoted

SHOWN = 5  # rates


@dataclass(frozen=True, eq=False)
class AuditResult:
    """`str(result)` is what a terminal shows."""

    run: str  # the key of the run that was answered for
    classes: np.ndarray
    heard: Heard
    rows: list[dict[str, Any]]  # the answers again, by id and in words, so that later ones add to them
    pins: dict[int, int]  # row of the dataset -> its true class by hand, or NONE; what was known before too
    rates: NoiseModel  # per class, to select with next
    asked_about: Judgement  # of what was kept when the questions were drawn
    verdict: Judgement  # of what is kept now: the same, where that stands
    accuracy: TrueAccuracy | None  # of the classifier, by answers on held-out examples
    taught: str
    left: int  # likely wrong, and nobody has decided on them
    corrected: int
    void: int  # questions at random that are still open and of a table that has changed
    next_run: str  # the commands that ask on, and that learn from the answers

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        precision = self.asked_about.precision
        return {
            "run": self.run,
            "words": str(self).splitlines(),
            "verdict": self.verdict.to_dict(),
            "asked_about": self.asked_about.to_dict(),
            "kept_precision": None if precision is None else precision.to_dict(),
            "noise_rate": self.rates.overall and self.rates.overall.to_dict(),
            "classes": self.classes.tolist(),
            "rates": {name: getattr(self.rates, name).tolist() for name in ("noise_rate", "low", "high", "upper")},
            "accuracy": None if self.accuracy is None else self.accuracy._asdict(),
            "corrected": self.corrected,
            "left": self.left,
            "answers": self.rows,
        }

    @property
    def in_short(self) -> str:
        """For the page of the run."""
        answers = counted(len(self.pins), "answer")
        return f"By {answers} by hand: {self.corrected:,} corrected, {self.left:,} left. {self.taught}"

    def __str__(self) -> str:
        said = self.verdict if self.asked_about.precision is None else self.asked_about
        return "\n".join([said.headline, "", *self._counted(), *self._rates(), *self._now(), "", said.details])

    def _counted(self) -> list[str]:
        asked = {why: len(self.heard.asked(why)) for why in (RANDOM, SUSPICIOUS, HELD_OUT)}
        words = {RANDOM: "at random", SUSPICIOUS: "on the most suspicious", HELD_OUT: "on held-out examples"}
        said = ", ".join(f"{count:,} {words[why]}" for why, count in asked.items() if count)
        late = counted(self.heard.late, "answer")
        unsure = sum(true == UNSURE for true in self.heard.answers.values())
        lines = [f"Answered: {said or 'none of this version'}; {unsure:,} unsure, {self.heard.left_open:,} open."]
        if self.heard.late:
            what = "to questions drawn before the table changed: counted one by one, they judge nothing"
            lines.append(f"{late} {what}.")
        alike, twice = self.heard.agreed
        if twice:
            lines.append(f"You agreed with yourself in {alike:,} of {counted(twice, 'question')} that came twice.")
        return lines

    def _rates(self) -> list[str]:
        rates, whole = self.rates, self.rates.overall
        if whole is None or not rates.sampled:
            asked = len(self.heard.asked(RANDOM))
            more = f", at least {ENOUGH}; {asked:,} given so far" if asked else ""
            return [f"What share of all labels is wrong, only answers at random can tell{more} (smallloss audit)."]
        lines = [
            f"Wrong labels among all that were trained on: about {percent(whole.value)} ({percent(whole.low)} to "
            f"{percent(whole.high)}, 90 % interval)."
        ]
        lines += rates.notes
        most = np.argsort(-rates.noise_rate, kind="stable").tolist()
        said = [f"{quoted(str(self.classes[k]))} {percent(rates.noise_rate[k], 0)}" for k in most]
        return [*lines, f"Under each label: {listed(said, SHOWN, str)}."]

    def _now(self) -> list[str]:
        lines = [] if self.accuracy is None else [f"Accuracy of the classifier: {self.accuracy.words}."]
        lines.append(
            f"{counted(self.corrected, 'label')} corrected, {self.left:,} left that are likely wrong. {self.taught}"
        )
        if self.verdict is not self.asked_about and self.asked_about.precision is not None:
            lines += ["", f"What is kept was chosen anew by the answers. {self.verdict.headline}"]
        if self.void:
            lines.append(f"{counted(self.void, 'question')} left open on the page would come too late now: ask anew.")
        return lines


def next_run(run: Audited, *, as_before: bool, is_proved: bool) -> str:
    """The files to learn from next, and the command that takes them, with the options of the run before; and, where
    nothing is proved yet, the command that asks on.

    Rates that the answers left as they were come from where they came from before, T and the verdict with them: from
    an estimate, from the noise that was drawn, from a file of T.
    """
    corrections, rates = run / CORRECTIONS, run / RATES
    config, estimated = run.settings, run.estimate is not None
    data, noise = config["data"], config.get("noise", {})
    options, drawn, given = list(config.get("options", [])), noise.get("drawn"), config.get("given", [])
    words = ["smallloss", "clean", data.get("source") or "DATA", "--out", "NEW"]
    words += [] if data.get("label") is None else ["--label", data["label"]]
    words += options + (["--noise", drawn] if drawn is not None and "--noise" not in options else [])
    stays = as_before and (estimated or drawn is not None or bool(given))
    if not stays:
        words += ["--noise-rate", str(rates)]
    elif estimated:
        words += ["--estimate"] if drawn is not None else []
    else:
        words += given
    words += ["--corrections", str(corrections)]
    written = [corrections] if stays else [rates, corrections]
    told = f"Written: {' and '.join(map(str, written))}. To clean again with {'it' if stays else 'both'}:"
    asks_on = "" if is_proved else f"\n\nTo be asked on:\n{shlex.join(['smallloss', 'audit', str(run.folder)])}"
    return f"{told}\n{shlex.join(words)}{asks_on}"
