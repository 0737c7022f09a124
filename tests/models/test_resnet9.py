import pytest
import torch

from smallloss.models.resnet9 import ConvNorm, ResNet9


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
