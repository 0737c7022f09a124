"""Strong views, change by change."""

from math import log, pi

import pytest
import torch

from smallloss.engine.draws import Draws
from smallloss.engine.strong import changed, draw_amounts

NAMES = ("turn", "scale", "shear", "down", "across", "saturation", "contrast", "brightness")
X = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def by(x: torch.Tensor = X, **amounts: float) -> torch.Tensor:
    return changed(x, torch.tensor([[amounts.get(name, 0.0) for name in NAMES]] * len(x)))


def test_nothing_changes_nothing():
    torch.testing.assert_close(by(), X)


def test_places_by_hand():
    """A quarter of a turn; twice the middle; two pixels of eight down, mirrored at the edge; a half of the height in
    shear moves each row by its own distance from the middle, times a half."""
    torch.testing.assert_close(by(turn=pi / 2), X.rot90(1, (2, 3)))
    torch.testing.assert_close(by(down=0.5)[:, :, :6], X[:, :, 2:])
    torch.testing.assert_close(by(down=0.5)[:, :, 6:], X[:, :, 6:].flip(2))
    torch.testing.assert_close(by(across=-0.25)[:, :, :, 1:], X[:, :, :, :7])
    ramp = torch.arange(8.0).expand(1, 1, 8, 8)
    middle = (torch.arange(8.0) - 3.5)[2:6]
    torch.testing.assert_close(by(ramp, scale=log(0.5))[0, 0, 3, 2:6], 3.5 + middle / 2)
    torch.testing.assert_close(by(ramp, shear=0.5)[0, 0, :, 3], 3 + (torch.arange(8) - 3.5) / 2)


def test_a_turn_is_a_turn_in_a_picture_that_is_no_square():
    """What lies two pixels right of the middle comes to lie two pixels above or below it."""
    wide = torch.zeros(1, 1, 5, 11)
    wide[0, 0, 2, 7] = 1
    assert by(wide, turn=pi / 2)[0, 0, :, 3:8].round().nonzero().tolist() in ([[0, 2]], [[4, 2]])


def test_colours_by_hand():
    gray, mean = X.mean(1, keepdim=True), X.mean((2, 3), keepdim=True)
    torch.testing.assert_close(by(saturation=-1.0), gray.expand_as(X), atol=1e-5, rtol=0)
    torch.testing.assert_close(by(saturation=0.5), gray + 1.5 * (X - gray))
    torch.testing.assert_close(by(contrast=0.5), mean + 1.5 * (X - mean))
    torch.testing.assert_close(by(brightness=0.25), X + 0.25)
    torch.testing.assert_close(by(gray, saturation=0.5), gray)


@pytest.mark.parametrize("which, most", [(0, pi / 9), (1, 0.2), (7, 0.4)])
def test_amounts_are_drawn_for_seven_in_ten_and_lie_both_ways(which, most):
    drawn = draw_amounts(Draws(0), "x", [3, 4], torch.arange(5000))
    assert drawn.shape == (2, 5000, 8)
    one = drawn[0, :, which]
    assert abs(float((one != 0).float().mean()) - 0.7) < 0.02
    assert float(one.max()) == pytest.approx(most, rel=0.01)
    assert float(one.min()) == pytest.approx(-most, rel=0.01)
    assert not torch.equal(drawn[0], drawn[1])
