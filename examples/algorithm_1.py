"""RSL as the paper prints it (Algorithm 1), in numpy and plain torch: slow, clear, and what the engine is held to.

python examples/algorithm_1.py
"""

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn


def one_epoch(network: nn.Module, optimiser: torch.optim.Optimizer, x: Tensor, y: Tensor, order: Tensor) -> None:
    """Line 2: one pass over the examples, 128 at a time."""
    network.train()
    for rows in order.split(128):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
        optimiser.step()


@torch.no_grad()
def losses(network: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """Lines 3-4: each example's loss, by the network as it would predict."""
    return nn.functional.cross_entropy(network.eval()(x), y, reduction="none").double().numpy()


def train(network: nn.Module, x: Tensor, y: Tensor, E: int, order: Callable[[int], Tensor]) -> list[np.ndarray]:
    """Lines 1-5: E epochs, and the losses after each; the authors' rate is .1, times .02 at 30, 60 and 80 %."""
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    drops = torch.optim.lr_scheduler.MultiStepLR(optimiser, [3 * E // 10, 6 * E // 10, 8 * E // 10], gamma=0.02)
    recorded = []
    for t in range(E):
        one_epoch(network, optimiser, x, y, order(t))
        recorded.append(losses(network, x, y))
        drops.step()
    return recorded


def numbers(n: np.ndarray, eta: np.ndarray, p: np.ndarray, beta: float = 0.2) -> np.ndarray:
    """Line 11: num(i) by Eq. 2, with gamma half-way between gamma_0 = 1 and gamma_1."""
    prop = np.maximum(1 - (1 + beta) * eta, (1 - beta) * (1 - eta))
    m = (prop * n / p).min()
    gamma = (1 + (prop * n / (p * m)).max()) / 2
    return np.minimum(gamma * p * m, prop * n).astype(int)


def select(mean_loss: np.ndarray, y: np.ndarray, eta: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Lines 8-14: class by class, the num(i) examples with the smallest mean loss."""
    num, kept = numbers(np.bincount(y, minlength=len(p)), eta, p), []
    for i in range(len(p)):
        D_i = np.flatnonzero(y == i)
        ranked = D_i[np.argsort(mean_loss[D_i], kind="stable")]
        kept.append(ranked[: num[i]])
    return np.sort(np.concatenate(kept))


if __name__ == "__main__":
    import smallloss as sl  # for data and noise alone

    digits, E = sl.load("digits"), 30
    T = 0.6 * np.eye(10) + 0.4 * np.roll(np.eye(10), 1, axis=1)  # pairwise noise, .4
    truth, labels = digits.labels, sl.corrupt(digits.labels, T, seed=0)
    eta = np.array([np.mean(truth[labels == i] != i) for i in range(10)])  # wrong among those that carry label i
    x, y = torch.from_numpy(digits.inputs).reshape(len(truth), -1) / 255, torch.from_numpy(labels)

    torch.manual_seed(0)
    first = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10))
    last = copy.deepcopy(first)
    mean_loss = np.mean(train(first, x, y, E, lambda t: torch.randperm(len(y))), axis=0)  # lines 6-7
    D_sel = select(mean_loss, labels, eta, np.bincount(truth) / len(truth))
    train(last, x[D_sel], y[D_sel], E, lambda t: torch.randperm(len(D_sel)))  # line 15

    right = 100 * (labels == truth)
    print(f"Right labels: {right.mean():.1f} % of all, {right[D_sel].mean():.1f} % of the {len(D_sel)} selected.")
    for name, network in (("all labels", first), ("the selected", last)):
        print(f"Trained on {name}: {100 * np.mean(network.eval()(x).argmax(1).numpy() == truth):.1f} % right.")
