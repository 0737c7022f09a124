"""Selections and answers for the tests of the audit, as functions."""

from collections.abc import Callable

import numpy as np
import pytest

from smallloss.criterion.selection import Selection
from smallloss.noise.answers import Answers, draw
from smallloss.noise.choose import select

CLASSES = np.array(["cat", "dog", "bird"])


@pytest.fixture(scope="session")
def selection_of() -> Callable[..., Selection]:
    def make(n: int = 600, seed: int = 0, rate: float = 0.3) -> Selection:
        rng = np.random.default_rng(seed)
        return select(rng.random(n), CLASSES[rng.integers(0, 3, n)], rate, classes=CLASSES)

    return make


@pytest.fixture(scope="session")
def answers_of() -> Callable[..., Answers]:
    def make(selection: Selection, right: float, dropped_right: float, kept: int = 40, dropped: int = 20) -> Answers:
        """The first share of each stratum right, the others truly of the next class."""
        sample = draw(selection, kept=kept, dropped=dropped)
        label = selection.class_index[sample.index].astype(np.int64)
        order = np.where(sample.kept, np.cumsum(sample.kept) / kept, np.cumsum(~sample.kept) / dropped)
        is_right = order <= np.where(sample.kept, right, dropped_right) + 1e-9
        return Answers(sample.index, sample.kept, label, np.where(is_right, label, (label + 1) % 3))

    return make
