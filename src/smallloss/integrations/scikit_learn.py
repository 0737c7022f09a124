"""RSL in scikit-learn's shape: fit on labels that are partly wrong, predict."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from smallloss import methods
from smallloss.data.arrays import from_arrays
from smallloss.data.labels import label_names
from smallloss.data.seen import Seen
from smallloss.learning.inference import predict_probabilities
from smallloss.learning.task import Task, pick_device
from smallloss.methods import fitting
from smallloss.methods.small_loss import Noise
from smallloss.methods.unknown_noise import learn_noise
from smallloss.values import whole


class RSLClassifier(ClassifierMixin, BaseEstimator):
    """The paper's methods as an estimator: all examples are learnt from, none is held out.

    After `fit`: `selection_` (which examples were kept, which are likely wrong), `noise_rate_` per class,
    `network_`, `classes_`. X is [n, features] or pictures; y are labels of any kind. With noise_rate=None the
    rates are estimated.
    """

    def __init__(
        self,
        net: Any = None,
        *,
        method: str = "rsl",
        noise_rate: float | Mapping[Any, float] | None = None,
        preset: str | None = None,
        epochs: int | None = None,
        settings: Mapping[str, Any] | None = None,
        device: str = "auto",
        random_state: int = 0,
    ) -> None:
        self.net = net
        self.method = method
        self.noise_rate = noise_rate
        self.preset = preset
        self.epochs = epochs
        self.settings = settings
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "RSLClassifier":
        """Find the wrong labels of y and learn in spite of them."""
        names = label_names(y)  # refuses a missing label
        # Classes are text inside; outside they stay what y holds, in the order that scikit-learn expects.
        self.classes_, first, codes = np.unique(np.asarray(y), return_index=True, return_inverse=True)
        dataset = replace(from_arrays(X, codes), classes=tuple(names[first].tolist()))
        self.n_features_in_ = int(np.prod(dataset.in_shape))
        device = pick_device(self.device)
        settings = fitting.choose(
            self.preset, device.type, dataset, net=self.net, epochs=self.epochs, changes=self.settings
        )
        seed = _seed(self.random_state)
        task = Task(dataset, np.arange(len(names)), {}, seed=seed, device=device)
        rate = self.noise_rate
        if isinstance(rate, Mapping):
            rate = dict(zip(label_names(list(rate)).tolist(), rate.values(), strict=True))
        noise = Noise(rate) if rate is not None else learn_noise(task, settings).noise
        learned = methods.get(self.method).train(task, settings, noise)
        self._network, self._seen = learned.fitted.network, Seen.of(dataset)
        self.network_ = self._network.module
        self.selection_ = learned.selection
        self.noise_rate_ = None if learned.selection is None else learned.selection.quota.noise_rate
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of `classes_`."""
        check_is_fitted(self)
        return predict_probabilities(self._network, self._seen, X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each example."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]


def _seed(random_state: Any) -> int:
    """As everywhere in scikit-learn: a whole number, a RandomState to draw one from, or None for any."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31))
    return whole(random_state, "random_state")
