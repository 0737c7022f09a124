"""T for a reader."""

from dataclasses import replace

import numpy as np

from smallloss.data.dataset import Dataset
from smallloss.record.run import Result
from smallloss.report.confusions import CLASSES_SHOWN, confusions
from smallloss.report.page import page


def known(result: Result, T: list[list[float]]) -> Result:
    return replace(result, settings=result.settings | {"noise": {"transition": T}})


def test_nothing_is_shown_where_t_is_not_known(result: Result) -> None:
    assert confusions(result) is None
    assert "What is taken for what" not in page(result)


def test_a_known_t_is_a_matrix_with_its_flips_in_words(result: Result) -> None:
    found = confusions(known(result, [[0.7, 0.3], [0.001, 0.999]]))
    assert found is not None
    assert [[cell.share for cell in row] for row in found.rows] == [["70", "30"], ["", "100"]]
    assert found.rows[1][0].shade == 0
    assert found.pairs == [("cat", "dog", "30 %")]
    assert "according to the known T" in page(known(result, [[0.7, 0.3], [0.001, 0.999]]))


def test_many_classes_are_named_in_pairs_only(result: Result) -> None:
    c = CLASSES_SHOWN + 1
    T = np.eye(c)
    T[3, 3], T[3, 5] = 0.6, 0.4
    names = tuple(f"k{i}" for i in range(c))
    data = Dataset(np.zeros((2, 1), np.float32), np.zeros(2, np.int64), names)
    found = confusions(known(replace(result, dataset=data), T.tolist()))
    assert found is not None
    assert found.rows == []
    assert found.pairs == [("k3", "k5", "40 %")]
