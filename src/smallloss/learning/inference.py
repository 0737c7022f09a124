"""A trained network on new examples, prepared as those it was trained on were."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from smallloss.data.arrays import from_arrays
from smallloss.data.dataset import Dataset
from smallloss.errors import InputError
from smallloss.learning.networks import Network
from smallloss.learning.scoring import probabilities
from smallloss.learning.views import PLAIN, Inputs, plain_views


def predict_probabilities(network: Network, seen: Dataset, X: Any) -> np.ndarray:
    """g(x) for each row of X, [n, c], in the order of the classes of `seen`."""
    new = from_arrays(np.asarray(X), np.zeros(len(X), np.int64), name="new examples")
    if new.in_shape != seen.in_shape:
        raise InputError(f"The new examples have the shape {new.in_shape}, those trained on {seen.in_shape}.")
    new = replace(new, normalisation=(seen.mean.tolist(), seen.std.tolist()))
    inputs = Inputs(new, network.device, PLAIN, resident=True)
    rows = torch.arange(len(new), device=network.device)
    return probabilities(network, inputs, plain_views(rows, 0)).double().cpu().numpy()
