"""Weight average, BatchNorm statistics and optimisers, by hand."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from smallloss.engine.networks import (
    Lookahead,
    Network,
    WeightAverage,
    build_optimiser,
    norm_biases,
    optimiser_tensors,
    recompute_batchnorm,
    set_batchnorm_momentum,
    set_rate,
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
    assert not any(p.requires_grad for p in average.network.module.parameters())
    assert all(p.requires_grad for p in live.module.parameters())
    live.module.mask[0] = 2
    average.copy_buffers()
    assert average.network.module.mask.tolist() == [[2] * 4, [1] * 4, [1] * 4]


def test_batchnorm_momentum_is_set_where_nobody_chose_one():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3, momentum=0.01), nn.BatchNorm1d(3, momentum=None))
    set_batchnorm_momentum(net, 0.001)
    assert [norm.momentum for norm in net] == [0.001, 0.01, None]


@pytest.mark.parametrize("decay_on", ["all", "kernels"])
@pytest.mark.parametrize("recipe", [SGD, replace(SGD, momentum=0.5), replace(SGD, nesterov=True), ADAM], ids=str)
def test_optimisers_by_hand(recipe, decay_on):
    """SGD: v ← μ v + g + wd w, a step of lr v, by Nesterov of lr (g + wd w + μ v). Adam as MixMatch has it, which first
    shrinks w by 1 - wd lr. Kernels alone decay, or all; the rate is read anew at every step."""
    net, rate, wd, mu = network(), torch.tensor(recipe.lr), recipe.weight_decay, recipe.momentum
    optimiser = build_optimiser(net.module.parameters(), replace(recipe, decay_on=decay_on), rate)
    state = {name: [p.detach().double(), 0.0, 0.0] for name, p in net.module.named_parameters()}
    for t, (lr, gradient) in enumerate([(0.1, 2.0), (0.01, -1.0), (0.5, 0.5)], 1):
        set_rate(optimiser, torch.tensor(lr))
        step(optimiser, net, gradient)
        for name, parameter in net.module.named_parameters():
            w, m, v = state[name]
            decay = wd if decay_on == "all" or parameter.ndim > 1 else 0.0
            if recipe.optimiser == "sgd":
                m = mu * m + gradient + decay * w
                w = w - lr * (gradient + decay * w + mu * m if recipe.nesterov else m)
            else:
                m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
                w = (1 - decay * lr) * w - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
            state[name] = [w, m, v]
            torch.testing.assert_close(parameter.detach().double(), w, rtol=1e-5, atol=1e-6)


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


@pytest.mark.parametrize("decay_on", ["all", "kernels"])
def test_biases_of_batchnorm_have_a_rate_of_their_own_and_decay_as_the_rest_do(decay_on):
    """By one step of SGD: the rate times the gradient, times 8; a decay of 8 lr wd / 8 is that of all."""
    net = network()
    recipe = replace(SGD, momentum=0.0, norm_rate=8.0, decay_on=decay_on)
    optimiser = build_optimiser(net.module.parameters(), recipe, torch.tensor(0.1), norm_biases([net]))
    with torch.no_grad():
        net.module[1].bias.fill_(3.0)
    before = {name: p.detach().clone() for name, p in net.module.named_parameters()}
    set_rate(optimiser, torch.tensor(0.2))
    step(optimiser, net, 1.0)
    for name, p in net.module.named_parameters():
        decay = 0.01 if decay_on == "all" or p.ndim > 1 else 0.0
        times = 8 if name == "1.bias" else 1
        torch.testing.assert_close(p.detach(), before[name] - 0.2 * (times + decay * before[name]))


def test_lookahead_by_hand():
    """Where it is due the average moves to the network and the network becomes it, statistics too."""
    net = network()
    ahead = Lookahead(net)
    start = {name: tensor.clone() for name, tensor in ahead.average.items()}
    assert "1.running_mean" in start
    assert "1.num_batches_tracked" not in start

    def live() -> dict[str, torch.Tensor]:
        return {name: tensor for name, tensor in net.state().items() if name in start}

    for tensor in live().values():
        tensor.add_(2.0)
    ahead.update(torch.tensor(-1.0))
    assert all(torch.equal(tensor, start[name]) for name, tensor in ahead.average.items())
    assert all(torch.equal(tensor, start[name] + 2) for name, tensor in live().items())
    ahead.update(torch.tensor(0.75))
    for name, tensor in live().items():
        torch.testing.assert_close(tensor, start[name] + 0.5)
        assert torch.equal(tensor, ahead.average[name])


def test_frozen_parameters_are_left_out():
    net = network()
    net.module[0].weight.requires_grad_(False)
    optimiser = build_optimiser(net.module.parameters(), SGD, torch.tensor(0.1))
    assert all(p is not net.module[0].weight for group in optimiser.param_groups for p in group["params"])
