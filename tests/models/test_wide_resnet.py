import math

import torch
from torch import nn

from smallloss.models.wide_resnet import Block, WideResNet28x2


def test_initialisation():
    torch.manual_seed(0)
    net = WideResNet28x2(100, (3, 32, 32))
    conv = net.blocks[-1].conv2.weight
    assert math.isclose(conv.std().item(), math.sqrt(2 / (9 * 128)), rel_tol=0.02)
    assert math.isclose(net.head.weight.std().item(), math.sqrt(2 / (128 + 100)), rel_tol=0.03)
    assert net.head.bias.abs().sum() == 0
    widening = net.blocks[8].conv1.weight  # 64 channels to 128: what counts is those that come out
    assert math.isclose(widening.std().item(), math.sqrt(2 / (9 * 128)), rel_tol=0.02)
    assert all(m.bias is None for m in net.modules() if isinstance(m, nn.Conv2d))
    norms = [m for m in net.modules() if isinstance(m, nn.BatchNorm2d)]
    assert len(norms) == 25
    assert {(m.momentum, m.eps) for m in norms} == {(0.1, 1e-5)}  # torch's, so that a recipe may set the first


def silent(block):
    """The block with its residual path silenced: what is left is the shortcut."""
    nn.init.zeros_(block.conv2.weight)
    return block.eval()


def test_only_the_first_block_activates_its_shortcut():
    net = WideResNet28x2(10, (3, 32, 32))
    assert [block.activate_shortcut for block in net.blocks] == [True] + [False] * 11
    x = torch.randn(1, 16, 4, 4)
    first, later = (silent(Block(16, 16, 1, activate_shortcut=flag)) for flag in (True, False))
    torch.testing.assert_close(later(x), x)
    torch.testing.assert_close(first(x), nn.functional.leaky_relu(x, 0.1), rtol=1e-4, atol=1e-4)


def test_the_residual_path_always_starts_from_the_activated_input():
    torch.manual_seed(0)
    block = Block(16, 32, 2, activate_shortcut=False).eval()
    nn.init.zeros_(block.shortcut.weight)
    activated = nn.functional.leaky_relu(block.norm1(torch.ones(1, 16, 4, 4) * -1), 0.1)
    expected = block.conv2(nn.functional.leaky_relu(block.norm2(block.conv1(activated)), 0.1))
    torch.testing.assert_close(block(-torch.ones(1, 16, 4, 4)), expected)


def test_strides_and_widths():
    net = WideResNet28x2(10, (3, 32, 32))
    assert [block.conv1.stride[0] for block in net.blocks] == [1, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1]
    assert [block.conv1.out_channels for block in net.blocks] == [32] * 4 + [64] * 4 + [128] * 4
