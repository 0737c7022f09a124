"""A share and its interval."""

from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float | None]:
        """As JSON can say it: a value that nothing is known of is None."""
        return {name: value if np.isfinite(value) else None for name, value in self._asdict().items()}
