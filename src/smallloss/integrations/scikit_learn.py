"""RSL in scikit-learn's shape: fit on labels that are partly wrong, predict."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from smallloss import methods
from smallloss.criterion.labels import label_names
from smallloss.data.arrays import from_arrays
from smallloss.data.new_examples import Seen
from smallloss.engine.classifier import Classifier
from smallloss.engine.device import pick_device, put_back
from smallloss.engine.task import Task
from smallloss.knobs import whole
from smallloss.methods.cross import learn_noise
from smallloss.methods.settings import settings_for
from smallloss.noise.model import NoiseModel
from smallloss.noise.verdict import judge


class RSLClassifier(ClassifierMixin, BaseEstimator):
    """The paper's methods as an estimator: all examples are learnt from, none is held out.

    Parameters
    ----------
    net : the name of a network, a torch module, or a function that makes one; by the data and the preset if left out.
    method : "rsl", "rsl_wm", "co_teaching" or "cross_entropy".
    noise_rate : the share of wrong labels among those that carry a label: a number, one for each class in the order of
        `classes_`, or {label: rate}. With None the rates are estimated.
    preset : "paper", "fast" or "cpu"; by the hardware if left out.
    epochs : of every stage; the preset's if left out.
    settings : any other setting by name, {"stage1.lr": 0.05}.
    device : "auto", "cpu" or "cuda".
    random_state : a whole number, a RandomState, or None.

    Attributes
    ----------
    classes_ : the labels, sorted.
    network_ : the torch module that predicts.
    selection_ : which examples were kept and which are likely wrong; None for methods that select none.
    noise_rate_ : per class, as given or estimated; None where there is no selection.
    estimate_ : the estimated rates with their intervals and notes; None where they were given.
    verdict_ : what may be relied on, as nobody has checked it; None for methods that select none.
    n_features_in_ : X.shape[1].
    """

    def __init__(
        self,
        net: Any = None,
        *,
        method: str = "rsl",
        noise_rate: float | Sequence[float] | np.ndarray | Mapping[Any, float] | None = None,
        preset: str | None = None,
        epochs: int | None = None,
        settings: Mapping[str, Any] | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.net = net
        self.method = method
        self.noise_rate = noise_rate
        self.preset = preset
        self.epochs = epochs
        self.settings = settings
        self.device = device
        self.random_state = random_state

    @put_back()
    def fit(self, X: Any, y: Any) -> "RSLClassifier":
        """Find the wrong labels of y, of any kind, and learn in spite of them. X is [n, features], or pictures."""
        self._forget()
        X, y = validate_data(self, X, y, allow_nd=True, ensure_min_samples=2)
        check_classification_targets(y)
        names = label_names(y)  # refuses a missing label
        # Classes are text inside; outside they stay what y holds, in the order that scikit-learn expects.
        classes, first, codes = np.unique(y, return_index=True, return_inverse=True)
        dataset = replace(from_arrays(X, codes), classes=tuple(names[first].tolist()))
        device = pick_device(self.device)
        settings = settings_for(
            self.preset, device.type, dataset, net=self.net, epochs=self.epochs, changes=self.settings
        )
        task = Task(dataset, np.arange(len(names)), {}, seed=_seed(self.random_state), device=device)
        rate = self.noise_rate
        if isinstance(rate, Mapping):
            rate = dict(zip(label_names(list(rate)).tolist(), rate.values(), strict=True))
        told = NoiseModel.given(dataset.classes, rate)
        noise = told if told.is_known else learn_noise(task, settings)
        learned = methods.train(self.method, task, settings, noise)
        self.classes_ = classes
        self._classifier = Classifier(learned.fitted.network, Seen.of(dataset), str(learned.net))
        self.network_ = self._classifier.network
        self.selection_ = chosen = learned.selection
        self.noise_rate_ = None if chosen is None else chosen.quota.noise_rate
        self.estimate_ = noise if noise.is_estimated else None
        self.verdict_ = None if chosen is None else judge(chosen, noise)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of `classes_`."""
        check_is_fitted(self, "classes_")
        return self._classifier.predict_proba(validate_data(self, X, reset=False, allow_nd=True))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each example."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def _forget(self) -> None:
        """What an earlier fit found: should this one fail, nobody must take the old network for the new."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_classifier"]:
            delattr(self, name)


def _seed(random_state: Any) -> int:
    """As everywhere in scikit-learn: a whole number, a RandomState to draw one from, or None for any."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31))
    return whole(random_state, "random_state")
