import math

import pytest
import torch

from smallloss.models.preact_resnet import PreActResNet18, PreActResNet32


@pytest.mark.parametrize("make, projected, blocks", [(PreActResNet32, [0, 5, 10], 15), (PreActResNet18, [2, 4, 6], 8)])
def test_where_the_shortcut_is_projected(make, projected, blocks):
    net = make(10, (3, 32, 32))
    assert len(net.blocks) == blocks
    assert [i for i, block in enumerate(net.blocks) if block.projection is not None] == projected


def test_the_projection_sees_the_activated_input():
    block = PreActResNet32(10, (3, 32, 32)).blocks[0].eval()
    torch.nn.init.zeros_(block.conv2.weight)
    x = torch.randn(1, 32, 4, 4)
    torch.testing.assert_close(block(x), block.projection(torch.relu(block.norm1(x))))


def test_he_normal():
    torch.manual_seed(0)
    conv = PreActResNet32(10, (3, 32, 32)).blocks[-1].conv1.weight
    assert math.isclose(conv.std().item(), math.sqrt(2 / (9 * 128)), rel_tol=0.02)


@pytest.mark.parametrize("make, sizes", [(PreActResNet32, [16, 8, 4]), (PreActResNet18, [16, 8, 4, 2])])
def test_every_stage_after_the_first_halves_the_picture(make, sizes):
    net = make(10, (3, 16, 16)).eval()
    x = net.stem(torch.randn(1, 3, 16, 16))
    seen = []
    with torch.no_grad():
        for block in net.blocks:
            x = block(x)
            seen.append(x.shape[-1])
    per_stage = len(seen) // len(sizes)
    assert seen == [size for size in sizes for _ in range(per_stage)]
    assert x.shape[1:] == (net.head.in_features, sizes[-1], sizes[-1])
