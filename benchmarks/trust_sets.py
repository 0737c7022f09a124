"""Sets of examples with their true classes, and wrong labels of every kind we know to make.

Real: answers that people gave (Fashion-MNIST, CIFAR-10N) and keyword rules (YouTube comments, a function of the words).
Made: uniform, pairwise and structured (of the class alone), instance (a rate for each example), hard (likelier where a
weak model is unsure), soft (drawn from its hedged opinion); rule (a function of the input), shuffled, none.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy.optimize import brentq
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from demos import Demo, mixed, numbers, texts
from smallloss.criterion.corrupt import corrupt, instance_dependent
from smallloss.criterion.transition import CIFAR10_MAP, DIGITS_MAP, from_spec
from smallloss.data.cifar import human_labels
from smallloss.data.dataset import Dataset
from smallloss.data.source import load

LOOKS_LIKE = (6, 1, 4, 3, 2, 7, 6, 5, 8, 9)  # T-shirt -> shirt, pullover <-> coat, sandal <-> sneaker
MADE = (
    "uniform:0.2", "uniform:0.4", "pairwise:0.3", "structured:0.3", "instance:0.3", "hard:0.2", "soft:0.2", "none",
    "rule", "shuffled",
)  # fmt: skip
FEATURES, FEATURES_N = "CIFAR-10, features", "CIFAR-10N, features"
KINDS = {"none": "clean", "rule": "function of the input", "shuffled": "shuffled"}


@dataclass(frozen=True)
class Places:
    """Where the data lie; what is None is left out."""

    fashion: Path | None  # a folder of idx files
    cifar: Path | None  # holds cifar-10-batches-bin
    people: Path | None  # fashion_mnist_test_answers.npz: how many people gave each class to each test picture
    cifar_n: Path | None
    cifar_features: Path | None  # an npz of rows of CIFAR-10's training part and features of a pretrained network
    comments: Path | None  # a csv of text, label and true_label


@dataclass(frozen=True)
class Labelled:
    """A set under given labels. kind: real, made, clean, function of the input, shuffled."""

    family: str
    name: str
    noise: str
    kind: str
    data: Dataset  # with its given labels, and the true ones


Pick = Callable[[int], Dataset]


def real(places: Places, name: str, seed: int) -> Labelled:
    """A set whose labels somebody gave; what is drawn of it follows from the seed."""
    rng = np.random.default_rng(seed)
    if name == "YouTube comments":
        assert places.comments is not None
        data = load(places.comments)
        return Labelled("YouTube comments", name, "keyword rules", "function of the input", data)
    if name == FEATURES_N:
        return Labelled("people on CIFAR-10", name, "one person", "real", _by_features(places, human=True)(seed))
    if name in ("CIFAR-10N", "CIFAR-10N, 50,000"):
        assert places.cifar_n is not None
        data = load(f"cifar10:{places.cifar}")
        data = data.with_labels(human_labels(places.cifar_n, "random1", data))
        chosen = np.sort(rng.permutation(len(data))[: 4000 if name == "CIFAR-10N" else None])
        return Labelled("people on CIFAR-10", name, "one person", "real", replace(data.take(chosen), test=None))
    assert places.people is not None
    data = load(f"idx:{places.fashion}").test
    assert data is not None
    chosen = np.sort(rng.permutation(len(data))[:4000])
    counts = np.load(places.people)["counts"][chosen].astype(np.int64)
    how_many = {"one person": 1, "majority of three": 3, "majority of all": None}[name]
    labels = _majority(counts, how_many, rng)
    part = replace(data.take(chosen), true_labels=data.labels[chosen])
    return Labelled("people on Fashion-MNIST", "Fashion-MNIST, people", name, "real", part.with_labels(labels))


def _majority(counts: np.ndarray, voters: int | None, rng: np.random.Generator) -> np.ndarray:
    """The class most of so many people gave, ties by lot; None: of all who answered."""
    drawn = counts
    if voters is not None:
        drawn = np.stack([rng.multivariate_hypergeometric(row, voters) for row in counts])
    return (drawn + rng.random(drawn.shape) / 2).argmax(1).astype(np.int64)


def sources(places: Places) -> dict[str, tuple[str, Pick]]:
    """Sets with true labels alone, to put noise on: name -> (family, what is drawn of it with a seed)."""
    found: dict[str, tuple[str, Pick]] = {
        "texts": ("texts", lambda seed: _table(texts(2400, seed))),
        "texts, 400": ("texts", lambda seed: _table(texts(400, seed))),
        "wine": ("tables", lambda seed: _table(numbers("wine"))),
        "breast cancer": ("tables", lambda seed: _table(numbers("breast_cancer"))),
        "mixed columns": ("tables", lambda seed: _table(mixed(3000, seed))),
        "made up": ("tables", partial(_made_up, 1500)),
        "digits, table": ("digits", lambda seed: _table(numbers("digits"))),
        "digits": ("digits", lambda seed: _true(load("digits"))),
        "digits, 300": ("digits", lambda seed: _some(_true(load("digits")), 300, seed)),
    }
    if places.fashion is not None:
        for n in (600, 3000):
            fashion = partial(_some_of, f"idx:{places.fashion}", n)
            found[f"Fashion-MNIST, {n:,}"] = ("Fashion-MNIST", fashion)
    if places.cifar is not None:
        for n in (3000, 50000):
            found[f"CIFAR-10, {n:,}"] = ("CIFAR-10", partial(_some_of, f"cifar10:{places.cifar}", n))
        if places.cifar_features is not None:
            found[FEATURES] = ("CIFAR-10", _by_features(places))
        found["CIFAR-100, 50,000"] = ("CIFAR-100", partial(_some_of, f"cifar100:{places.cifar}", 50000))
    return found


def _some_of(spec: str, n: int, seed: int) -> Dataset:
    return _some(_true(load(spec)), n, seed)


def _by_features(places: Places, *, human: bool = False) -> Pick:
    """6,000 of the examples that have features, with those as what the network sees."""

    def pick(seed: int) -> Dataset:
        data = load(f"cifar10:{places.cifar}")
        if human:
            assert places.cifar_n is not None
            data = data.with_labels(human_labels(places.cifar_n, "random1", data))
        assert places.cifar_features is not None
        with np.load(places.cifar_features) as file:
            rows, features = file["rows"], file["features"]
        chosen = np.sort(np.random.default_rng(seed).permutation(len(rows))[:6000])
        return _true(data.take(rows[chosen])).seen_as(features[chosen], "")

    return pick


def _true(data: Dataset) -> Dataset:
    return replace(data, true_labels=data.labels if data.true_labels is None else data.true_labels, test=None)


def _some(data: Dataset, n: int, seed: int) -> Dataset:
    return data.take(np.sort(np.random.default_rng(seed).permutation(len(data))[:n]))


def _made_up(n: int, seed: int) -> Dataset:
    x, y = make_classification(n, 20, n_informative=12, n_classes=5, class_sep=0.5, flip_y=0, random_state=seed)
    return _table(Demo("made up", {f"x{k}": pa.array(values) for k, values in enumerate(x.T)}, y))


def _table(demo: Demo) -> Dataset:
    """As a user's file becomes a dataset: texts and columns described as the command describes them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        names = pa.array([f"class {k}" for k in demo.true])
        parquet.write_table(pa.table({**demo.columns, "label": names}), path)
        return _true(load(path))


