"""The criterion's settings: what examples are ranked by, and how many of them are kept with which weight."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any, Literal

from smallloss.criterion.quota import ClassSize, Gamma, Rounding
from smallloss.errors import InputError
from smallloss.knobs import Knobs, knob

KAPPA = -log(0.7)


@dataclass(frozen=True)
class Criterion(Knobs):
    """Algorithm 1, lines 8 to 14: what ranks, how many are kept, and what they weigh (Section 4).

    Bounds from beta on are asked where they are used, for they come through `sl.select` too.
    """

    score: str = knob("mean_loss", "What examples are ranked by.", choices=("mean_loss", "mean_margin", "last_loss"))
    window: tuple[float, float] = knob(
        (0.0, 1.0), "The part of the stage that the score is a mean over.", values="rising, in [0, 1]"
    )
    half_epochs: float = knob(
        2 / 3, "Length of the half-trainings that estimate noise rates, in lengths of stage 1.", above=0
    )
    beta: float = knob(0.2, "Safety: how much less than 1 - noise rate of each label is kept.", values="in [0, 1]")
    gamma: Gamma = knob(
        "middle",
        "Balance: how far what is kept may depart from the prior.",
        values="`middle`, `none`, or a number from 1",
    )
    kappa: float = knob(KAPPA, "The least certain example has the weight exp(-kappa).", values="from 0")
    weight_max: Literal["selected", "class"] = knob(
        "selected",
        "Where that is reached: at the last one kept, or at the last of all.",
        values="`selected`, `class`",
    )
    rounding: Rounding = knob(
        "safe",
        "How quotas become whole: forgiving float error, or cut like the authors'.",
        values="`safe`, `raw`",
    )
    class_size: ClassSize = knob(
        "observed",
        "What quotas are shares of: class sizes as they are, or n / c, the authors' under some noise.",
        values="`observed`, `nominal`",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.window) != 2 or not 0 <= self.window[0] <= self.window[1] <= 1:
            raise InputError(f"window is {self.window}; it must be two shares of the epochs, like 0.25,1")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Criterion":
        """Those of a run, which has others beside them."""
        return cls(**{name: settings[name] for name in cls.about() if name in settings})

    @property
    def score_in_words(self) -> str:
        """What examples are ranked by, where high is suspicious; a margin is the lead of the label over the others."""
        lead = "the mean lead of another class over the label"
        return {"mean_margin": lead}.get(self.score, f"the {self.score.replace('_', ' ')}")

    def scored_epochs(self, epochs: int) -> range:
        """The window in epochs; never empty."""
        start, stop = (int(share * epochs + 0.5) for share in self.window)
        start = min(start, epochs - 1)
        return range(start, max(stop, start + 1))
