"""A network as the engine runs it, its weight average, and its optimiser."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from smallloss.engine.recipe import Recipe
from smallloss.models.ensemble import Ensemble

_TORCH_MOMENTUM = 0.1  # of a BatchNorm that is given none


class Network:
    """A module on a device. In bf16, if it may, on the GPU only (on this kind of CPU it is 8-17 times slower)."""

    def __init__(self, module: nn.Module, device: torch.device, *, compiled: bool = False, half: bool = True) -> None:
        self.device, self.half = device, half
        _own_buffers(module)
        self.module = module.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if compiled:
            _allow_many_shapes()
        # dynamic=False: a second batch size must not turn the first one's code into a general, slower one.
        self._fast = torch.compile(self.module, dynamic=False) if compiled else self.module
        self.fast = True
        self._average: Network | None = None

    @property
    def teacher(self) -> "Network":
        """The average of its weights, or itself where there is none."""
        return self._average or self

    def __call__(self, x: Tensor) -> Tensor:
        run = self._fast if self.fast else self.module
        if self.device.type != "cuda" or not self.half:
            return run(x)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return run(x).float()

    def tensors(self) -> dict[str, Tensor]:
        """Weights and buffers; what else a module of the user's own saves is its own affair."""
        return {name: value for name, value in self.module.state_dict().items() if isinstance(value, Tensor)}

    def state(self) -> dict[str, Tensor]:
        """What a training changes: also the buffers that a module does not save with its weights."""
        return dict(self.module.named_buffers()) | self.tensors()


def ensemble(networks: Sequence[Network], *, mirror: bool = False) -> Network:
    """Networks that judge together as one, of mirror images too if asked; it has their very weights, not copies."""
    if len(networks) == 1 and not mirror:
        return networks[0]
    module = Ensemble((network.module for network in networks), mirror=mirror)
    return Network(module, networks[0].device, half=networks[0].half)


def _own_buffers(module: nn.Module) -> None:
    """An expanded buffer has one number in many places, and nothing can be copied into it: not by an average, nor out
    of a checkpoint."""
    for part in module.modules():
        for name, buffer in part.named_buffers(recurse=False):
            if 0 in buffer.stride():
                setattr(part, name, buffer.contiguous())


def _allow_many_shapes() -> None:
    """One process may train several stages: past its limit of versions torch would quietly stop compiling."""
    import torch._dynamo.config as config

    config.recompile_limit = max(config.recompile_limit, 64)


class WeightAverage:
    """Exponential moving average of the weights (MixMatch's EMA), updated inside the step."""

    def __init__(self, network: Network, decay: float, *, warmup: bool = False, compiled: bool = False) -> None:
        self.network = Network(copy.deepcopy(network.module), network.device, compiled=compiled, half=network.half)
        for parameter in self.network.module.parameters():
            parameter.requires_grad_(False)
        network._average = self.network
        self._source, self._decay, self._warmup = network, decay, warmup
        self._averaged, self._live = ([*one.module.parameters()] for one in (self.network, network))

    @torch.no_grad()
    def update(self, clock: Tensor) -> None:
        """v̄ ← v̄ + (1 − decay)(v − v̄); with warm-up the factor is at least 9 / (10 + t), so that a short run has
        an average of trained weights, not of its beginning. `clock` is t, on the device."""
        live = [p.detach() for p in self._live]
        if not self._warmup:
            torch._foreach_lerp_(self._averaged, live, 1 - self._decay)
            return
        factor = (9 / (10 + clock[0].float())).clamp(min=1 - self._decay)
        step = torch._foreach_sub(live, self._averaged)
        torch._foreach_mul_(step, factor)
        torch._foreach_add_(self._averaged, step)

    def copy_buffers(self) -> None:
        """The authors' way: the average of the weights with the live network's statistics."""
        for averaged, live in zip(self.network.module.buffers(), self._source.module.buffers(), strict=True):
            averaged.copy_(live)


class Lookahead:
    """Every k steps the weights are set to a running average of themselves (Zhang et al. 2019), inside the step."""

    def __init__(self, network: Network) -> None:
        # BatchNorm's statistics with them: they belong to the weights.
        state = {name: tensor for name, tensor in network.state().items() if tensor.is_floating_point()}
        self.average = {name: tensor.detach().clone() for name, tensor in state.items()}
        self._pairs = [(self.average[name], tensor.detach()) for name, tensor in state.items()]

    @torch.no_grad()
    def update(self, memory: Tensor) -> None:
        """v̄ ← v̄ + (1 − memory)(v − v̄), and then v ← v̄; neither where it is below 0. No value is looked at by the
        host, so that the step can be captured."""
        due = memory >= 0
        factor = torch.where(due, 1 - memory, 0.0)
        for average, live in self._pairs:
            average.lerp_(live, factor.to(live.dtype))
            live.copy_(torch.where(due, average, live))


