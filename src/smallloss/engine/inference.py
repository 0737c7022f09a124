"""A trained network on new examples, prepared as those it was trained on were."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from smallloss.data.arrays import as_array, from_arrays
from smallloss.data.dataset import Dataset
from smallloss.data.new_examples import Seen
from smallloss.engine.limits import less_data, room
from smallloss.engine.networks import Network
from smallloss.engine.scoring import probabilities
from smallloss.engine.task import Task
from smallloss.engine.views import PLAIN, Inputs, plain_views
from smallloss.errors import InputError


def predict_probabilities(network: Network, seen: Seen, X: Any) -> np.ndarray:
    """g(x) for each row of X, [n, c], in the order of the classes of `seen`."""
    array = as_array(X)
    if not seen.is_image and not seen.are_features(array):
        raise InputError(_wanted(array, seen))
    new = from_arrays(array, np.zeros(len(array), np.int64), name="new examples", white=seen.white)
    if new.in_shape != seen.in_shape:
        raise InputError(f"The new examples have the shape {new.in_shape}, those trained on {seen.in_shape}.")
    new = replace(new, normalisation=(seen.mean, seen.std))
    with room(f"predicting {len(new):,} new examples", "Give fewer of them at a time."):
        inputs = Inputs(new, network.device, PLAIN, resident=True)
        rows = torch.arange(len(new), device=network.device)
        return probabilities(network, inputs, plain_views(rows, 0)).double().cpu().numpy()


def outputs(task: Task, network: Network, dataset: Dataset, index: np.ndarray) -> np.ndarray:
    """g(x) for some rows of a dataset of the task: its own, or that of a check."""
    resident = task.resident()
    with room("predicting with the final network", less_data(resident=resident)):
        inputs = Inputs(dataset, task.device, PLAIN, resident=resident, workers=task.workers)
        rows = torch.from_numpy(np.asarray(index)).to(task.device)
        return probabilities(network, inputs, plain_views(rows, 0)).cpu().numpy()


def _wanted(X: np.ndarray, seen: Seen) -> str:
    """What the network takes, how the run got it, and what takes the user's own."""
    width = seen.in_shape[0]
    sentences = [
        f"The network sees {width:,} features of each example, and the new ones have the shape {X.shape}: "
        f"give [n, {width}], made as those trained on were.",
        *seen.notes,
    ]
    if seen.kind in ("text", "table"):
        sentences.append("`smallloss predict` makes them, of a file of new ones.")
    if seen.kind in ("text", "pictures"):
        what = "texts" if seen.kind == "text" else "pictures"
        sentences.append(f"A run with a backbone makes its features itself, and predicts {what} as they are.")
    return " ".join(sentences)
