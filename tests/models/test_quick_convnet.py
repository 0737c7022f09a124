import pytest
import torch

from smallloss import models
from smallloss.errors import InputError
from smallloss.models.quick_convnet import Group, QuickConvNet, whitening_filters


def test_filters_by_hand():
    """Two pictures of one patch each: second moments 2 and 1/2 for two of its values, nothing in the others."""
    pictures = torch.tensor([[[[2.0, 0], [0, 0]]], [[[0, 1.0], [0, 0]]]])
    first, second = (moment + 5e-4 for moment in (2.0, 0.5))
    half = torch.zeros(4, 1, 2, 2)
    half[0, 0, 0, 0], half[1, 0, 0, 1] = first**-0.5, second**-0.5
    torch.testing.assert_close(whitening_filters(pictures), torch.cat([half, -half]))


def test_whitened_patches_have_equal_size_and_say_different_things():
    torch.manual_seed(0)
    pictures = torch.nn.functional.avg_pool2d(torch.randn(600, 3, 20, 20), 3, stride=1)  # neighbours are alike
    seen = torch.nn.functional.conv2d(pictures, whitening_filters(pictures))
    assert seen.shape[1] == 24
    patches = seen[:, :12].transpose(0, 1).flatten(1)
    torch.testing.assert_close(patches @ patches.T / patches.shape[1], torch.eye(12), atol=0.05, rtol=0)
    torch.testing.assert_close(seen[:, 12:], -seen[:, :12])


def test_colours_of_a_gray_picture_hold_nothing():
    gray = torch.randn(50, 1, 6, 6).expand(-1, 3, -1, -1)
    sizes = whitening_filters(gray).flatten(1).norm(dim=1)
    assert (sizes[[0, 1, 2, 3, 12, 13, 14, 15]] > 0).all()
    assert (sizes[[4, 5, 6, 7, 8, 9, 10, 11]] == 0).all()


def test_constant_pictures_train_without_nan():
    net = models.build("quick-convnet:4-8-8", classes=3, in_shape=(1, 8, 8))
    net.whiten(torch.zeros(5, 1, 8, 8))
    assert not net.filters.any()
    net(torch.zeros(5, 1, 8, 8)).sum().backward()
    gradients = [p.grad for p in net.parameters() if p.requires_grad]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("channels", [1, 3, 13])
@pytest.mark.parametrize("size", [(2, 2), (2, 9), (8, 8), (28, 28), (33, 17), (64, 64)], ids=str)
@pytest.mark.parametrize("name", ["quick-convnet:4-4-4", "quick-small"])
def test_pictures_of_any_size_and_channels(name, channels, size):
    net = models.build(name, classes=5, in_shape=(channels, *size))
    pictures = torch.randn(4, channels, *size)
    net.whiten(pictures)
    logits = net(pictures)
    assert logits.shape == (4, 5)
    assert logits.isfinite().all()


@pytest.mark.parametrize("size, left", [(32, 3), (28, 3), (8, 1), (2, 1)])
def test_poolings_leave_at_least_a_pixel_and_round_down_where_there_are_many(size, left):
    net = QuickConvNet(10, (1, size, size), (4, 4, 4))
    assert net.groups(torch.zeros(2, 8, size - 1, size - 1)).shape == (2, 4, left, left)


def test_a_picture_of_one_pixel_is_refused():
    with pytest.raises(InputError, match="needs pictures of 2 x 2 pixels or more, not 1 x 9; use mlp"):
        models.build("quick-convnet", classes=2, in_shape=(3, 1, 9))


def test_only_the_narrow_one_makes_large_pictures_small():
    assert models.build("quick-small", classes=2, in_shape=(3, 96, 96)).shrinks
    assert not models.build("quick-small", classes=2, in_shape=(3, 48, 48)).shrinks
    assert not models.build("quick-convnet:4-4-4", classes=2, in_shape=(3, 96, 96)).shrinks


def test_a_group_is_what_its_docstring_says():
    torch.manual_seed(0)
    group = Group(3, 5, round_up=False).eval()
    x = torch.randn(2, 3, 8, 8)
    norm = [lambda z, n=n: z / (n.running_var[0] + n.eps) ** 0.5 + n.bias.view(-1, 1, 1) for n in group.norms]
    gelu, conv = torch.nn.functional.gelu, group.convs
    start = gelu(norm[0](torch.nn.functional.max_pool2d(conv[0](x), 2)))
    torch.testing.assert_close(group(x), gelu(start + norm[2](conv[2](gelu(norm[1](conv[1](start)))))))


def test_convolutions_start_as_identities_and_norms_learn_a_bias_only():
    group = Group(3, 5, round_up=False)
    x = torch.randn(2, 3, 6, 6)
    torch.testing.assert_close(group.convs[0](x)[:, :3], x)
    learnt = {
        name.split(".")[-1] for name, p in group.named_parameters() if name.startswith("norms") and p.requires_grad
    }
    assert learnt == {"bias"}


def test_the_whitening_travels_with_the_weights():
    net, other = (models.build("quick-small:4-4", classes=2, in_shape=(1, 8, 8)) for _ in range(2))
    net.whiten(torch.randn(20, 1, 8, 8))
    other.load_state_dict(net.state_dict())
    x = torch.randn(3, 1, 8, 8)
    torch.testing.assert_close(net.eval()(x), other.eval()(x))


def test_widths_are_a_part_of_the_name():
    net = models.build("quick-convnet:6-7", classes=2, in_shape=(1, 8, 8))
    assert [group.norms[0].num_features for group in net.groups] == [6, 7]
    with pytest.raises(InputError, match="give a whole number from 1 for each width, as in quick-small:32-64-128"):
        models.build("quick-small:32-x", classes=2, in_shape=(1, 8, 8))
    with pytest.raises(InputError, match="wrn-28-2 has no widths to choose; those of quick-convnet and quick-small"):
        models.build("wrn-28-2:32", classes=2, in_shape=(1, 8, 8))
