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