class Noisy:
    """One set, and the labels that each kind of noise gives it."""

    def __init__(self, family: str, name: str, data: Dataset, seed: int) -> None:
        assert data.true_labels is not None
        self.family, self.name, self.data, self.seed = family, name, data, seed
        self.true, self.c = data.true_labels, len(data.classes)
        self.seen = components(seen_inputs(data))

    def labelled(self, noise: str) -> Labelled:
        kind, _, r = noise.partition(":")
        makers: dict[str, Callable[[float], np.ndarray]] = {
            "none": lambda _: self.true,
            "shuffled": lambda _: self._rng("shuffled").permutation(self.true),
            "rule": lambda _: self._rule(),
            "instance": lambda r: instance_dependent(self._whole(), self.true, r, self.seed, self.c)[0],
            "hard": self._hard,
            "soft": self._soft,
        }
        if kind in makers:
            labels = makers[kind](float(r or 0))
        else:
            labels = corrupt(self.true, from_spec(noise, self.c, self._alike()), self.seed)
        return Labelled(self.family, self.name, noise, KINDS.get(kind, "made"), self.data.with_labels(labels))

    def _rng(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose.encode()])

    def _alike(self) -> tuple[int, ...]:
        pairs = tuple(min(k ^ 1, self.c - 1) for k in range(self.c))
        by_family = {"Fashion-MNIST": LOOKS_LIKE, "CIFAR-10": CIFAR10_MAP, "digits": DIGITS_MAP}
        return by_family.get(self.family, pairs)

    def _whole(self) -> np.ndarray:
        """What the projections of part-dependent noise are of: components of variance 1."""
        return self.seen / self.seen.std(axis=0)

    @lru_cache(maxsize=1)  # noqa: B019 - lives as long as its cell
    def _weak(self) -> np.ndarray:
        """A weak model's opinion of examples it has not seen: logistic regression on twenty components."""
        model = LogisticRegression(C=0.1, max_iter=500)
        return cross_val_predict(model, self.seen[:, :20] / self.seen[:, 0].std(), self.true, method="predict_proba")

    def _hard(self, r: float) -> np.ndarray:
        """Flipped with a probability that rises with the square of the rank of doubt, to the weak model's favourite."""
        rng, opinion, rows = self._rng("hard"), self._weak().copy(), np.arange(len(self.true))
        doubt = np.argsort(np.argsort(-opinion[rows, self.true])) / len(rows)
        opinion[rows, self.true] = 0
        other = np.log(opinion + 1e-9) + rng.gumbel(size=opinion.shape)
        other[rows, self.true] = -np.inf
        return np.where(rng.random(len(rows)) < 3 * r * doubt**2, other.argmax(1), self.true)

    def _soft(self, r: float) -> np.ndarray:
        """Drawn from the weak model's opinion at the temperature that makes a share r wrong."""
        opinion = np.log(self._weak() + 1e-9)
        opinion[np.arange(len(self.true)), self.true] += 3.0  # people know better than the model
        luck = self._rng("soft").gumbel(size=opinion.shape)

        def wrong(log_temperature: float) -> float:
            return float(((opinion / np.exp(log_temperature) + luck).argmax(1) != self.true).mean()) - r

        return (opinion / np.exp(brentq(wrong, -6, 6, xtol=1e-4)) + luck).argmax(1)

    def _rule(self) -> np.ndarray:
        """Of every other class, the two fifths that lie highest on the first component get the next one."""
        labels = self.true.copy()
        for k in range(0, self.c - 1, 2):
            members = np.flatnonzero(self.true == k)
            at = self.seen[members, 0]
            labels[members[at > np.quantile(at, 0.6)]] = k + 1
        return labels


def seen_inputs(data: Dataset) -> np.ndarray:
    """What the network sees of each example, flat and normalised."""
    x = data.inputs / np.float32(255) if data.is_image else data.inputs
    return ((x - data.mean) / data.std).reshape(len(data), -1).astype(np.float32)


def components(x: np.ndarray) -> np.ndarray:
    """At most 64 principal components, the first of variance 1."""
    found = PCA(min(64, *x.shape), random_state=0, svd_solver="randomized").fit_transform(x)
    found = found[:, found.std(axis=0) > 1e-6 * found[:, 0].std()]
    return found / found[:, 0].std()
