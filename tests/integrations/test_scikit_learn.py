"""RSL as an estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

import smallloss as sl


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
