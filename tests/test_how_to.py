"""What docs/how-to.md says of model files and of unknown rates, run as it is written."""

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
from smallloss.learning.inference import predict_probabilities

HOW_TO = Path(__file__).parents[1] / "docs" / "how-to.md"


def block_with(word: str) -> str:
    said = re.findall(r"```python\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = (text for text in said if word in text)
    return block


@pytest.mark.parametrize("kind", ["pictures", "features"])
def test_the_model_file_is_enough_to_predict(kind, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = tiny.inputs if kind == "pictures" else np.random.default_rng(0).normal(3, 2, (96, 5)).astype(np.float32)
    run = sl.clean((x, np.array(["cat", "dog", "eel"])[tiny.labels]), "runs/photos", noise_rate=0.2, epochs=3)
    block = block_with("safe_open")
    if kind == "features":  # "features go in as they are"
        line = next(line for line in block.splitlines() if line.startswith("x = "))
        block = block.replace(line, "x = torch.from_numpy(pictures)")
    names: dict[str, Any] = {"pictures": x}
    exec(block, names)
    assert names["predicted"] == run.predict(x).tolist()
    with torch.no_grad():
        g = names["network"]((names["x"] - names["mean"]) / names["std"]).softmax(1)
    expected = predict_probabilities(run.learned.fitted.network, run.result.dataset, x)
    np.testing.assert_allclose(g.numpy(), expected, atol=1e-5)


def test_two_networks_are_in_one_model_file(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = (tiny.inputs, np.array(["cat", "dog", "eel"])[tiny.labels])
    settings = {"mixmatch.networks": 2, "mixmatch.steps_per_epoch": 3}
    run = sl.clean(data, "runs/photos", method="rsl_wm", noise_rate=0.2, epochs=3, settings=settings)
    (how,) = re.findall(r"`(Ensemble\(build\(\.\.\.\).*?)`", HOW_TO.read_text(encoding="utf-8"))
    block = block_with("safe_open")
    made = next(line for line in block.splitlines() if line.startswith("network = build(")).partition("  #")[0]
    several = f"network = {how.replace('build(...)', made.removeprefix('network = '))}"
    names: dict[str, Any] = {"pictures": tiny.inputs}
    exec("from smallloss.models.ensemble import Ensemble\n" + block.replace(made, several), names)
    assert names["predicted"] == run.predict(tiny.inputs).tolist()
    assert len(names["network"].members) == 2


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
