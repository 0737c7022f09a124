"""Strong views against what is drawn by hand."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from smallloss.learning.draws import Draws
from smallloss.learning.strong import _KINDS, StrongViews

CPU = torch.device("cpu")
OUTSIDE = -100  # a cut that takes nothing away


@pytest.fixture
def dataset(tiny: Any) -> Any:
    return replace(tiny, normalisation=([0.5, 0.5, 0.5], [0.25, 0.25, 0.25]))  # black is -2, white 2


def strong(dataset: Any, name: str = "trivialaugment") -> StrongViews:
    views = StrongViews.of(name, dataset, CPU)
    assert views is not None
    return views


def pictures(dataset: Any, n: int) -> torch.Tensor:
    channels, height, width = dataset.in_shape
    return torch.randn(n, channels, height, width, generator=torch.Generator().manual_seed(0)).clamp(-2, 2)


def tables(n: int, kind: str, strength: float) -> dict[str, torch.Tensor]:
    return {
        "cut_y": torch.full((n,), OUTSIDE),
        "cut_x": torch.full((n,), OUTSIDE),
        "change": torch.full((n,), _KINDS.index(kind)),
        "strength": torch.full((n,), strength),
    }


@pytest.mark.parametrize("kind", _KINDS)
def test_no_strength_changes_nothing(kind, dataset):
    before = pictures(dataset, 4)
    torch.testing.assert_close(strong(dataset).see(before, tables(4, kind, 0.0)), before, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", _KINDS[1:])
@pytest.mark.parametrize("strength", [-1.0, 1.0])
def test_every_change_changes_pictures_within_black_and_white(kind, strength, dataset):
    before = pictures(dataset, 4)
    after = strong(dataset).see(before, tables(4, kind, strength))
    assert after.shape == before.shape
    assert (after - before).abs().amax((1, 2, 3)).min() > 0.1
    assert after.abs().max() <= 2 + 1e-5


def test_brightness_contrast_and_saturation_by_hand(dataset):
    before = pictures(dataset, 1)
    views, factor = strong(dataset), 1 - 0.9 * 0.5
    mean, grey = before.mean(), before.mean(1, keepdim=True)
    for kind, middle in (("brightness", torch.tensor(-2.0)), ("contrast", mean), ("saturation", grey)):
        after = views.see(before, tables(1, kind, -0.5))
        torch.testing.assert_close(after, middle + factor * (before - middle), rtol=1e-4, atol=1e-5)


def test_a_shift_moves_by_three_tenths_of_the_side(dataset):
    before = torch.zeros(1, *dataset.in_shape)
    side = dataset.in_shape[2]
    before[..., side // 2] = 1.0
    share = 3 / side / 0.3  # three pixels
    after = strong(dataset).see(before, tables(1, "shift_x", share))
    expected = torch.zeros_like(before)
    expected[..., side // 2 - 3] = 1.0
    torch.testing.assert_close(after, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("size", [(20, 20), (12, 24)])
def test_a_turn_keeps_right_angles(size, dataset):
    """Also in pictures that are not square: a point at a distance turns on a circle around the middle."""
    views = replace(strong(dataset), size=size)
    height, width = size
    rows = torch.arange(height)[:, None] - (height - 1) / 2
    columns = torch.arange(width)[None] - (width - 1) / 2
    radius = (rows**2 + columns**2).sqrt().expand(1, 3, height, width) / 10 - 1
    after = views.see(radius, tables(1, "turn", 1.0))
    inside = (rows**2 + columns**2).sqrt() < min(size) / 2 - 1
    middle = (rows**2 + columns**2).sqrt() < 2  # a cone's tip is flattened by interpolation
    ring = inside & ~middle
    torch.testing.assert_close(after[..., ring], radius[..., ring], rtol=0, atol=0.02)


def test_the_cut_is_a_square_of_half_the_side_filled_with_the_mean_colour(dataset):
    before = torch.ones(2, *dataset.in_shape)
    side = dataset.in_shape[1]
    at = {"cut_y": torch.tensor([side // 2, 0]), "cut_x": torch.tensor([side // 2, 0])}
    after = strong(dataset, "cutout").see(before, at)
    assert int((after[0, 0] == 0).sum()) == (2 * (side // 4)) ** 2
    assert int((after[1, 0] == 0).sum()) == (side // 4) ** 2  # the rest of it lies outside
    assert float(after[1, 0, 0, 0]) == 0


def test_what_is_drawn_is_spread_over_all_there_is(dataset):
    drawn = strong(dataset).draw(Draws(0), "wm/strong", list(range(40)), 50)
    assert {name: table.shape for name, table in drawn.items()} == dict.fromkeys(drawn, (40, 50))
    counts = torch.bincount(drawn["change"].flatten(), minlength=len(_KINDS))
    assert counts.min() > 2000 / len(_KINDS) - 4 * math.sqrt(2000 / len(_KINDS))
    assert drawn["strength"].min() < -0.95
    assert drawn["strength"].max() > 0.95
    assert set(drawn["cut_y"].flatten().tolist()) == set(range(dataset.in_shape[1]))
    assert "change" not in strong(dataset, "cutout").draw(Draws(0), "wm/strong", [0], 5)


def test_nothing_for_none_and_for_features(dataset):
    assert StrongViews.of("none", dataset, CPU) is None
    features = replace(dataset, inputs=dataset.inputs.reshape(len(dataset), -1).astype("float32"), normalisation=None)
    assert StrongViews.of("cutout", features, CPU) is None
