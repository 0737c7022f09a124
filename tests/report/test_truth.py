from dataclasses import replace

import numpy as np
import pytest

from smallloss.noise.estimate import estimate
from smallloss.record.run import Run
from smallloss.report.facts import class_rows, table_rows


def test_by_hand(result: Run) -> None:
    cat, dog = (row.agreement for row in class_rows(result))
    # cat: 1 and 0 are kept, both right; 3 is flagged, and wrong.
    assert cat == (1, (1.0, 1.0), (1.0, 1.0))
    # dog: 5 (wrong) and 7 (right) are kept; 8 is flagged, but right.
    assert dog == (1, (0.5, 0.5), (0.0, 0.0))
    assert table_rows(result)[0].agreement == (2, (0.75, 0.75), (0.5, 0.5))


def test_all_is_the_sum_of_the_parts_and_only_what_was_estimated_has_an_interval(result: Run) -> None:
    *parts, whole = table_rows(result)
    assert [row.name for row in (*parts, whole)] == ["trained on", "held out", "all"]
    for name in ("examples", "kept", "set_aside", "likely_wrong"):
        assert getattr(whole, name) == sum(getattr(row, name) for row in parts)
        assert getattr(parts[0], name) == sum(getattr(row, name) for row in class_rows(result))
    assert whole.noise_rate == pytest.approx(1 / 3)
    # Of the 8: 1, 0, 7 and the two held out are kept and right, 5 is kept and wrong; of 3 and 8 one is wrong.
    assert whole.agreement == (2, (5 / 6, 5 / 6), (0.5, 0.5))
    names = tuple(result.dataset.classes)
    P = np.full((400, 2), 0.05)
    P[np.arange(400), np.arange(400) % 2] = 0.95
    result.noise = estimate(P, np.array(names)[np.arange(400) % 2], classes=list(names))
    assert [row.interval is not None for row in table_rows(result)] == [True, False, True]
    result = replace(result, examples=result.examples.ranked(result.parts[:1]))
    assert [row.interval is not None for row in table_rows(result)] == [True]
