"""Whole numbers of any make, and sentences for what is none."""

import json

import numpy as np
import pytest

import smallloss as sl
from smallloss.errors import InputError
from smallloss.integrations.scikit_learn import RSLClassifier
from smallloss.knobs import whole

X, Y = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32), np.arange(40) % 2


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3), np.array(3), "3"])
def test_a_whole_number_of_any_make(value):
    assert whole(value, "seed") == 3
    assert type(whole(value, "seed")) is int


def test_a_large_one_loses_nothing():
    assert whole(2**60 + 1, "seed") == 2**60 + 1


@pytest.mark.parametrize("value", [1.5, None, True, "many", float("nan"), float("inf"), [1, 2], np.arange(2)])
def test_what_is_none_is_named(value):
    with pytest.raises(InputError, match=r"seed is .*; it must be a whole number$"):
        whole(value, "seed")


def test_one_that_is_too_small():
    with pytest.raises(InputError, match="workers is -1; it must be at least 0"):
        whole(-1, "workers")


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"seed": 1.5}, "seed is 1.5; it must be a whole number"),
        ({"seed": -1}, "seed is -1; it must be at least 0"),
        ({"workers": -1}, "workers is -1; it must be at least 0"),
        ({"epochs": 2.5}, "epochs is 2.5; it must be a whole number"),
        ({"settings": {"stage1.lr": None}}, "stage1.lr is None; it must be a number, like"),
    ],
)
def test_a_wrong_argument_is_a_sentence(wrong, words):
    with pytest.raises(InputError, match=words):
        sl.clean((X, Y), noise_rate=0.1, device="cpu", **wrong)


def test_numbers_of_numpy_can_be_written_down(tmp_path):
    settings = {"stage1.lr": np.float32(0.5), "stage1.batch": 16.0}
    sl.clean((X, Y), tmp_path, noise_rate=0.1, seed=np.int64(3), epochs=np.int64(1), settings=settings, device="cpu")
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["seed"], config["settings"]["stage1"]["batch"], config["settings"]["stage1"]["lr"]) == (3, 16, 0.5)


def test_the_scikit_learn_shape_asks_the_same():
    with pytest.raises(InputError, match=r"random_state is 1\.5; it must be a whole number"):
        RSLClassifier(noise_rate=0.1, epochs=1, random_state=1.5, device="cpu").fit(X, Y)
