"""The verdict on a run whose noise was given, not estimated, with the answers by hand.

Theorem 1 on the T given says whether ranking can work; no network's predictions were kept out of sample, so how well
it did work is known from the answers alone, and so is whether the noise given is the noise there is.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from smallloss.noise.answers import Answers, Ranked
from smallloss.noise.data_verdict import CLEANER, MATERIAL, share
from smallloss.noise.intervals import Interval, kept_precision, noise_rate, sizes
from smallloss.noise.trust import FAILING_SHARE, SUPPORT
from smallloss.noise.verdict import Trust, Verdict, check
from smallloss.words import percent

SILENT = "only noise rates were given, not T, so the theory says nothing; the answers have to speak for themselves."


@dataclass(frozen=True)
class KnownVerdict:
    """`str(verdict)` is the page for a terminal."""

    trust: Trust
    theory: Verdict | None  # of T; None where only rates were given
    audited: Interval  # right labels among the kept, by hand, Clopper-Pearson 95 %
    right: tuple[int, int]  # kept ones found right, of how many
    noise_rate: Interval  # wrong labels in the whole training part, by hand, 95 %
    given_rate: float  # what was given for it
    reasons: tuple[str, ...]  # why it is not trusted

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        if self.trust == "trust":
            return f"Trust the kept examples: with the T given the ranking holds, and {self._by_hand}."
        word = "Do not trust" if self.trust == "do not trust" else "Take care with"
        return f"{word} the kept examples: {self.reasons[0]}"

    @property
    def _by_hand(self) -> str:
        right, of = self.right
        interval = f"{percent(self.audited.low)} to {percent(self.audited.high)}"
        return f"of {of} checked by hand, {right} were right ({interval})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        intervals = {name: getattr(self, name).to_dict() for name in ("audited", "noise_rate")}
        theory = None if self.theory is None else self.theory.to_dict()
        lists = {"right": list(self.right), "reasons": list(self.reasons)}
        return {"headline": self.headline, **asdict(self), **intervals, **lists, "theory": theory}

    def __str__(self) -> str:
        lines = [self.headline, *(f"Also: {reason}" for reason in self.reasons[1:])]
        return "\n".join(
            lines if self.theory is None else [*lines, f"The theory, with the T given: {self.theory.headline}"]
        )


def judge_known(T: Any, rates: np.ndarray, selection: Ranked, audit: Answers) -> KnownVerdict:
    """Theorem 1 on T (None where only rates are known), and the answers against what the rates lead to expect."""
    theory = None if T is None else check(T, [str(name) for name in selection.classes.tolist()])
    n = np.array([sizes(selection, k) for k in range(len(rates))])
    given = float(n.sum(1) @ rates / max(n.sum(), 1))
    wrong, answered = audit.counts()
    audited, whole = kept_precision(audit), noise_rate(audit, selection)
    red, amber = _by_theory(theory, n[:, 0])
    if answered[0]:
        expected = 1 - CLEANER * float(n[:, 0] @ rates) / max(int(n[:, 0].sum()), 1)
        found_red, found_amber = _by_hand(audited, expected, int(answered[0]))
        red, amber = red + found_red, amber + found_amber
    else:
        amber.append("no kept example was checked by hand; check some.")
    if not whole.low <= given <= whole.high:
        amber.append(
            f"by the answers, {percent(whole.low, 0)} to {percent(whole.high, 0)} of all labels are wrong, but the "
            f"noise given says {percent(given, 0)}: it is not the noise of these labels."
        )
    return KnownVerdict(
        trust="do not trust" if red else "caution" if amber else "trust",
        theory=theory,
        audited=audited,
        right=(int(answered[0] - wrong[0]), int(answered[0])),
        noise_rate=whole,
        given_rate=given,
        reasons=(*red, *amber),
    )


def _by_theory(theory: Verdict | None, kept: np.ndarray) -> tuple[list[str], list[str]]:
    if theory is None:
        return [], [SILENT]
    failing = share(kept, [not holds for holds in theory.ranking_holds])
    if failing > FAILING_SHARE:
        return [f"with the T given, {percent(failing)} of them carry labels whose ranking breaks."], []
    if not failing:
        return [], []
    return [], [f"with the T given, the ranking breaks for {percent(failing)} of them; leave these out."]


def _by_hand(audited: Interval, expected: float, decided: int) -> tuple[list[str], list[str]]:
    """Ranking should leave the kept at most CLEANER of their noise."""
    if audited.high < expected - MATERIAL:
        return [
            f"of {decided} kept labels checked by hand, {percent(audited.value, 0)} were right (so at most "
            f"{percent(audited.high, 0)} of all are), but ranking should bring {percent(expected, 0)} or more."
        ], []
    if audited.low < expected - SUPPORT:
        return [], [
            f"{decided} answers on kept examples prove no more than {percent(audited.low, 0)} right labels, but "
            f"ranking should bring {percent(expected, 0)} or more; check more."
        ]
    return [], []
