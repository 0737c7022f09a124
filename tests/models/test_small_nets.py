import pytest
import torch

from smallloss import models
from smallloss.data import hold_out, load


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
