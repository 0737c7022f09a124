"""Strong views: drawn by example and time, and doing what they say."""

import numpy as np
import pytest
import torch

from smallloss.data.dataset import Dataset
from smallloss.engine.draws import Draws
from smallloss.engine.strong import covered, draw_strong, moved, recoloured
from smallloss.engine.views import Augmentation, Inputs, draw_views, plain_views

CPU = torch.device("cpu")
ALL = Augmentation(2, "reflect", 5, by_turns=True, cut=4, strength=1.0)
NOTHING = ("turn", "zoom", "shear", "right", "down", "saturation", "contrast", "brightness")


def pictures(n: int = 30, size: int = 9, channels: int = 3) -> Dataset:
    x = np.random.default_rng(0).integers(0, 256, (n, size, size, channels), dtype=np.uint8)
    return Dataset(x, np.arange(n, dtype=np.int64) % 2, ("a", "b"), flip=True)


def how(**changed: float) -> dict[str, torch.Tensor]:
    return {name: torch.tensor([changed.get(name, 0.0)], dtype=torch.float32) for name in NOTHING}


def test_a_view_depends_on_example_and_epoch_alone():
    draws, order = Draws(0), torch.randperm(30)
    together = draw_views(draws, ALL, "x", [4], order, order)
    alone = draw_views(draws, ALL, "x", [4], order[7:9], order[7:9])
    for table, part in zip(together.tables, alone.tables, strict=True):
        assert torch.equal(table[7:9], part.view(2))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_resident_and_streaming_see_the_very_same(channels):
    dataset = pictures(channels=channels)
    index = torch.randperm(30)
    views = draw_views(Draws(0), ALL, "x", [0], index, index)
    resident, streaming = (Inputs(dataset, CPU, ALL, resident=choice) for choice in (True, False))
    seen = resident.see(views)
    assert torch.equal(seen, streaming.see(views, next(streaming.load([index.numpy()]))))
    assert seen.is_contiguous(memory_format=torch.channels_last)
    assert seen.isfinite().all()


def test_turns_mirror_every_picture_every_other_epoch():
    index = torch.arange(200)
    flips = [draw_views(Draws(1), ALL, "x", [epoch], index, index).flip for epoch in range(4)]
    assert torch.equal(flips[0], ~flips[1])
    assert torch.equal(flips[0], flips[2])
    assert 60 < int(flips[0].sum()) < 140


def test_about_seven_in_ten_are_changed_and_none_beyond_the_bounds():
    drawn = draw_strong(Draws(0), 1.5, "x", [0], torch.arange(4000))
    changed = {name: float((table != 0).float().mean()) for name, table in drawn.items()}
    assert all(abs(share - 0.7) < 0.03 for share in changed.values())
    assert len({changed[name] for name in ("turn", "zoom", "down")}) == 1  # together or not at all
    assert float(drawn["turn"].abs().max()) == pytest.approx(np.radians(30), rel=0.01)
    assert float(drawn["brightness"].abs().max()) == pytest.approx(0.6, rel=0.01)
    assert draw_strong(Draws(0), 0.0, "x", [0], torch.arange(4)) == {}


def test_a_quarter_turn_is_a_quarter_turn():
    x = torch.arange(9.0).view(1, 1, 3, 3)
    torch.testing.assert_close(moved(x, how(turn=np.pi / 2)), torch.rot90(x, 1, (2, 3)), atol=1e-4, rtol=0)


def test_moved_by_a_pixel_doubled_in_size_and_left_alone():
    x = torch.rand(1, 2, 4, 4)
    torch.testing.assert_close(moved(x, how()), x)
    torch.testing.assert_close(moved(x, how(right=0.25))[..., :-1], x[..., 1:], atol=1e-5, rtol=0)
    # Half as far from the middle: the four pixels there are all that is seen.
    assert moved(x, how(zoom=np.log(2)))[0, 0, 1:3, 1:3].max() <= x[0, 0, 1:3, 1:3].max()


def test_a_turn_does_not_skew_a_picture_that_is_not_square():
    x = torch.zeros(1, 1, 9, 17)
    x[..., 4, 5:12] = 1  # a bar of 7 pixels through the middle
    upright = moved(x, how(turn=np.pi / 2))
    assert upright[0, 0, :, 8].tolist() == pytest.approx([0, 1, 1, 1, 1, 1, 1, 1, 0], abs=1e-3)


def test_colours_by_hand():
    x = torch.tensor([0.2, 0.4, 0.6]).view(1, 1, 1, 3)
    assert recoloured(x, how()).flatten().tolist() == pytest.approx([0.2, 0.4, 0.6])
    assert recoloured(x, how(brightness=0.5)).flatten().tolist() == pytest.approx([0.3, 0.6, 0.9])
    assert recoloured(x, how(saturation=-1.0)).flatten().tolist() == pytest.approx([0.4, 0.4, 0.4])
    assert recoloured(x, how(contrast=0.5)).flatten().tolist() == pytest.approx([0.1, 0.4, 0.7])
    assert recoloured(x, how(brightness=1.0)).flatten().tolist() == pytest.approx([0.4, 0.8, 1.0])


@pytest.mark.parametrize("size, side", [(9, 4), (5, 2), (1, 0)])
def test_the_square_lies_inside_and_leaves_half(size, side):
    x = torch.ones(3, 2, size, size)
    place = {"cut_y": torch.tensor([0.0, 0.5, 1.0]), "cut_x": torch.tensor([0.0, 1.0, 0.5])}
    seen = covered(x, place, 4)
    assert (seen == 0).sum((2, 3)).tolist() == [[side * side] * 2] * 3
    if side:
        assert seen[0, 0, 0, 0] == seen[1, 0, size // 2, -1] == 0


def test_a_plain_view_is_plain():
    inputs = Inputs(pictures(), CPU, ALL, resident=True)
    plain = Inputs(pictures(), CPU, Augmentation(0, "zero", 1, flip=False), resident=True)
    assert torch.equal(inputs.see(plain_views(torch.arange(5), 2)), plain.see(plain_views(torch.arange(5), 0)))
