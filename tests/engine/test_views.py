"""Crop, mirror and normalise, example by example, against a plain loop."""

from typing import Any

import numpy as np
import pytest
import torch

from smallloss.data.dataset import Dataset
from smallloss.engine.draws import Draws
from smallloss.engine.views import PLAIN, Augmentation, Inputs, Views, draw_views

CPU = torch.device("cpu")


def pictures(height: int = 6, width: int = 9, channels: int = 3, n: int = 20) -> Dataset:
    x = np.random.default_rng(0).integers(0, 256, (n, height, width, channels), dtype=np.uint8)
    return Dataset(x, np.arange(n, dtype=np.int64) % 2, ("a", "b"), flip=True)


def by_loop(dataset: Dataset, how: Augmentation, views: Views) -> np.ndarray:
    """The same by a plain loop: pad, cut, mirror, normalise, channels first."""
    height, width = dataset.inputs.shape[1:3]
    mode: Any = {"zero": "constant", "reflect": "reflect"}[how.padding]
    seen = []
    for index, dy, dx, flip in zip(*(t.tolist() for t in (views.index, views.dy, views.dx, views.flip)), strict=True):
        padded = np.pad(dataset.inputs[index], ((how.pad,) * 2, (how.pad,) * 2, (0, 0)), mode=mode)
        cut = padded[dy : dy + height, dx : dx + width]
        cut = cut[:, ::-1] if flip else cut
        seen.append(((cut / 255 - dataset.mean) / dataset.std).transpose(2, 0, 1))
    return np.stack(seen)


@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize(
    "how",
    [
        Augmentation(4, "zero", 9),
        Augmentation(4, "reflect", 8),
        Augmentation(1, "zero", 3, flip=False),
        Augmentation(5, "reflect", 11),
        PLAIN,
    ],
    ids=str,
)
def test_views_are_those_of_a_plain_loop(how, resident):
    dataset = pictures()
    index = torch.tensor([3, 3, 0, 19, 7, 7, 12, 1, 5, 18, 2, 4])
    views = draw_views(Draws(0), how, "x", [0], torch.arange(12), index)
    inputs = Inputs(dataset, CPU, how, resident=resident)
    raw = None if resident else next(inputs.load([index.numpy()]))
    np.testing.assert_allclose(inputs.see(views, raw).numpy(), by_loop(dataset, how, views), atol=1e-5)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_resident_and_streaming_see_the_very_same(channels):
    how, dataset = Augmentation(2, "reflect", 5), pictures(channels=channels)
    views = draw_views(Draws(0), how, "x", [0], torch.arange(20), torch.arange(20).flip(0))
    resident, streaming = (Inputs(dataset, CPU, how, resident=choice) for choice in (True, False))
    raw = next(streaming.load([views.index.numpy()]))
    assert torch.equal(resident.see(views), streaming.see(views, raw))
    assert streaming.stored is None


def test_worker_processes_read_the_same_batches_in_order():
    alone, helped = (Inputs(pictures(), CPU, PLAIN, resident=False, workers=workers) for workers in (0, 1))
    batches = [np.array([1, 5]), np.array([0]), np.array([19, 19, 2])]
    generator = torch.random.get_rng_state()
    for here, there in zip(alone.load(batches), helped.load(batches), strict=True):
        assert torch.equal(here, there)
    assert torch.equal(torch.random.get_rng_state(), generator)


def test_pictures_come_in_channels_last_memory():
    inputs = Inputs(pictures(8, 8), CPU, PLAIN, resident=True)
    x = inputs.see(inputs.plain(torch.arange(4)))
    assert x.shape == (4, 3, 8, 8)
    assert x.stride() == (192, 1, 24, 3)
    assert x.is_contiguous(memory_format=torch.channels_last)
    assert x.dtype == torch.float32


def test_the_whole_set_is_normalised():
    dataset = pictures()
    inputs = Inputs(dataset, CPU, PLAIN, resident=True)
    x = inputs.see(inputs.plain(np.arange(20)))
    assert x.mean((0, 2, 3)).abs().max() < 1e-5
    assert (x.std((0, 2, 3), correction=0) - 1).abs().max() < 1e-5


def test_the_plain_view_is_the_picture_itself_whatever_the_padding():
    dataset = pictures()
    inputs = Inputs(dataset, CPU, PLAIN, resident=True)
    whole = inputs.see(inputs.plain(np.arange(20)))
    padded = Inputs(dataset, CPU, Augmentation(4, "reflect", 9), resident=True)
    assert torch.equal(padded.see(padded.plain(torch.arange(20))), whole)


def test_resident_pictures_stay_bytes():
    stored = Inputs(pictures(), CPU, Augmentation(4), resident=True).stored
    assert stored is not None
    assert stored.dtype == torch.uint8
    assert stored.shape == (20, 14, 17, 3)


