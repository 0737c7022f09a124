"""T for a reader."""

from dataclasses import replace

import numpy as np

from smallloss.record.run import Run
from smallloss.report.facts import MATRIX_CLASSES, confusions
from smallloss.report.page import page


def known(result: Run, T: list[list[float]]) -> Run:
    return replace(result, settings=result.settings | {"noise": {"transition": T}})


def test_nothing_is_shown_where_t_is_not_known(result: Run) -> None:
    assert confusions(result) is None
    assert "What is taken for what" not in page(result)


def test_a_known_t_is_a_matrix_with_its_flips_in_words(result: Run) -> None:
    found = confusions(known(result, [[0.7, 0.3], [0.001, 0.999]]))
    assert found is not None
    assert [[share for share, _ in row] for row in found["rows"]] == [["70", "30"], ["", "100"]]
    assert found["rows"][1][0] == ("", 0)
    assert found["pairs"] == [("cat", "dog", "30 %")]
    assert "according to the known T" in page(known(result, [[0.7, 0.3], [0.001, 0.999]]))


def test_many_classes_are_named_in_pairs_only(result: Run) -> None:
    c = MATRIX_CLASSES + 1
    T = np.eye(c)
    T[3, 3], T[3, 5] = 0.6, 0.4
    names = tuple(f"k{i}" for i in range(c))
    examples = replace(result.examples, classes=names)
    found = confusions(known(replace(result, examples=examples), T.tolist()))
    assert found is not None
    assert found["rows"] == []
    assert found["pairs"] == [("k3", "k5", "40 %")]
