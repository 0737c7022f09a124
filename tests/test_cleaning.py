"""`clean` on data that is hardly enough."""

import numpy as np
import pytest

import smallloss as sl
from smallloss.errors import InputError


def test_a_few_rows_repeated_over_and_over_are_held_out_from_all_the_same():
    x = np.tile(np.eye(3, dtype=np.float32), (20, 1))
    run = sl.clean((x, np.arange(60) % 3), noise_rate=0.1, epochs=1)
    assert [len(part.index) for part in run.result.parts] == [48, 12]


def test_data_of_which_nothing_can_be_held_out_is_refused():
    x = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(InputError, match="Nothing of arrays can be held out"):
        sl.clean((x, np.arange(6) % 3), noise_rate=0.1, epochs=1)


def test_a_bad_beta_is_refused_before_training_where_the_rates_are_estimated(tmp_path):
    x = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(InputError, match="beta is 5"):
        sl.clean((x, np.arange(30) % 3), tmp_path / "run", epochs=1, settings={"beta": 5})
    assert not (tmp_path / "run").exists()


def test_a_prior_is_given_by_label_as_rates_are():
    x = np.random.default_rng(0).normal(size=(30, 2))
    run = sl.clean((x, np.arange(30) % 3), noise_rate=0.1, prior={0: 0.5, 1: 0.25, 2: 0.25}, epochs=1)
    assert run.selection.quota.prior is not None
    assert run.selection.quota.prior.tolist() == [0.5, 0.25, 0.25]
