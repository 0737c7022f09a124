"""RSL as an estimator."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

import smallloss as sl
from smallloss.data.arrays import from_arrays
from smallloss.errors import InputError
from smallloss.methods import rsl
from smallloss.methods.settings import get_preset, settings_for


@pytest.fixture(scope="module")
def noisy() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    X, y = X[:900], y[:900]
    labels = sl.corrupt(y, sl.transition.uniform(0.3, 10), seed=0)
    return X.astype(np.float32), y, labels


@pytest.mark.slow
def test_it_learns_in_spite_of_wrong_labels_and_names_them(noisy: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    X, y, labels = noisy
    names = np.array([f"digit {k}" for k in range(10)])
    model = sl.RSLClassifier(noise_rate=0.27, epochs=15).fit(X, names[labels])
    assert model.classes_.tolist() == names.tolist()
    assert (model.predict(X) == names[y]).mean() > 0.9
    np.testing.assert_allclose(model.predict_proba(X[:20]).sum(1), 1, atol=1e-5)
    wrong = labels != y
    assert wrong[model.selection_.is_label_issue].mean() > 0.75
    assert (~wrong)[model.selection_.mask].mean() > 0.95


def test_labels_keep_their_type(noisy: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    X, _, labels = noisy
    model = sl.RSLClassifier(noise_rate={k * 10: 0.27 for k in range(10)}, epochs=1).fit(X, labels * 10)
    assert model.predict(X[:5]).dtype.kind == "i"
    assert set(model.predict(X).tolist()) <= set(range(0, 100, 10))


def test_parameters_are_stored_untouched() -> None:
    model = sl.RSLClassifier(noise_rate=0.2, method="rsl_wm", epochs=3)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0], ["2", "10", "1"], [10, -1, 2]])
def test_classes_are_those_of_y_in_the_order_of_scikit_learn(values):
    y = np.tile(np.array(values), 20)
    X = np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(4)[np.arange(60) % 3]
    model = sl.RSLClassifier(noise_rate=dict.fromkeys(values, 0.1), epochs=5).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(1)], model.predict(X))
    assert (model.predict(X) == y).mean() > 0.8


def test_few_pictures_are_learnt_from_as_clean_does(monkeypatch):
    """A preset that nobody asked for is fitted to them; one that somebody asked for is not."""
    used = []

    def stop(task, settings, noise):
        used.append(settings)
        raise InterruptedError

    monkeypatch.setattr(rsl, "train", stop)
    X, y = np.zeros((40, 8, 8), np.uint8), np.arange(40) % 2
    for preset in (None, "cpu"):
        with pytest.raises(InterruptedError):
            sl.RSLClassifier(noise_rate=0.1, preset=preset, device="cpu").fit(X, y)
    assert used == [settings_for(None, "cpu", from_arrays(X, y)), get_preset("cpu")]
    assert used[0].recipe("stage1").batch == 8


@pytest.mark.filterwarnings("ignore")  # its own, of what it tries
@parametrize_with_checks([sl.RSLClassifier(noise_rate=0.05, epochs=20)])
def test_it_behaves_as_estimators_do(estimator, check):
    check(estimator)


def blobs(n=80):
    y = np.arange(n) % 2
    return np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32) + 5 * y[:, None], y


def test_what_is_asked_for_is_what_is_used():
    X, y = blobs()
    model = sl.RSLClassifier(Wide, method="rsl_wm", noise_rate=[0.1, 0.2], epochs=2, settings={"rsl_wm.batch": 8})
    model.fit(X, y)
    assert isinstance(model.network_, Wide)
    assert not model.network_.training
    assert model.noise_rate_.tolist() == [0.1, 0.2]
    assert (model.n_features_in_, model.estimate_, model.verdict_.word) == (3, None, "unchecked")
    plain = sl.RSLClassifier(Wide, method="cross_entropy", noise_rate=0.1, epochs=2).fit(X, y)
    assert (plain.selection_, plain.noise_rate_) == (None, None)


class Wide(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(3, 9), nn.ReLU(), nn.Linear(9, 2))


def test_estimated_rates_come_with_intervals_and_a_verdict():
    X, y = blobs(200)
    model = sl.RSLClassifier(epochs=5).fit(X, np.where(np.arange(200) % 10 == 0, 1 - y, y))
    assert (model.estimate_.low <= model.noise_rate_).all()
    assert model.verdict_.word == "unchecked"


def test_a_fit_that_fails_leaves_no_older_one_behind():
    """The old network under the new names would answer wrongly."""
    X, y = blobs()
    model = sl.RSLClassifier(noise_rate=0.1, epochs=1).fit(X, np.array(["big", "small"])[y])
    with pytest.raises(InputError, match="it must be at least 0 and below 1"):
        model.set_params(noise_rate=1.5).fit(X, np.array(["even", "odd"])[y])
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_pickle_holds_no_example():
    X, y = blobs(500)
    model = sl.RSLClassifier(noise_rate=0.1, epochs=1).fit(X, y)
    stored = pickle.dumps(model)
    assert X[:5].tobytes() not in stored
    np.testing.assert_array_equal(pickle.loads(stored).predict_proba(X), model.predict_proba(X))


def test_predict_before_fit_says_so():
    with pytest.raises(NotFittedError):
        sl.RSLClassifier().predict(np.zeros((2, 3)))


def test_one_class_is_a_sentence():
    with pytest.raises(InputError, match="carries the label 'a': at least two classes"):
        sl.RSLClassifier(noise_rate=0.1, epochs=1).fit(np.eye(4), ["a"] * 4)


def test_random_state_is_as_scikit_learn_has_it():
    X, y = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32), np.arange(60) % 2

    def fitted(random_state):
        return sl.RSLClassifier(noise_rate=0.1, epochs=1, random_state=random_state).fit(X, y).predict_proba(X)

    first, second = (fitted(np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (first != fitted(np.random.RandomState(4))).any()
    assert fitted(None).shape == (60, 2)
    with pytest.raises(InputError, match=r"random_state is 1\.5"):
        fitted(1.5)
