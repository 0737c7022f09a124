"""A trained network on new examples, prepared as those it was trained on were."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from smallloss.data.arrays import as_array, from_arrays
from smallloss.data.dataset import Dataset
from smallloss.errors import InputError
from smallloss.learning.networks import Network
from smallloss.learning.scoring import probabilities
from smallloss.learning.views import PLAIN, Inputs, plain_views


def predict_probabilities(network: Network, seen: Dataset, X: Any) -> np.ndarray:
    """g(x) for each row of X, [n, c], in the order of the classes of `seen`."""
    array = as_array(X)
    if not seen.is_image and not are_features(array, seen):
        raise InputError(_wanted(array, seen))
    new = from_arrays(array, np.zeros(len(array), np.int64), name="new examples", white=seen.white)
    if new.in_shape != seen.in_shape:
        raise InputError(f"The new examples have the shape {new.in_shape}, those trained on {seen.in_shape}.")
    new = replace(new, normalisation=(seen.mean.tolist(), seen.std.tolist()))
    inputs = Inputs(new, network.device, PLAIN, resident=True)
    rows = torch.arange(len(new), device=network.device)
    return probabilities(network, inputs, plain_views(rows, 0)).double().cpu().numpy()


def are_features(X: np.ndarray, seen: Dataset) -> bool:
    """Is it what a network that sees the features of `seen` takes?"""
    return X.dtype.kind in "buif" and X.shape[1:] == seen.in_shape


def _wanted(X: np.ndarray, seen: Dataset) -> str:
    """What the network takes, how the run got it, and what takes the user's own."""
    width = seen.in_shape[0]
    sentences = [
        f"The network sees {width:,} features of each example, and the new ones have the shape {X.shape}: "
        f"give [n, {width}], made as those trained on were.",
        *(seen.notes if seen.original is None else seen.notes[-1:]),
    ]
    if seen.kind in ("pictures", "text"):
        what = "texts" if seen.kind == "text" else "pictures"
        sentences.append(f"A run with a backbone makes its features itself, and predicts {what} as they are.")
    return " ".join(sentences)
