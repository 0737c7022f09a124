"""What CONTRIBUTING promises of a new method, from its own text: the file is written, and the command runs it."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from command import smallloss
from smallloss import methods
from smallloss.errors import InputError

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture
def method_folder(tmp_path, monkeypatch):
    """One more folder in which methods are found."""
    folder = tmp_path / "methods"
    folder.mkdir()
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(folder)])
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("smallloss.methods."):
            del sys.modules[name]
            delattr(methods, name.rpartition(".")[2])


def test_the_method_of_contributing_runs_as_it_is_written(method_folder, tiny, tmp_path, monkeypatch):
    text = CONTRIBUTING.read_text(encoding="utf-8")
    name = re.search(r"`methods/(\w+)\.py` would be all of this", text)[1]
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    (method_folder / f"{name}.py").write_text(code, encoding="utf-8")
    assert name in methods.names()
    data, out = tmp_path / "tiny.npz", tmp_path / "run"
    np.savez(data, x=tiny.inputs, y=tiny.labels)
    arguments = ["clean", data, "--out", out, "--method", name, "--epochs", 3, "--noise-rate", 0.2, "--device", "cpu"]
    arguments += ["--set", re.search(r"--set (\S+)`", text)[1]]
    monkeypatch.setenv("SMALLLOSS_DEBUG", "1")
    said = smallloss(*arguments).out
    assert f"{name}, compared with plain cross entropy" in said
    assert "\nMAE " in said
    config = json.loads((out / "config.json").read_text())
    assert config["method"] == name
    assert config["settings"][name] == {"q": 0.7}
    assert (out / "report.html").is_file()
    assert (out / "checkpoint" / f"{name}.safetensors").is_file()


def test_a_file_without_train_is_no_method(method_folder):
    known = methods.names()
    (method_folder / "helper.py").write_text("def prepare():\n    return 1\n")
    (method_folder / "ours.py").write_text("def train(task, settings, noise):\n    return None\n")
    assert methods.names() == tuple(sorted([*known, "ours"]))
    with pytest.raises(InputError, match=r"no method named 'helper'; the known ones are .*ours"):
        methods.get("helper")


def test_a_broken_file_stops_only_who_asks_for_it(method_folder):
    code = "import nothing_of_that_name\n\n\ndef train(task, settings, noise):\n    return None\n"
    (method_folder / "broken.py").write_text(code)
    assert "broken" in methods.names()
    assert methods.get("rsl").__name__ == "smallloss.methods.rsl"
    with pytest.raises(ImportError):
        methods.get("broken")
