"""What docs/how-to.md says of the model file, run as it is written."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import smallloss as sl
from smallloss.learning.inference import predict_probabilities

HOW_TO = Path(__file__).parents[1] / "docs" / "how-to.md"


@pytest.mark.parametrize("kind", ["pictures", "features"])
def test_the_model_file_is_enough_to_predict(kind, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = tiny.inputs if kind == "pictures" else np.random.default_rng(0).normal(3, 2, (96, 5)).astype(np.float32)
    run = sl.clean((x, np.array(["cat", "dog", "eel"])[tiny.labels]), "runs/photos", noise_rate=0.2, epochs=3)
    said = re.findall(r"```python\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = (text for text in said if "safe_open" in text)
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