@pytest.mark.parametrize("resident", [True, False])
def test_features_are_standardised(resident):
    x = np.random.default_rng(0).normal(1000, 5, (50, 4)).astype(np.float32)
    x[:, 2] = 7  # a constant feature is centred and left alone
    dataset = Dataset(x, np.zeros(50, dtype=np.int64), ("a", "b"))
    inputs = Inputs(dataset, CPU, PLAIN, resident=resident)
    rows = torch.arange(50)
    raw = None if resident else next(inputs.load([rows.numpy()]))
    seen = inputs.see(inputs.plain(rows), raw)
    assert seen.mean(0).abs().max() < 1e-3
    assert (seen[:, [0, 1, 3]].std(0, correction=0) - 1).abs().max() < 1e-3
    assert seen[:, 2].abs().max() < 1e-5


def test_drawn_views_cover_their_range_and_no_more():
    index = torch.arange(3000)
    views = draw_views(Draws(0), Augmentation(4, "reflect", 8), "x", [0], index, index)
    assert sorted(set(views.dy.tolist())) == list(range(8))  # the authors' loader never reaches 8
    assert sorted(set(views.dx.tolist())) == list(range(8))
    assert 1300 < int(views.flip.sum()) < 1700
    assert (views.dy != views.dx).any()
    assert not draw_views(Draws(0), Augmentation(flip=False), "x", [0], index, index).flip.any()


def test_flips_by_turns():
    """Half begin mirrored, and then each changes with every epoch."""
    key = torch.arange(1000)
    epochs = [draw_views(Draws(0), Augmentation(alternate=True), "x", [t], key, key).flip for t in range(3)]
    assert 400 < int(epochs[0].sum()) < 600
    assert torch.equal(epochs[1], ~epochs[0])
    assert torch.equal(epochs[2], epochs[0])


@pytest.mark.parametrize("size", [(6, 9), (5, 5), (32, 32)], ids=str)
def test_a_square_is_left_out_whole_and_anywhere(size):
    dataset, how = pictures(*size, n=400), Augmentation(0, "zero", 1, flip=False, cutout=0.4)
    side = round(0.4 * min(size))
    views = draw_views(Draws(0), how, "x", [0], torch.arange(400), torch.arange(400))
    inputs = Inputs(dataset, CPU, how, resident=True)
    gone = (inputs.see(views) == 0).all(1)
    assert set(gone.sum((1, 2)).tolist()) == {side * side}
    firsts = {(int(one.any(1).nonzero()[0]), int(one.any(0).nonzero()[0])) for one in gone}
    rows, columns = ({first[axis] for first in firsts} for axis in (0, 1))
    assert (rows, columns) == (set(range(size[0] - side + 1)), set(range(size[1] - side + 1)))
    seen = inputs.see(views)[~gone[:, None].expand(-1, 3, -1, -1)]
    assert torch.equal(seen, inputs.see(inputs.plain(np.arange(400)))[~gone[:, None].expand(-1, 3, -1, -1)])


def test_views_that_are_scored_have_no_holes_and_no_strong_changes():
    weak = Augmentation(cutout=0.5, strong=True).weak
    assert len(draw_views(Draws(0), weak, "x", [0], torch.arange(3), torch.arange(3)).tables) == 4


def test_strong_views_do_not_depend_on_where_pictures_live():
    dataset, how = pictures(8, 8), Augmentation(2, "reflect", 5, cutout=0.4, strong=True)
    views = draw_views(Draws(0), how, "x", [0], torch.arange(20), torch.arange(20).flip(0))
    resident, streaming = (Inputs(dataset, CPU, how, resident=choice) for choice in (True, False))
    seen = resident.see(views)
    assert torch.equal(seen, streaming.see(views, next(streaming.load([views.index.numpy()]))))
    assert seen.is_contiguous(memory_format=torch.channels_last)
    assert views.map(lambda *both: torch.cat(both), views).amounts.shape == (40, 8)


def test_a_view_belongs_to_its_key_not_to_its_place():
    key = torch.arange(100)
    order = Draws(1).permutations("order", [0], 100)[0]
    straight = draw_views(Draws(0), Augmentation(), "x", [3], key, key)
    shuffled = draw_views(Draws(0), Augmentation(), "x", [3], order, order)
    assert torch.equal(straight.dy[order], shuffled.dy)
    assert torch.equal(straight.flip[order], shuffled.flip)
    later = draw_views(Draws(0), Augmentation(), "x", [4], key, key)
    assert not torch.equal(straight.dy, later.dy)


def test_a_table_of_views_has_a_row_per_step():
    index = torch.arange(12).view(3, 4)
    views = draw_views(Draws(0), Augmentation(), "x", [5, 6, 7], torch.arange(4), index)
    assert len(views) == 3
    assert views.dy.shape == views.flip.shape == (3, 4)
    second = draw_views(Draws(0), Augmentation(), "x", [6], torch.arange(4), index[1])
    assert torch.equal(views.dy[1], second.dy)
