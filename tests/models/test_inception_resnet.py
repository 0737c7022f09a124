import pytest
import torch

from smallloss.errors import InputError
from smallloss.models import build


@pytest.mark.parametrize("classes, parameters", [(1000, 55_843_464), (50, 54_383_314)])
def test_as_many_parameters_as_the_published_net(classes, parameters):
    with torch.device("meta"):
        net = build("inception-resnet-v2", classes=classes, in_shape=(3, 299, 299))
    assert sum(p.numel() for p in net.parameters()) == parameters


def test_the_sizes_along_the_way_are_those_of_the_paper():
    """299 pixels become 35, 17 and 8 before the average is taken."""
    with torch.device("meta"):
        net = build("inception-resnet-v2", classes=50, in_shape=(3, 299, 299))
        sizes, x = [], torch.empty(2, 3, 299, 299)
        for part in net.features:
            x = part(x)
            sizes.append(x.shape[-1])
    assert list(dict.fromkeys(sizes))[-3:] == [35, 17, 8]
    assert x.shape[1] == 1536


def test_small_pictures_are_refused():
    with pytest.raises(InputError, match=r"needs pictures of 75 pixels or more a side, not 32 x 32"):
        build("inception-resnet-v2", classes=2, in_shape=(3, 32, 32))
