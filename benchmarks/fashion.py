"""Fashion-MNIST with noisy labels and two-fold probabilities, cell by cell, on a CPU.

Cells are KIND:R as in `smallloss corrupt` and none, instance:R (part-dependent noise), hard:R (the harder an example
is for a network that knows the truth, the likelier it is wrong) and soft:R (labels drawn from that network's hedged
opinion). The network is small: random filters, then one hidden layer; probabilities are averaged over the epochs.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPClassifier

from smallloss.criterion.corrupt import corrupt, instance_dependent
from smallloss.criterion.transition import from_spec
from smallloss.data.idx import load_idx

LOOKS_LIKE = (6, 1, 4, 3, 2, 7, 6, 5, 8, 9)  # T-shirt -> shirt, pullover <-> coat, sandal <-> sneaker
C, EPOCHS, FILTERS, SIDE = 10, 12, 128, 6

Data = dict[str, np.ndarray]


class Fashion:
    """Features of Fashion-MNIST once, then noisy labels and their two-fold probabilities cell by cell."""

    def __init__(self, folder: Path, n: int, seed: int) -> None:
        data = load_idx(folder)
        chosen = np.random.default_rng(seed).permutation(len(data.labels))[:n]
        self.seed = seed
        self.true = np.asarray(data.labels)[chosen].astype(np.int64)
        self.x = features(np.asarray(data.inputs)[chosen, :, :, 0] / np.float32(255), seed)
        self.clean = two_fold(self.x, self.true, seed)[0]

    def cell(self, name: str) -> Data:
        kind, _, r = name.partition(":")
        makers: dict[str, Callable[[float], np.ndarray]] = {
            "none": lambda _: self.true,
            "instance": lambda r: instance_dependent(self.x, self.true, r, self.seed, C)[0],
            "hard": self.hard,
            "soft": self.soft,
        }
        if kind in makers:
            labels = makers[kind](float(r or 0))
        else:
            labels = corrupt(self.true, from_spec(name, C, LOOKS_LIKE), self.seed)
        P, score = two_fold(self.x, labels, self.seed)
        return {"probabilities": P, "labels": labels, "true_labels": self.true, "score": score}

    def hard(self, r: float) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        own = self.clean[np.arange(len(self.true)), self.true]
        flip = rng.random(len(own)) < 2 * r * np.argsort(np.argsort(-own)) / len(own)
        return np.where(flip, (self.true + rng.integers(1, C, len(own))) % C, self.true)

    def soft(self, r: float) -> np.ndarray:
        opinion = np.log(self.clean + 1e-9)
        opinion[np.arange(len(self.true)), self.true] += 3.0  # people know better than the network
        luck = np.random.default_rng(self.seed).gumbel(size=opinion.shape)

        def wrong(log_temperature: float) -> float:
            return float(((opinion / np.exp(log_temperature) + luck).argmax(axis=1) != self.true).mean()) - r

        return (opinion / np.exp(brentq(wrong, -4, 4, xtol=1e-4)) + luck).argmax(axis=1)


def features(pictures: np.ndarray, seed: int) -> np.ndarray:
    """Patches as filters, both signs rectified, pooled 4 x 4, 200 principal components."""
    rng = np.random.default_rng(seed)
    windows = np.lib.stride_tricks.sliding_window_view(pictures, (SIDE, SIDE), axis=(1, 2))
    some = windows[:500].reshape(-1, SIDE * SIDE)
    some = some[rng.permutation(len(some))[:20_000]]
    filters = some[some.std(axis=1) > 0.1][:FILTERS]
    filters = filters - filters.mean(axis=1, keepdims=True)
    filters /= np.linalg.norm(filters, axis=1, keepdims=True)
    pooled = []
    for start in range(0, len(pictures), 1000):
        patches = np.pad(windows[start : start + 1000], ((0, 0), (0, 1), (0, 1), (0, 0), (0, 0)))
        patches = patches.reshape(*patches.shape[:3], -1)
        patches = patches - patches.mean(axis=-1, keepdims=True)
        answer = patches @ filters.T / (patches.std(axis=-1, keepdims=True) + 0.1)
        answer = np.maximum(np.concatenate([answer, -answer], axis=-1) - 1, 0)
        pooled.append(answer.reshape(len(answer), 4, 6, 4, 6, -1).mean(axis=(2, 4)).reshape(len(answer), -1))
    x = PCA(200, random_state=seed).fit_transform(np.concatenate(pooled))
    return 3 * x / x[:, 0].std()


def two_fold(x: np.ndarray, labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Out-of-sample probabilities; of one training on everything the mean margin, its sign turned.

    As in our presets the mean is over the second half of the epochs.
    """
    halves = np.array_split(np.random.default_rng(seed).permutation(len(x)), 2)
    P = np.empty((len(x), C))
    for learned, scored in (halves, halves[::-1]):
        P[scored] = np.mean(list(epochs(x[learned], labels[learned], x[scored], seed)), axis=0)
    seen = list(epochs(x, labels, x, seed))[EPOCHS // 2 :]
    return P, -np.mean([margin(p, labels) for p in seen], axis=0)


def margin(p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """How far the label's logit is ahead of the best other's."""
    logits = np.log(np.maximum(p, 1e-12))
    at = np.arange(len(labels)), labels
    own = logits[at]
    logits[at] = -np.inf
    return own - logits.max(axis=1)


def epochs(x: np.ndarray, labels: np.ndarray, scored: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    net = MLPClassifier((128,), batch_size=128, alpha=1e-3, random_state=seed)
    for _ in range(EPOCHS):
        net.partial_fit(x, labels, classes=np.arange(C))
        yield net.predict_proba(scored)
