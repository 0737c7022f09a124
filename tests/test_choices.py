"""What a run chose is said before it trains: on the command line, not to a caller from Python."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import smallloss as sl
from smallloss import choices, cleaning
from smallloss.choices import fit
from smallloss.cli import main
from smallloss.data.dataset import Dataset
from smallloss.errors import InputError
from smallloss.methods import presets


class StoppedError(Exception):
    """Everything was chosen and said."""


@pytest.fixture
def untrained(monkeypatch):
    def stop(*_):
        raise StoppedError

    monkeypatch.setattr(cleaning, "_run", stop)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def chosen(data, tmp_path: Path, **wishes) -> dict[str, str]:
    with pytest.raises(StoppedError):
        sl.clean(data, tmp_path / "run", **wishes)
    return json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))["chosen"]


def features(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).normal(size=(n, 3)), np.arange(n) % 2


def test_by_data_and_hardware(untrained, tmp_path):
    words = chosen(features(), tmp_path)
    assert words["data"] == "arrays: 40 rows of features in 2 classes, 20 of each"
    assert words["input"] == "3 features."
    assert words["held out"].startswith("8 of them, never trained on; accuracy is taken on 8 held-out examples by")
    assert words["device"] == words["preset"] == "cpu, since no GPU is here"
    assert words["net"] == "mlp, since the inputs are features"
    assert words["method"] == "rsl, beside plain cross entropy"
    assert words["noise"].startswith("rates estimated, since none are given: each half")


def test_as_asked(untrained, tmp_path):
    wishes = {"device": "cpu", "preset": "fast", "net": nn.Linear(3, 2), "epochs": 7, "noise_rate": 0.2}
    words = chosen(features(), tmp_path, **wishes)
    expected = {"device": "cpu, as asked", "preset": "fast, as asked", "net": "Linear, as asked"}
    assert words.items() >= (expected | {"epochs": "7, as asked", "noise": "rates as given"}).items()


def test_where_the_noise_is_known_from(untrained, tmp_path):
    assert chosen("digits", tmp_path)["noise"] == "rates of the noise drawn, structured:0.3"
    T = np.array([[0.8, 0.2], [0.3, 0.7]])
    assert chosen(features(), tmp_path / "T", transition=T)["noise"] == "rates from the T given"
    words = chosen(features(), tmp_path / "asked", noise_rate=0.1, estimate=True)["noise"]
    assert words.startswith("rates estimated, as asked")


def test_the_command_line_says_it_line_by_line_and_names_are_only_names(untrained, tmp_path, monkeypatch, capsys):
    for name in ("[red]cat", "[/b]\ndog"):
        (tmp_path / "[link]photos" / name).mkdir(parents=True)
        for i in range(4):
            Image.new("L", (300, 200), 30 * i).save(tmp_path / "[link]photos" / name / f"{i}.jpg")
    (tmp_path / "[link]photos" / "[red]cat" / "bad.png").write_bytes(b"")
    arguments = ["clean", tmp_path / "[link]photos", "--out", tmp_path / "run"]
    monkeypatch.setattr("sys.argv", ["smallloss", *map(str, arguments)])
    with pytest.raises(SystemExit):
        main()
    lines = capsys.readouterr().out.splitlines()
    assert [line[:9].rstrip() for line in lines] == [
        *("data", "input", "held out", "device", "preset", "net", "epochs", "method", "noise"),
    ]
    assert lines[0].endswith("[link]photos: 8 pictures in 2 classes, 4 of each; 1 more cannot be read")
    assert "96 x 96 in gray. Pictures are resized and centre-cropped to 96 x 96" in lines[1]
    assert "pictures looked at is 200" in lines[1]


def test_from_python_nothing_is_printed(untrained, tmp_path, capsys):
    chosen(features(), tmp_path)
    assert capsys.readouterr().out == ""
    chosen(features(), tmp_path / "loud", progress=True)
    assert capsys.readouterr().out.startswith("data      arrays: 40")


def test_words_alone_do_not_end_a_run(untrained, tmp_path):
    """The same settings, once chosen and once asked for, are the same run."""
    assert chosen(features(), tmp_path)["preset"] == "cpu, since no GPU is here"
    assert chosen(features(), tmp_path, preset="cpu")["preset"] == "cpu, since no GPU is here"


def test_co_teaching_of_one_module_is_refused_before_training(tmp_path):
    with pytest.raises(InputError, match="co_teaching needs two networks that differ"):
        sl.clean(features(), tmp_path / "run", method="co_teaching", net=nn.Linear(3, 2))
    assert not (tmp_path / "run").exists()


NOTHING_ASKED = {"preset": None, "epochs": None, "settings": {}}


def fitted(n: int, name: str, **asked) -> presets.Settings:
    pictures = Dataset(np.zeros((n, 1, 1, 1), np.uint8), np.arange(n) % 2, ("a", "b"))
    return fit(presets.get(name), pictures, "cuda" if name == "fast" else "cpu", NOTHING_ASKED | asked)


@pytest.mark.parametrize("preset, n", [("cpu", 10_000), ("fast", 20_000), ("fast", 10**6)])
def test_a_preset_is_as_it_is_for_the_data_it_was_made_for(preset, n):
    assert fitted(n, preset) == presets.get(preset)


@pytest.mark.parametrize("n, batch", [(3, 8), (50, 8), (300, 16), (1000, 32), (4095, 128), (4096, 256)])
def test_few_pictures_come_in_small_batches(n, batch):
    """On a GPU too, where 300 of them would be one step an epoch, and their average the weights at random."""
    small = fitted(n, "fast")
    assert small.stage1.batch == small.rsl.batch == batch
    assert small.stage1.ema_warmup
    assert small.stage1.epochs == presets.get("fast").stage1.epochs
    assert fitted(n, "cpu").stage1.batch == min(batch, 64)


@pytest.mark.parametrize("n, epochs", [(40_000, 30), (60_000, 20), (100_000, 12), (10**6, 10)])
def test_very_many_pictures_on_a_cpu_are_seen_less_often(n, epochs):
    assert fitted(n, "cpu").stage1.epochs == epochs


def test_what_was_asked_for_is_not_fitted():
    assert fitted(50, "fast", preset="fast") == presets.get("fast")
    assert fitted(10**5, "cpu", epochs=30).stage1.epochs == 30
    own = fitted(50, "fast", settings={"stage1.batch": "32", "rsl.epochs": 3})
    assert (own.stage1.batch, own.rsl.batch, own.rsl.epochs) == (256, 8, presets.get("fast").rsl.epochs)


def test_the_fit_is_said(untrained, tmp_path, monkeypatch):
    pictures = np.zeros((40, 96, 96, 3), np.uint8), np.arange(40) % 2
    words = chosen(pictures, tmp_path)
    assert words["epochs"] == "30, the preset's; batches of 8, since there are few pictures"
    assert "it sees them at 32 x 32" in words["net"]
    assert words["input"] == "96 x 96 in colour."
    monkeypatch.setattr(choices, "_VIEWS", 20 * 40)
    words = chosen(pictures, tmp_path / "many")["epochs"]
    assert words.startswith("20, not the preset's 30, since there are so many pictures")
