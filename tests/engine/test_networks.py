"""Weight average, BatchNorm statistics and optimisers, by hand."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from smallloss.engine.networks import (
    Network,
    WeightAverage,
    build_optimiser,
    optimiser_tensors,
    recompute_batchnorm,
    set_batchnorm_momentum,
)
from smallloss.engine.recipe import Recipe

CPU = torch.device("cpu")
SGD = Recipe(optimiser="sgd", lr=0.1, momentum=0.9, weight_decay=0.01, schedule="constant")
ADAM = replace(SGD, optimiser="adam", lr=0.002, weight_decay=0.02)


def network(seed: int = 0) -> Network:
    torch.manual_seed(seed)
    return Network(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)), CPU)


def step(optimiser: torch.optim.Optimizer, net: Network, gradient: float) -> None:
    for parameter in net.module.parameters():
        parameter.grad = torch.full_like(parameter, gradient)
    optimiser.step()


def test_weight_average_by_hand():
    live = network()
    average = WeightAverage(live, decay=0.9)
    expected = [p.detach().clone() for p in live.module.parameters()]
    for _ in range(3):
        with torch.no_grad():
            for parameter in live.module.parameters():
                parameter.add_(1)
        average.update(torch.zeros(1))
        expected = [0.9 * e + 0.1 * p.detach() for e, p in zip(expected, live.module.parameters(), strict=True)]
    for e, p in zip(expected, average.network.module.parameters(), strict=True):
        torch.testing.assert_close(p, e)
        assert not p.requires_grad
    assert all(p.requires_grad for p in live.module.parameters())


def test_copied_buffers_are_those_of_the_live_network():
    live = network()
    average = WeightAverage(live, decay=0.9)
    live.module.train()
    live(torch.randn(8, 4))
    average.copy_buffers()
    for averaged, buffer in zip(average.network.module.buffers(), live.module.buffers(), strict=True):
        assert torch.equal(averaged, buffer)


def test_recompute_batchnorm_is_the_mean_over_the_batches():
    net = network()
    net.module.eval()
    batches = [torch.randn(16, 4), 3 + torch.randn(16, 4), torch.randn(5, 4)]
    before = [p.detach().clone() for p in net.module.parameters()]
    recompute_batchnorm(net, batches)
    with torch.no_grad():
        hidden = [net.module[0](batch) for batch in batches]
    norm = net.module[1]
    torch.testing.assert_close(norm.running_mean, torch.stack([h.mean(0) for h in hidden]).mean(0))
    torch.testing.assert_close(norm.running_var, torch.stack([h.var(0, correction=1) for h in hidden]).mean(0))
    assert norm.momentum == 0.1
    assert not net.module.training
    assert all(torch.equal(b, p) for b, p in zip(before, net.module.parameters(), strict=True))


def test_recomputing_asks_for_no_batch_where_there_is_no_batchnorm():
    def batches():
        raise AssertionError("a batch was asked for")
        yield

    recompute_batchnorm(Network(nn.Linear(4, 2), CPU), batches())


def test_recomputing_touches_nothing_but_batchnorm_that_learns():
    """Not what a module counts for itself, not frozen statistics; and nothing is drawn."""

    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))
            self.norm, self.frozen, self.drop = nn.BatchNorm1d(4), nn.BatchNorm1d(4), nn.Dropout(0.5)

        def train(self, mode: bool = True):
            super().train(mode)
            self.frozen.eval()
            return self

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen += self.training
            return self.norm(self.drop(self.frozen(x)))

    net = Network(Counts(), CPU)
    before, generator = copy.deepcopy(net.module.state_dict()), torch.random.get_rng_state()
    recompute_batchnorm(net, [5 + torch.arange(12.0).view(3, 4)])
    changed = {name for name, value in net.module.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}
    assert torch.equal(torch.random.get_rng_state(), generator)
    assert [norm.training for norm in (net.module.norm, net.module.frozen)] == [True, False]


def test_an_expanded_buffer_can_be_copied_into():
    module = nn.Linear(4, 2)
    module.register_buffer("mask", torch.ones(4).expand(3, 4))
    live = Network(module, CPU)
    average = WeightAverage(live, decay=0.9)
    live.module.mask[0] = 2
    average.copy_buffers()
    assert average.network.module.mask.tolist() == [[2] * 4, [1] * 4, [1] * 4]


def test_batchnorm_momentum_is_set_where_nobody_chose_one():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3, momentum=0.01), nn.BatchNorm1d(3, momentum=None))
    set_batchnorm_momentum(net, 0.001)
    assert [norm.momentum for norm in net] == [0.001, 0.01, None]


@pytest.mark.parametrize("recipe", [SGD, ADAM])
def test_decay_on_kernels_only_leaves_batchnorm_and_biases_alone(recipe):
    net = network()
    before = copy.deepcopy(dict(net.module.named_parameters()))
    step(
        build_optimiser(net.module.parameters(), replace(recipe, decay_on="kernels"), torch.tensor(recipe.lr)), net, 0.0
    )
    for name, parameter in net.module.named_parameters():
        assert torch.equal(parameter, before[name]) == (parameter.ndim == 1), name


@pytest.mark.parametrize("decay_on", ["all", "kernels"])
def test_adam_decays_by_one_minus_wd_times_lr(decay_on):
    """MixMatch's v <- v (1 - wd lr): with no gradient it is all that happens."""
    net = network()
    before = copy.deepcopy(dict(net.module.named_parameters()))
    optimiser = build_optimiser(net.module.parameters(), replace(ADAM, decay_on=decay_on), torch.tensor(0.002))
    for _ in range(3):
        step(optimiser, net, 0.0)
    for name, parameter in net.module.named_parameters():
        factor = (1 - 0.02 * 0.002) ** 3 if decay_on == "all" or parameter.ndim > 1 else 1
        torch.testing.assert_close(parameter.detach(), before[name].detach() * factor, rtol=1e-6, atol=0)


