"""Estimated noise rates against the truth: ours beside the usual estimators, on the same probabilities.

python benchmarks/estimation.py --fashion FOLDER [cells]       Fashion-MNIST, two-fold, on a CPU
python benchmarks/estimation.py --npz cifar10_uniform_0.5.npz  probabilities, labels, true_labels, score from a file

Cells are KIND:R as in `smallloss corrupt` and none, instance:R (part-dependent noise), hard:R (the harder an example
is for a network that knows the truth, the likelier it is wrong) and soft:R (labels drawn from that network's hedged
opinion). The network is small: random filters, then one hidden layer; probabilities are averaged over the epochs.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPClassifier

from common import record
from smallloss.criterion.corrupt import corrupt, instance_dependent
from smallloss.criterion.estimate import Estimate, estimate
from smallloss.criterion.estimate.anchor import dual_t
from smallloss.criterion.estimate.confident_joint import confident_joint, noise_rate
from smallloss.criterion.estimate.mixture import beta_mixture, gaussian_mixture
from smallloss.criterion.transition import from_spec, prior_from_labels
from smallloss.criterion.transition import noise_rate as bridge
from smallloss.data.idx import load_idx

CELLS = (
    "none", "uniform:0.3", "uniform:0.5", "uniform:0.7", "pairwise:0.2", "pairwise:0.4", "structured:0.2",
    "structured:0.4", "instance:0.2", "instance:0.4", "hard:0.2", "hard:0.35", "soft:0.2", "soft:0.35",
)  # fmt: skip
LOOKS_LIKE = (6, 1, 4, 3, 2, 7, 6, 5, 8, 9)  # T-shirt -> shirt, pullover <-> coat, sandal <-> sneaker
C, EPOCHS, FILTERS, SIDE = 10, 12, 128, 6

Data = dict[str, np.ndarray]


def rates(data: Data) -> Iterator[tuple[str, np.ndarray | Estimate]]:
    """Every estimator's rate per label."""
    P, labels = data["probabilities"], data["labels"]
    c = P.shape[1]
    counts = np.bincount(labels, minlength=c)
    yield "ours", estimate(P, labels, score=data.get("score"))
    yield "confident joint", noise_rate(confident_joint(P, labels, c))
    T = dual_t(P, labels, c)
    yield "dual-T", bridge(T, prior_from_labels(T, counts))
    yield "argmax disagreement", np.bincount(labels[P.argmax(axis=1) != labels], minlength=c) / np.maximum(counts, 1)
    if "score" in data:
        yield "gaussian mixture", gaussian_mixture(data["score"], labels, c)
        yield "beta mixture", beta_mixture(data["score"], labels, c)


def measure(cell: str, data: Data, seed: int, out: Path) -> None:
    labels, true = data["labels"], data["true_labels"]
    c = data["probabilities"].shape[1]
    counts = np.bincount(labels, minlength=c)
    truth = np.bincount(labels[labels != true], minlength=c) / np.maximum(counts, 1)
    accuracy = float((data["probabilities"].argmax(axis=1) == true).mean())
    line = f"{cell:24s} acc {accuracy:.3f}"
    start = time.perf_counter()
    for name, found in rates(data):
        row = {"cell": cell, "estimator": name, "n": len(labels), "accuracy": accuracy, "seed": seed}
        row["seconds"] = time.perf_counter() - start
        rate = found.noise_rate if isinstance(found, Estimate) else found
        row["mae"] = float(np.abs(rate - truth)[counts > 0].mean())
        line += f" | {name} {row['mae']:.3f}"
        if isinstance(found, Estimate):
            row["coverage"] = float(((found.low <= truth) & (truth <= found.high))[counts > 0].mean())
            row["width"] = float((found.high - found.low)[counts > 0].mean())
            row["climb"], row["depends_on_example"] = found.slope.climb, found.depends_on_example
            line += f" (covers {row['coverage']:.2f}, width {row['width']:.3f}, example {found.depends_on_example})"
        record(out, row)
        start = time.perf_counter()
    print(line, flush=True)


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
    """Out-of-sample probabilities, and the mean in-sample loss of one training on everything."""
    halves = np.array_split(np.random.default_rng(seed).permutation(len(x)), 2)
    P = np.empty((len(x), C))
    for learned, scored in (halves, halves[::-1]):
        P[scored] = np.mean(list(epochs(x[learned], labels[learned], x[scored], seed)), axis=0)
    own = [p[np.arange(len(x)), labels] for p in epochs(x, labels, x, seed)]
    return P, -np.log(np.maximum(own, 1e-12)).mean(axis=0)


def epochs(x: np.ndarray, labels: np.ndarray, scored: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    net = MLPClassifier((128,), batch_size=128, alpha=1e-3, random_state=seed)
    for _ in range(EPOCHS):
        net.partial_fit(x, labels, classes=np.arange(C))
        yield net.predict_proba(scored)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cells", nargs="*", default=CELLS)
    options.add_argument("--fashion", type=Path, help="the folder of the idx files of Fashion-MNIST")
    options.add_argument("--npz", type=Path, nargs="*", default=[])
    options.add_argument("--examples", type=int, default=45_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("benchmarks/results/estimation_cpu.jsonl"))
    asked = options.parse_args()
    for path in asked.npz:
        with np.load(path, allow_pickle=False) as file:
            measure(path.stem, dict(file), asked.seed, asked.out)
    if asked.fashion:
        fashion = Fashion(asked.fashion, asked.examples, asked.seed)
        for cell in asked.cells:
            measure(f"fashion/{cell}", fashion.cell(cell), asked.seed, asked.out)


if __name__ == "__main__":
    main()
