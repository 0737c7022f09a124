"""The verdict on a dataset as a reader meets it: per class, in one sentence, and as a page for a terminal."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from smallloss.noise.intervals import Interval
from smallloss.noise.verdict import ROWS_SHOWN, Break, Trust
from smallloss.words import one_line, percent, quoted

FAILS_BELOW = 0.5  # certainty of dominance under which a class fails
SURE_FROM = 0.95  # and from which on it holds without a doubt
SWAPPED = 100.0  # odds from which on two classes count as swapped; one answer alone gives 49 at most
CLEARED = 0.5  # and up to which the suspicion is cleared
CLEANER = 1 / 2  # the kept examples of a class must hold at most this much of its noise rate,
MATERIAL = 0.05  # but a share of wrong labels this small is always good enough

_COLUMNS = (
    "(right: the estimated share of right labels among the kept; margin: how much more often a class gets its own "
    "label than any other class gets it; covered: the share of examples for which the network is within half the "
    "margin of ideal; classifier: one fitted to all labels.)"
)


@dataclass(frozen=True)
class ClassVerdict:
    """What is known of one label."""

    name: str
    kept: int
    noise_rate: float
    precision: float | None  # estimated, of the kept ones; None where none is kept
    ranking_certainty: float  # Theorem 1: share of the draws of T with T_kk > max_j T_jk
    classifier_certainty: float  # Lemma 2: share of the draws with T_kk > max_j T_kj
    margin: Interval  # Theorem 2: T_kk - max_j T_jk
    covered: float | None  # share of the examples for which the network is nearer than half the margin
    pair: Break  # the true class nearest to breaking the ranking
    swap_odds: float = 0.0  # by the answers by hand, that its ranking is upside down; 0 where none says so

    @property
    def fails(self) -> bool:
        return self.swap_odds > SWAPPED or self.ranking_certainty < FAILS_BELOW

    @property
    def doubtful(self) -> bool:
        return not self.fails and (
            self.swap_odds > CLEARED or self.ranking_certainty < SURE_FROM or self.hardly_cleaner
        )

    @property
    def hardly_cleaner(self) -> bool:
        """The network does not tell right from wrong well enough for ranking to help."""
        return self.precision is not None and 1 - self.precision > max(MATERIAL, CLEANER * self.noise_rate)

    @property
    def sentence(self) -> str:
        """Why the label is not relied on, or by how much it holds, with the pair."""
        label, true = quoted(self.name), quoted(self.pair.true)
        numbers = f"true {true} examples get it with probability {self.pair.flipped:.2f}, true {label} ones with "
        numbers += f"{self.pair.kept:.2f}"
        if self.swap_odds > SWAPPED:
            return f"label {label}: by the answers, what the run takes for right is truly {true}, and vice versa."
        if self.fails:
            return f"label {label}: {numbers} (estimated), so its right examples are not ranked first."
        if self.swap_odds > CLEARED:
            return f"label {label}: the answers leave open whether it is swapped with {true}; check more examples."
        if self.hardly_cleaner and self.precision is not None:
            return (
                f"label {label}: about {percent(1 - self.precision, 0)} of the kept labels are still wrong, against "
                f"{percent(self.noise_rate, 0)} of all; the network can hardly tell it from {true}."
            )
        if self.doubtful:
            certainty = percent(self.ranking_certainty, 0)
            return f"label {label}: {numbers} (estimated); the ranking holds with {certainty} certainty."
        return f"label {label}: {numbers} (estimated), so the ranking holds."


@dataclass(frozen=True)
class DataVerdict:
    """The verdict on a dataset; `str(verdict)` is the page for a terminal."""

    trust: Trust
    classes: tuple[ClassVerdict, ...]
    precision: Interval | None  # of the kept set, estimated, 90 %; None where nothing is kept
    audited: Interval | None  # of the kept set, by hand, Clopper-Pearson 95 %
    answers: tuple[int, int, int]  # decided on kept examples, decided on dropped ones, unsure
    reasons: tuple[str, ...]  # why it is not trusted
    limits: tuple[str, ...]  # what it cannot know

    @property
    def failing_share(self) -> float:
        """The share of the kept examples that is held by failing classes."""
        return share([one.kept for one in self.classes], [one.fails for one in self.classes])

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        if self.trust != "trust":
            word = "Do not trust" if self.trust == "do not trust" else "Take care with"
            return f"{word} the kept examples: {self.reasons[0]}"
        assert self.precision is not None
        estimated = f"about {percent(self.precision.value)}"
        share = f"{estimated} or more of the kept labels are right"
        if self.audited is None:
            return f"Trust, as far as noisy labels alone can tell: {share}."
        if not self.answers[0]:
            return f"Trust the kept examples: {share}, though by hand none of them was decided."
        found = f"of {self.answers[0]} checked by hand, {self._right} were right ({self._interval})"
        if not self.audited.low <= self.precision.value <= self.audited.high:
            # What was seen comes before an estimate that it does not bear out.
            return f"Trust the kept examples: {found}, where the estimate says {estimated}."
        return f"Trust the kept examples: {share}, and {found}."

    @property
    def _right(self) -> int:
        """Kept ones that were found right by hand."""
        return round(self.audited.value * self.answers[0]) if self.audited is not None and self.answers[0] else 0

    @property
    def _interval(self) -> str:
        return "" if self.audited is None else f"{percent(self.audited.low)} to {percent(self.audited.high)}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        facts = asdict(self)
        for name in ("precision", "audited"):
            interval: Interval | None = getattr(self, name)
            facts[name] = None if interval is None else interval.to_dict()
        for one, known in zip(facts["classes"], self.classes, strict=True):
            one |= {"margin": known.margin.to_dict(), "fails": known.fails, "sentence": known.sentence}
        lists = {name: list(facts[name]) for name in ("classes", "answers", "reasons", "limits")}
        return {"headline": self.headline, **facts, **lists, "failing_share": self.failing_share}

    def __str__(self) -> str:
        lines = [self.headline, "", *(f"Also: {reason}" for reason in self.reasons[1:])]
        if self.precision is not None:
            p = self.precision
            interval = f"{percent(p.low)} to {percent(p.high)}, 90 % interval"
            lines.append(f"Right among the kept, estimated: {percent(p.value)} ({interval})")
        if self.audited is not None:
            right = f"{self._right} of {self.answers[0]} ({self._interval}, 95 % interval)"
            decided = right if self.answers[0] else "none decided"
            lines.append(f"Right among the kept, checked by hand: {decided}; {self.answers[2]} unsure")
        named = [f"  {one.sentence}" for one in self._worst_first if one.fails or one.doubtful]
        more = [f"  and {len(named) - ROWS_SHOWN} more such labels."] if len(named) > ROWS_SHOWN else []
        broken = ["", "Where the ranking breaks or is in doubt:", *named[:ROWS_SHOWN], *more] if named else []
        return "\n".join([*lines, "", *self._table(), *broken, "", *self.limits])

    @property
    def _worst_first(self) -> list[ClassVerdict]:
        return sorted(self.classes, key=lambda one: (not one.fails, round(one.margin.value, 9)))

    def _table(self) -> list[str]:
        shown = self._worst_first[:ROWS_SHOWN]
        width = max(len("class"), *(len(one_line(one.name)) for one in shown))
        lines = [f"{'class':<{width}}     kept  right  margin  (90 %)          covered  ranking   classifier"]
        for one in shown:
            m = one.margin
            interval = f"({m.low:.2f} to {m.high:.2f})"
            word = "BREAKS" if one.fails else "in doubt" if one.doubtful else "holds"
            classifier = "ERRS" if one.classifier_certainty < FAILS_BELOW else "holds"
            lines.append(
                f"{one_line(one.name):<{width}}  {one.kept:7,}  {_percent(one.precision)}  {m.value:6.2f}  "
                f"{interval:<15}  {_percent(one.covered):>6}  {word:<8}  {classifier}"
            )
        rest = len(self.classes) - len(shown)
        if rest:
            lines.append(f"and {rest:,} more, with larger margins.")
        return [*lines, _COLUMNS]


def share(weights: Any, chosen: list[bool]) -> float:
    weights = np.asarray(weights, np.float64)
    return float(weights[chosen].sum() / max(weights.sum(), 1e-12))


def _percent(share: float | None) -> str:
    return f"{percent(share, 0):>5}"
