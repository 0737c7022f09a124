"""The engine beside the paper's algorithm as examples/algorithm_1.py spells it out: the same numbers."""

import copy
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import smallloss as sl

PATH = Path(__file__).parents[1] / "examples" / "algorithm_1.py"
E = 10


class Watched(nn.Module):
    """A network that writes down which examples each step shows it: the first feature is the example's number."""

    seen: dict[int, list[Tensor]]  # network -> its steps; a copy, which is what a stage trains, is another network

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x: Tensor) -> Tensor:
        if self.training and torch.is_grad_enabled():
            Watched.seen.setdefault(id(self), []).append(x[:, 0].clone())
        return self.layers(x[:, 1:])


@pytest.fixture(scope="module")
def twin() -> Any:
    return SimpleNamespace(**runpy.run_path(str(PATH)))


@pytest.fixture(scope="module")
def data() -> Any:
    """500 digits as features, a third of the labels of 4, 7 and 9 replaced: classes of different size and noise."""
    digits = sl.load("digits")
    rows = np.sort(np.random.default_rng(3).permutation(len(digits))[:500])
    truth = digits.labels[rows]
    T = np.eye(10)
    for i, j in ((4, 9), (9, 4), (7, 1)):
        T[i, i], T[i, j] = 0.65, 0.35
    x = digits.inputs[rows].reshape(len(rows), -1).astype(np.float32) / 255
    return np.column_stack([np.arange(len(rows), dtype=np.float32), x]), sl.corrupt(truth, T, seed=1), truth


@pytest.fixture(scope="module")
def runs(twin: Any, data: Any) -> Any:
    """(what the engine did, what the twin did from the same weights, in the same order)."""
    x, labels, truth = data
    Watched.seen = {}
    torch.manual_seed(0)
    network = Watched(64, 10)
    eta = {k: float(np.mean(truth[labels == k] != k)) for k in range(10)}
    prior = np.bincount(truth) / len(truth)
    dataset = sl.Dataset(x, labels, tuple("0123456789"), normalisation=([0.0] * 65, [1.0] * 65))
    ours = sl.clean(
        dataset, preset="paper", net=copy.deepcopy(network), epochs=E, method="rsl", device="cpu", noise_rate=eta,
        prior=prior, seed=5,
        settings={f"{stage}.{name}": value for stage in ("stage1", "rsl")
                  for name, value in {"batchnorm_momentum": 0.1, "weight_decay": 5e-4}.items()},
    )  # fmt: skip

    rows = ours.result.parts[0].index
    trained = [torch.cat(steps).long().numpy().reshape(E, -1) for steps in Watched.seen.values() if len(steps) >= E]
    first, second = copy.deepcopy(network), copy.deepcopy(network)
    inputs, given = torch.from_numpy(x), torch.from_numpy(labels)
    recorded = twin.train(first, inputs[rows], given[rows], E, lambda t: torch.from_numpy(place(rows, trained[0][t])))
    D_sel = rows[twin.select(np.mean(recorded, axis=0), labels[rows], np.array(list(eta.values())), prior)]
    twin.train(second, inputs[D_sel], given[D_sel], E, lambda t: torch.from_numpy(place(D_sel, trained[1][t])))
    return ours, recorded, D_sel, second, inputs


def place(rows: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Positions in `rows`, each of which an epoch shows exactly once."""
    assert sorted(order.tolist()) == rows.tolist()
    return np.searchsorted(rows, order)


def test_every_epoch_leaves_the_same_losses(runs):
    ours, recorded, *_ = runs
    rows = ours.result.parts[0].index
    curves = np.array(ours.learned.stages["stage1"].ledger.curves.rows)[:, rows]
    np.testing.assert_allclose(curves, recorded, rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(ours.learned.ledger.mean_loss[rows], np.mean(recorded, axis=0), rtol=1e-4)


def test_the_same_examples_are_selected(runs):
    ours, _, D_sel, *_ = runs
    part = ours.result.parts[0]
    assert part.index[part.selection.mask].tolist() == D_sel.tolist()
    assert 0 < len(D_sel) < len(part.index)


def test_what_learns_from_them_predicts_the_same(runs):
    ours, _, _, network, inputs = runs
    with torch.no_grad():
        expected = network.eval()(inputs).softmax(1).numpy()
        found = ours.learned.fitted.network.module.eval()(inputs).softmax(1).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-3)
