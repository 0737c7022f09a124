"""What a network says of every example before its last layer, beside what it saw: features that answers teach by."""

from collections.abc import Iterator

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch.nn.functional import adaptive_avg_pool2d

from smallloss.engine.device import less_data, room
from smallloss.engine.networks import Network
from smallloss.engine.scoring import before_last, chunks
from smallloss.engine.task import Task
from smallloss.engine.views import Inputs

COMPONENTS = 64
LEARNT_FROM = 5000  # examples that the components are taken from
SIDE = 32  # pixels: a larger picture is seen at this size


def features(task: Task, network: Network) -> np.ndarray:
    """[n, at most 64] float16: principal components of the last layer's inputs and of the network's, in equal parts.

    Answers learn from whichever of the two tells more; where the network learnt the mistakes, that is what it saw.
    """
    n = len(task.dataset)
    some = np.sort(np.random.default_rng(0).permutation(n)[:LEARNT_FROM])
    with room("reading the last layer", less_data(resident=task.resident())):
        inputs = task.inputs(task.dataset)
        first = [np.concatenate(kind) for kind in zip(*_both(network, inputs, some), strict=True)]
        kinds = [Components(x) for x in first]
        parts = [
            np.concatenate([found.of(x) for found, x in zip(kinds, both, strict=True)], axis=1)
            for both in _both(network, inputs, np.arange(n))
        ]
    joined = np.concatenate(parts)
    return Components(joined[some]).of(joined).astype(np.float16)


class Components:
    """The first principal components of some examples; the very first has variance 1."""

    def __init__(self, x: np.ndarray) -> None:
        self._found = PCA(min(COMPONENTS, *x.shape), random_state=0, svd_solver="randomized").fit(x)
        spread = np.sqrt(self._found.explained_variance_)
        self._unit = max(float(spread[0]), 1e-12)
        self._told = spread > 1e-6 * self._unit

    def of(self, x: np.ndarray) -> np.ndarray:
        return self._found.transform(x)[:, self._told] / self._unit


def _both(network: Network, inputs: Inputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of some rows, a batch at a time: what the last layer is given, and what the network is."""
    network.module.eval()
    with torch.no_grad():
        for x, again in chunks(inputs, inputs.plain(rows)):
            small = adaptive_avg_pool2d(x, SIDE) if x.ndim == 4 and max(x.shape[2:]) > SIDE else x
            both = before_last(network.module, x), small.flatten(1).float()
            yield tuple(t[again:].cpu().numpy() for t in both)  # type: ignore[misc]
