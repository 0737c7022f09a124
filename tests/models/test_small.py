import pytest
import torch

from smallloss import models
from smallloss.data import hold_out, load
from smallloss.models.small import ConvNorm, ResNet9


@pytest.mark.parametrize("name, floor", [("small-convnet", 0.96), ("mlp", 0.95)])
def test_learns_the_digits(name, floor):
    """Six epochs only: enough to tell a working network from a broken one."""
    data = load("digits")
    kept, held_out = hold_out(data, seed=0)
    x = (torch.from_numpy(data.inputs).permute(0, 3, 1, 2) / 255 - data.mean[0]) / data.std[0]
    x, y = x.float(), torch.from_numpy(data.labels)
    torch.manual_seed(0)
    net = models.build(name, classes=10, in_shape=data.in_shape)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(6):
        for batch in torch.from_numpy(kept)[torch.randperm(len(kept))].split(64):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
            optimiser.step()
    net.eval()
    with torch.no_grad():
        right = net(x[held_out]).argmax(1) == y[held_out]
    assert right.float().mean() >= floor


def test_a_large_picture_is_averaged_down_first():
    """The same network on a picture and on the means of its 3 x 3 blocks."""
    torch.manual_seed(0)
    large = models.build("small-convnet", classes=5, in_shape=(3, 96, 96)).eval()
    small = models.build("small-convnet", classes=5, in_shape=(3, 32, 32)).eval()
    small.load_state_dict(dict(zip(small.state_dict(), large.state_dict().values(), strict=True)))
    x = torch.rand(2, 3, 96, 96)
    with torch.no_grad():
        torch.testing.assert_close(large(x), small(torch.nn.functional.avg_pool2d(x, 3)))


@pytest.mark.parametrize("size, left", [(32, 4), (8, 1), (5, 1), (1, 1)])
def test_three_poolings_leave_at_least_a_pixel(size, left):
    assert ResNet9(10, (1, size, size)).body(torch.zeros(2, 1, size, size)).shape == (2, 512, left, left)


def test_pooling_before_the_norm_is_pooling_after_it():
    """With positive scales the norm is monotone, so the maximum may be taken first."""
    torch.manual_seed(0)
    block = ConvNorm(3, 8, pool=True).eval()
    x = torch.randn(2, 3, 8, 8)
    after = torch.nn.functional.max_pool2d(torch.relu(block.norm(block.conv(x))), 2)
    torch.testing.assert_close(block(x), after)