@torch.no_grad()
def recompute_batchnorm(network: Network, batches: Iterable[Tensor]) -> None:
    """Take BatchNorm statistics afresh: those of the live network belong to other weights.

    Nothing else is in train mode meanwhile: what a module counts for itself stays as it is. Without BatchNorm no batch
    is asked for.
    """
    training, fast = network.module.training, network.fast
    network.module.train()
    # A network that keeps some of them in eval mode has frozen those.
    norms = [norm for norm in batchnorms(network.module) if norm.training and norm.track_running_stats]
    network.module.train(training)
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    network.module.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain mean over the batches
        norm.train()
    network.fast = False  # a mean over all batches counts them in Python, which a compiler cannot follow
    for batch in batches:
        network(batch)
    network.fast = fast
    network.module.train(training)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum


def set_batchnorm_momentum(module: nn.Module, momentum: float) -> None:
    """Where nobody chose one: a layer with another momentum than torch gives it keeps that."""
    for layer in batchnorms(module):
        if layer.momentum == _TORCH_MOMENTUM:
            layer.momentum = momentum


def batchnorms(module: nn.Module) -> list[nn.modules.batchnorm._BatchNorm]:
    return [layer for layer in module.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)]


def may_draw(module: nn.Module) -> bool:
    """Ours draw nothing in a step; a module of the user's own may, in ways that cannot be seen (dropout in forward)."""
    return not type(module).__module__.startswith("smallloss.")


def norm_biases(networks: Iterable[Network]) -> list[Tensor]:
    """What learns by the rate of its own that a recipe may have for them."""
    return [norm.bias for network in networks for norm in batchnorms(network.module) if norm.bias is not None]


def build_optimiser(
    parameters: Iterable[Tensor], recipe: Recipe, rate: Tensor, biases: Iterable[Tensor] = ()
) -> torch.optim.Optimizer:
    """SGD, or Adam with decoupled decay (MixMatch's v <- v (1 - wd lr)). The rate is a tensor, so that a
    captured step reads it anew each time; the state exists from the start, so that it can be put back. Where the
    decay comes last in a step, it is left to `shrink`. `biases` are those of BatchNorm."""
    parameters = [p for p in parameters if p.requires_grad]
    quick = {id(bias) for bias in biases} if recipe.norm_rate != 1 else set()

    def group(of: Iterable[Tensor], decay: float, times: float = 1.0) -> dict[str, Any]:
        own, shrink = (0.0, decay) if recipe.decay_last else (decay, 0.0)
        return {"params": [*of], "lr": rate * times, "times": times, "weight_decay": own, "shrink": shrink}

    decays = {id(p) for p in parameters if recipe.decay_on == "all" or p.ndim > 1}
    decayed = [p for p in parameters if id(p) in decays - quick]
    spared = [p for p in parameters if id(p) not in decays | quick]
    groups = [group(decayed, recipe.weight_decay)]
    groups += [group(spared, 0.0)] if spared else []
    if quick:
        decay = recipe.weight_decay / recipe.norm_rate if recipe.decay_on == "all" else 0.0
        groups.append(group((p for p in parameters if id(p) in quick), decay, recipe.norm_rate))
    on_gpu = rate.device.type == "cuda"
    fast: dict[str, Any] = {"fused": True} if on_gpu else {"foreach": False}
    if recipe.optimiser == "sgd":
        optimiser: torch.optim.Optimizer = torch.optim.SGD(
            groups, lr=rate, momentum=recipe.momentum, nesterov=recipe.nesterov, **fast
        )
        for parameter in parameters:
            optimiser.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    else:
        optimiser = torch.optim.AdamW(groups, lr=rate, capturable=on_gpu, **fast)
        for parameter in parameters:
            optimiser.state[parameter] = {
                "step": torch.zeros((), device=rate.device if on_gpu else "cpu"),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
    return optimiser


def set_rate(optimiser: torch.optim.Optimizer, rate: Tensor) -> None:
    """For the next step, on the device."""
    for group in optimiser.param_groups:
        group["lr"].copy_(rate * group["times"])


@torch.no_grad()
def shrink(optimiser: torch.optim.Optimizer) -> None:
    """v <- v (1 - wd lr) as the authors' MixMatch has it: when the step is done and the average has taken it in."""
    for group in optimiser.param_groups:
        if group["shrink"]:
            torch._foreach_mul_(group["params"], 1 - group["shrink"] * group["lr"])


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as plain named tensors: nothing here ever needs pickle."""
    parameters = (p for group in optimiser.param_groups for p in group["params"])
    return {
        f"{number}.{name}": value
        for number, parameter in enumerate(parameters)
        for name, value in optimiser.state[parameter].items()
        if isinstance(value, Tensor)
    }
