import subprocess
import sys

import pytest
import torch
from torch import nn

from smallloss import models
from smallloss.errors import InputError


def count(net):
    return sum(parameter.numel() for parameter in net.parameters())


@pytest.mark.parametrize(
    "name, classes, expected",
    [
        ("wrn-28-2", 10, 1_467_610),
        ("wrn-28-2", 100, 1_479_220),
        ("preact-resnet-32", 10, 1_861_162),
        ("preact-resnet-18", 10, 11_172_170),
        ("resnet-9", 10, 6_573_120),
    ],
)
def test_parameter_counts(name, classes, expected):
    assert count(models.build(name, classes=classes, in_shape=(3, 32, 32))) == expected


SMALL = [name for name in models.names() if name != "inception-resnet-v2"]  # that one is for photos


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("in_shape", [(1, 8, 8), (3, 17, 32)])
def test_every_net_trains_on_any_picture_in_either_memory_format(name, in_shape):
    torch.manual_seed(0)
    net = models.build(name, classes=4, in_shape=in_shape)
    x = torch.randn(3, *in_shape)
    net(x.to(memory_format=torch.channels_last)).sum().backward()
    assert all(p.grad is not None for p in net.parameters() if p.requires_grad)
    net.eval()
    plain, last = net(x), net(x.to(memory_format=torch.channels_last))
    assert plain.shape == (3, 4)
    torch.testing.assert_close(plain, last, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_the_seed_decides_the_weights(name):
    def weights(seed):
        torch.manual_seed(seed)
        return torch.cat([p.flatten() for p in models.build(name, classes=3, in_shape=(1, 8, 8)).parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_mlp_takes_features_and_the_others_say_so():
    assert models.build("mlp", classes=3, in_shape=(5,))(torch.zeros(2, 5)).shape == (2, 3)
    with pytest.raises(InputError, match=r"wrn-28-2 needs pictures.*\(5,\).*use mlp"):
        models.build("wrn-28-2", classes=3, in_shape=(5,))


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match=r"'resnet'.*wrn-28-2, preact-resnet-32"):
        models.build("resnet", classes=2, in_shape=(3, 32, 32))


class Own(nn.Module):
    def __init__(self, outputs=3):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.linear = nn.Linear(4, outputs)

    def forward(self, x):
        return self.linear(self.norm(x))


@pytest.mark.parametrize(
    "net",
    [
        Own(),
        Own,
        lambda: Own(),
        lambda classes, in_shape: nn.Linear(in_shape[0], classes),
        lambda c, shape: nn.Linear(shape[0], c),
    ],
)
def test_own_modules_and_factories(net):
    assert models.build(net, classes=3, in_shape=(4,))(torch.zeros(2, 4)).shape == (2, 3)


def test_the_dry_run_changes_nothing():
    """Neither the network, nor what torch draws next."""
    net = nn.Sequential(Own(), nn.Dropout())
    generator = torch.random.get_rng_state()
    models.build(net, classes=3, in_shape=(4,))
    assert torch.equal(torch.random.get_rng_state(), generator)
    net = Own()
    net.norm.eval()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    assert models.build(net, classes=3, in_shape=(4,)) is net
    assert net.training
    assert not net.norm.training
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())


class Auxiliary(Own):
    def forward(self, x):
        logits = super().forward(x)
        return (logits, logits) if self.training else logits


class FailsInTraining(Own):
    def forward(self, x):
        if self.training:
            raise NotImplementedError("not yet\nand never")
        return super().forward(x)


@pytest.mark.parametrize(
    "net, sentence",
    [
        (Own(outputs=2), r"returns the shape \(1, 2\).*must return \(1, 3\)"),
        (nn.Linear(9, 3), r"does not accept an input of shape \(1, 4\)"),
        (nn.LSTM(4, 3), "returns a tuple; it must"),
        (Auxiliary(), "returns a tuple in train mode; it must return a tensor of logits"),
        (FailsInTraining(), r"does not accept an input of shape \(2, 4\) in train mode: not yet"),
        (nn.AdaptiveAvgPool1d(3), "cannot learn: its logits depend on no parameter"),
        (nn.Linear(4, 3).requires_grad_(False), "cannot learn: its logits depend on no parameter"),
        (lambda: "no net", "returned a str, not a torch module"),
        (lambda a, b, c: None, r"parameters \(a, b, c\)"),
        (7, "not a value of type int"),
    ],
)
def test_wrong_networks_are_refused_in_a_sentence(net, sentence):
    with pytest.raises(InputError, match=sentence):
        models.build(net, classes=3, in_shape=(4,))


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_a_module_that_cannot_be_copied_is_a_sentence_and_a_function_makes_it_anew():
    def make():
        return nn.utils.weight_norm(nn.Linear(4, 3))

    with pytest.raises(InputError, match=r"cannot be copied \(RuntimeError: Only Tensors.*give a function that makes"):
        models.copied(make())
    net = models.build(make, classes=3, in_shape=(4,))
    assert models.copied(net).train()(torch.zeros(2, 4)).requires_grad


def test_importing_the_registry_does_not_import_torch():
    code = "import sys, smallloss.models as m; m.names(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
