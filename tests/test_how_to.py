"""What docs/how-to.md says of the classifier and of unknown rates, run as it is written."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import smallloss as sl

HOW_TO = Path(__file__).parents[1] / "docs" / "how-to.md"


def block_with(word: str) -> str:
    said = re.findall(r"```python\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = (text for text in said if word in text)
    return block


@pytest.mark.parametrize("kind", ["pictures", "features"])
def test_the_classifier_of_a_run(kind, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = tiny.inputs if kind == "pictures" else np.random.default_rng(0).normal(3, 2, (96, 5)).astype(np.float32)
    run = sl.clean((x, np.array(["cat", "dog", "eel"])[tiny.labels]), "runs/photos", noise_rate=0.2, epochs=3)
    names: dict[str, Any] = {"sl": sl, "pictures": x}
    exec(block_with("classifier = sl.load_classifier"), names)
    classifier = names["classifier"]
    assert classifier.predict(x).tolist() == run.predict(x).tolist()
    assert (classifier.predict_proba(x) == run.classifier.predict_proba(x)).all()
    # "it takes (x - mean) / std, x in 0..1"
    plain = torch.from_numpy(x).permute(0, 3, 1, 2) / 255 if kind == "pictures" else torch.from_numpy(x)
    each = (1, -1) + (1,) * (plain.ndim - 2)
    mean, std = (torch.tensor(numbers).view(each) for numbers in (classifier.seen.mean, classifier.seen.std))
    with torch.no_grad():
        g = classifier.network(((plain - mean) / std).float()).softmax(1)
    np.testing.assert_allclose(g.numpy(), run.classifier.predict_proba(x), atol=1e-5)


def test_rates_that_nobody_knows_are_estimated_beside_an_own_loop(capsys):
    X, true = load_digits(return_X_y=True)
    names = np.array([f"digit {k}" for k in range(10)])
    wrong = np.random.default_rng(0).random(len(true)) < 0.2
    labels = names[np.where(wrong, (true + 1) % 10, true)]
    ledger = sl.LossLedger(len(X))
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
    g = model.fit(X, labels).predict_proba(X)
    ledger.update(np.arange(len(X)), -np.log(g[np.arange(len(X)), np.searchsorted(names, labels)]))
    ledger.end_epoch()
    known: dict[str, Any] = {"sl": sl, "model": model, "X": X, "labels": labels, "ledger": ledger}
    exec(block_with("cross_val_predict"), known)
    found = known["found"]
    assert list(found.classes) == names.tolist()
    assert abs(found.noise_rate.mean() - wrong.mean()) < 0.1
    assert known["selection"].is_label_issue[wrong].mean() > 0.75
    assert (known["selection"].mask & wrong).sum() < 0.02 * known["selection"].mask.sum()
    assert "confident" in capsys.readouterr().out