def test_sgd_by_hand():
    """v <- 0.9 v + (g + wd w); w <- w - lr v. The rate is read anew at every step."""
    net = network()
    rate = torch.tensor(0.1)
    optimiser = build_optimiser(net.module.parameters(), SGD, rate)
    w, v = net.module[0].weight.detach().clone(), torch.zeros(3, 4)
    for lr in (0.1, 0.01, 0.5):
        rate.fill_(lr)
        step(optimiser, net, 2.0)
        v = 0.9 * v + (2.0 + 0.01 * w)
        w = w - lr * v
    torch.testing.assert_close(net.module[0].weight.detach(), w)


@pytest.mark.parametrize("recipe", [SGD, replace(SGD, nesterov=True), ADAM, replace(ADAM, decay_on="kernels")])
def test_optimiser_tensors_are_the_whole_state(recipe):
    """Copied into a fresh optimiser in place, they make it go on exactly as the first one would."""
    first, second = network(), network()
    one, other = (build_optimiser(net.module.parameters(), recipe, torch.tensor(0.05)) for net in (first, second))
    names = optimiser_tensors(other).keys()
    for gradient in (1.0, -2.0):
        step(one, first, gradient)
    assert optimiser_tensors(one).keys() == names  # there from the start: nothing appears at the first step
    with torch.no_grad():
        for name, tensor in optimiser_tensors(other).items():
            tensor.copy_(optimiser_tensors(one)[name])
        for target, source in zip(second.module.parameters(), first.module.parameters(), strict=True):
            target.copy_(source)
    for net, optimiser in ((first, one), (second, other)):
        step(optimiser, net, 0.5)
    for left, right in zip(first.module.parameters(), second.module.parameters(), strict=True):
        assert torch.equal(left, right)


def test_frozen_parameters_are_left_out():
    net = network()
    net.module[0].weight.requires_grad_(False)
    optimiser = build_optimiser(net.module.parameters(), SGD, torch.tensor(0.1))
    assert all(p is not net.module[0].weight for group in optimiser.param_groups for p in group["params"])
