"""Algorithm 1, lines 3-4: every example's loss after an epoch, in eval mode, in large batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from smallloss.data.dataset import Dataset
from smallloss.engine.device import less_data, room
from smallloss.engine.networks import Network
from smallloss.engine.task import Task
from smallloss.engine.views import Inputs, Views

_CHUNK_VALUES = 3 << 21  # input values at a time: 2,048 pictures of 32 x 32 x 3


@dataclass
class Scores:
    """Per example, on the device."""

    loss: Tensor
    margin: Tensor
    probability: Tensor
    predicted: Tensor


@torch.no_grad()
def score(network: Network, inputs: Inputs, views: Views, labels: Tensor) -> Scores:
    """ℓ_CE(g(x), ỹ) by log-softmax (−log of a rounded softmax overflows), the margin z_ỹ − max_{k≠ỹ} z_k,
    the probability of the label, and the predicted class."""
    parts: list[tuple[Tensor, ...]] = []
    start = 0
    for logits in _logits(network, inputs, views):
        label = labels[start : start + len(logits)]
        start += len(logits)
        loss = (logits.logsumexp(1, keepdim=True) - logits.gather(1, label[:, None]))[:, 0]
        parts.append((loss, margin(logits, label), (-loss).exp(), logits.argmax(1)))
    return Scores(*(torch.cat(column) for column in zip(*parts, strict=True)))


def margin(logits: Tensor, label: Tensor) -> Tensor:
    """z_ỹ − max_{k≠ỹ} z_k of each example."""
    others = logits.scatter(1, label[:, None], -torch.inf).amax(1)
    return logits.gather(1, label[:, None])[:, 0] - others


@torch.no_grad()
def predict(network: Network, inputs: Inputs, views: Views, most: int = 1) -> Tensor:
    """The most probable classes of each view, the predicted one first."""
    ordered = (logits.argsort(dim=1, descending=True, stable=True) for logits in _logits(network, inputs, views))
    return torch.cat([classes[:, :most] for classes in ordered])


@torch.no_grad()
def probabilities(network: Network, inputs: Inputs, views: Views) -> Tensor:
    """g(x): the whole softmax output of each view."""
    return torch.cat([logits.softmax(1) for logits in _logits(network, inputs, views)])


def outputs(task: Task, network: Network, dataset: Dataset, index: np.ndarray) -> np.ndarray:
    """g(x) for some rows of a dataset of the task: its own, or that of a check."""
    with room("predicting with the final network", less_data(resident=task.resident())):
        inputs = task.inputs(dataset)
        return probabilities(network, inputs, inputs.plain(index)).cpu().numpy()


@torch.no_grad()
def features(network: Network, inputs: Inputs, views: Views) -> Tensor:
    """What the last layer is given of each view, flat."""
    with judging(network.module):
        return torch.cat([before_last(network.module, x)[again:] for x, again in chunks(inputs, views)])


def before_last(module: nn.Module, x: Tensor) -> Tensor:
    """What the last linear layer is given, flat; what the module says, where it has none or has called none."""
    given: list[Tensor] = []
    layers = [part for part in module.modules() if isinstance(part, nn.Linear)]
    hook = layers[-1].register_forward_pre_hook(lambda _, x: given.append(x[0].detach())) if layers else None
    try:
        said = module(x)
    finally:
        if hook is not None:
            hook.remove()
    return (given.pop() if given else said).flatten(1).float()


@contextmanager
def judging(module: nn.Module) -> Iterator[None]:
    """In eval mode, and then back in the mode it was in."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)


def _logits(network: Network, inputs: Inputs, views: Views) -> Iterator[Tensor]:
    with judging(network.module):
        for x, again in chunks(inputs, views):
            yield network(x)[again:]


def chunks(inputs: Inputs, views: Views) -> Iterator[tuple[Tensor, int]]:
    """What is seen, in large batches, and how many of a batch's first rows came with the batch before."""
    size = max(1, min(len(views), _CHUNK_VALUES // max(1, int(inputs.source[0].size))))
    starts = range(0, len(views), size)
    # Of what is held here the last chunk reaches back to be as long as the others: one shape, compiled once.
    begins = [min(start, len(views) - size) if inputs.resident else start for start in starts]
    seen = inputs.stream([views[begin : begin + size] for begin in begins])
    for start, begin, x in zip(starts, begins, seen, strict=True):
        yield x, start - begin
