"""A preset that nobody asked for, fitted to the number of pictures."""

import numpy as np
import pytest

from smallloss.data.dataset import Dataset
from smallloss.methods.settings import Settings, get_preset, settings_for


def fitted(n: int, name: str, **asked) -> Settings:
    pictures = Dataset(np.zeros((n, 1, 1, 1), np.uint8), np.arange(n) % 2, ("a", "b"))
    return settings_for(asked.pop("preset", None), "cuda" if name == "fast" else "cpu", pictures, **asked)


@pytest.mark.parametrize("preset, n", [("cpu", 10_000), ("fast", 20_000), ("fast", 10**6)])
def test_a_preset_is_as_it_is_for_the_data_it_was_made_for(preset, n):
    assert fitted(n, preset) == get_preset(preset)


@pytest.mark.parametrize("n, batch", [(3, 8), (50, 8), (300, 16), (1000, 32), (4095, 128), (4096, 256)])
def test_few_pictures_come_in_small_batches(n, batch):
    """On a GPU too, where 300 of them would be one step an epoch, and their average the weights at random."""
    small = fitted(n, "fast")
    assert small.recipe("stage1").batch == small.recipe("rsl").batch == batch
    assert small.recipe("stage1").ema_warmup
    assert small.recipe("stage1").epochs == get_preset("fast").recipe("stage1").epochs
    assert fitted(n, "cpu").recipe("stage1").batch == min(batch, 64)


@pytest.mark.parametrize("stage", ["stage1", "rsl"])
def test_a_batch_of_a_quarter_takes_half_the_step(stage):
    whole = get_preset("fast").recipe(stage)
    small = fitted(16 * 64, "fast").recipe(stage)
    assert (small.batch, small.lr) == (whole.batch / 4, whole.lr / 2)


@pytest.mark.parametrize("n, epochs", [(40_000, 30), (60_000, 20), (100_000, 12), (10**6, 10)])
def test_very_many_pictures_on_a_cpu_are_seen_less_often(n, epochs):
    assert fitted(n, "cpu").recipe("stage1").epochs == epochs
    assert fitted(n, "cpu").recipe("rsl_wm").epochs == min(epochs, 20)
    # The steps of this one do not grow with the data.
    assert fitted(n, "fast").recipe("rsl_wm") == get_preset("fast").recipe("rsl_wm")
    assert fitted(n, "cpu", changes={"mixmatch.steps_per_epoch": 50}).recipe("rsl_wm").epochs == 20
    assert fitted(n, "cpu", changes={"rsl_wm.epochs": 19}).recipe("rsl_wm").epochs == 19


def test_what_was_asked_for_is_not_fitted():
    fast = get_preset("fast")
    assert fitted(50, "fast", preset="fast") == fast
    assert fitted(10**5, "cpu", epochs=30).recipe("stage1").epochs == 30
    own = fitted(50, "fast", changes={"stage1.batch": "64", "rsl.epochs": 3, "rsl.lr": 0.3})
    stage1, rsl = own.recipe("stage1"), own.recipe("rsl")
    # A step follows its batch, whoever chose that.
    assert (stage1.batch, stage1.lr) == (64, fast.recipe("stage1").lr / 2)
    assert fitted(50, "fast", changes={"stage1.batch": 1024}).recipe("stage1").lr == fast.recipe("stage1").lr
    assert (rsl.batch, rsl.epochs, rsl.lr) == (8, 3, 0.3)


def test_features_are_left_as_the_preset_has_them():
    features = Dataset(np.zeros((50, 3), np.float32), np.arange(50) % 2, ("a", "b"))
    assert settings_for(None, "cpu", features) == settings_for(None, "cpu", features)


def test_features_are_learnt_alike_with_and_without_a_gpu():
    """In the batches of `fast` 50 of them are one step an epoch, and the average stays what it was at random."""
    features = Dataset(np.zeros((50, 3), np.float32), np.arange(50) % 2, ("a", "b"))
    assert settings_for(None, "cuda", features) == settings_for(None, "cpu", features)
    assert settings_for("fast", "cuda", features).preset == "fast"
