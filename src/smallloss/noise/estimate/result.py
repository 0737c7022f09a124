"""What an estimate says: a rate, an interval and a matrix, with the draws behind them, and its evidence in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smallloss.errors import InputError
from smallloss.noise.estimate.dependence import Slope
from smallloss.noise.estimate.inputs import Matrix, Vector
from smallloss.words import one_line, percent

RATES_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Estimate:
    """noise_rate[k], the share of wrong ones among the examples labelled k, with the `level` interval low, high.

    transition has a row for each true class; prior is the true class distribution; the three agree exactly through
    the bridge η_k = 1 - p_k T_kk / sum_i p_i T_ik. draws and transition_draws carry the uncertainty on.
    """

    classes: Sequence[Any]
    noise_rate: Vector
    low: Vector
    high: Vector
    transition: Matrix
    prior: Vector
    evidence: str
    depends_on_example: bool | None
    slope: Slope
    notes: tuple[str, ...]
    level: float
    draws: NDArray[np.float64]
    transition_draws: NDArray[np.float32]
    weak: bool = False  # the rates may be the network's own mistakes
    believed: float = 1.0  # the share of what was counted that the rates are; the intervals reach up to all of it

    def __repr__(self) -> str:
        noisiest = np.argsort(-self.noise_rate, kind="stable")[:RATES_SHOWN]
        rates = [
            f"{one_line(str(self.classes[k]))} {percent(self.noise_rate[k], 0)} "
            f"({percent(self.low[k], 0)} to {percent(self.high[k], 0)})"
            for k in noisiest
        ]
        rest = len(self.classes) - len(rates)
        more = [f"{rest:,} more with smaller rates"] if rest else []
        weak = "; they may be the network's own mistakes" if self.weak else ""
        return f"<Estimate of noise rates, {percent(self.level, 0)} intervals: {', '.join(rates + more)}{weak}>"

    def interval(self, level: float) -> tuple[Vector, Vector]:
        """Quantiles of the draws, widened where need be to hold the estimate itself."""
        return interval(self.noise_rate, self.draws, level)

    def upper(self, level: float) -> Vector:
        """How high the rates may be, for a selection to stay below: of what is not believed it need not be careful."""
        return self.believed * self.interval(level)[1]

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The draws, which `to_dict` leaves out."""
        return {"draws": self.draws, "transition_draws": self.transition_draws}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "Estimate":
        """What `to_dict` and `arrays` gave, as it was."""
        vectors = {name: np.array(facts[name]) for name in ("noise_rate", "low", "high", "transition", "prior")}
        draws = {name: arrays[name] for name in ("draws", "transition_draws")}
        slope = Slope(**{name: np.inf if value is None else value for name, value in facts["slope"].items()})
        return cls(**facts | vectors | draws | {"slope": slope, "notes": tuple(facts["notes"])})

    def to_dict(self) -> dict[str, Any]:
        """Everything but the draws, ready for JSON."""
        return {
            "classes": list(self.classes),
            "noise_rate": self.noise_rate.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "level": self.level,
            "transition": self.transition.tolist(),
            "prior": self.prior.tolist(),
            "evidence": self.evidence,
            "depends_on_example": self.depends_on_example,
            "slope": {name: value if np.isfinite(value) else None for name, value in vars(self.slope).items()},
            "notes": list(self.notes),
            "weak": self.weak,
            "believed": self.believed,
        }


def interval(rate: Vector, draws: Vector, level: float) -> tuple[Vector, Vector]:
    if not 0 < level < 1:
        raise InputError(f"level is the share of intervals that hold the truth, between 0 and 1; it was {level}.")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.minimum(low, rate), np.maximum(high, rate)
