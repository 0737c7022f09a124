"""What a run chose is said before it trains: on the command line, not to a caller from Python."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import smallloss as sl
from command import smallloss
from smallloss.models import photos
from smallloss.run import pipeline as cleaning


class StoppedError(Exception):
    """Everything was chosen and said."""


@pytest.fixture
def untrained(monkeypatch):
    def stop(*_, **__):
        raise StoppedError

    monkeypatch.setattr(cleaning, "_run", stop)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(photos, "is_installed", lambda: False)


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
    assert words["held out"].startswith("8 of them, never trained on; accuracy is measured on 8 held-out examples (by")
    assert words["device"] == words["preset"] == "cpu (no GPU found)"
    assert words["net"] == "mlp (the inputs are features)"
    assert words["method"] == "rsl, compared with plain cross entropy"
    assert words["noise"].startswith("rates estimated, because none are given: each half")


def test_as_asked(untrained, tmp_path):
    wishes = {"device": "cpu", "preset": "fast", "net": nn.Linear(3, 2), "epochs": 7, "noise_rate": 0.2}
    words = chosen(features(), tmp_path, **wishes)
    expected = {"device": "cpu, as asked", "preset": "fast, as asked", "net": "Linear, as asked"}
    assert words.items() >= (expected | {"epochs": "7, as asked", "noise": "rates as given"}).items()


def test_where_the_noise_is_known_from(untrained, tmp_path):
    drawn = "made on purpose (structured:0.3), so the rates are known, from its T and"
    assert chosen("digits", tmp_path)["noise"] == f"{drawn} the true class counts"
    assert chosen("digits", tmp_path / "prior", prior="uniform")["noise"] == f"{drawn} the prior given"
    own = {"noise": "uniform:0.2", "transition": np.eye(10)}
    assert chosen("digits", tmp_path / "own", **own)["noise"] == "rates from the T given"
    T = np.array([[0.8, 0.2], [0.3, 0.7]])
    assert chosen(features(), tmp_path / "T", transition=T)["noise"] == "rates from the T given"
    words = chosen(features(), tmp_path / "asked", noise_rate=0.1, estimate=True)["noise"]
    assert words.startswith("rates estimated, as asked")


@pytest.mark.parametrize("kind", ["text", "table"])
def test_what_the_network_does_not_see_is_not_told(kind, untrained, tmp_path):
    """Of texts or rows that features were given for: not how they would have become features."""
    texts = ["the cat sat on the warm mat", "a dog ran over the wet road", "birds sing early in the morning"]
    cells = [texts[k % 3] if kind == "text" else str(k % 7) for k in range(40)]
    name = "text" if kind == "text" else "size"
    rows = "".join(f"{cell},{'ab'[k % 2]}\n" for k, cell in enumerate(cells))
    (tmp_path / "data.csv").write_text(f"{name},label\n{rows}")
    plain = chosen(tmp_path / "data.csv", tmp_path)["input"]
    assert ("TF-IDF" if kind == "text" else "used as numbers") in plain
    seen = chosen(tmp_path / "data.csv", tmp_path / "seen", features=features()[0])["input"]
    assert seen.startswith("3 features. The labels are in the column 'label'.")
    assert seen.endswith("the network sees 3 features from the array given.")
    assert "TF-IDF" not in seen
    assert "used as" not in seen


def test_the_command_line_says_it_line_by_line_and_names_are_only_names(untrained, tmp_path):
    for name in ("[red]cat", "[/b]\ndog"):
        (tmp_path / "[link]photos" / name).mkdir(parents=True)
        for i in range(4):
            Image.new("L", (300, 200), 30 * i).save(tmp_path / "[link]photos" / name / f"{i}.jpg")
    (tmp_path / "[link]photos" / "[red]cat" / "bad.png").write_bytes(b"")
    lines = smallloss("clean", tmp_path / "[link]photos", "--out", tmp_path / "run", status=1).out.splitlines()
    assert [line[:9].rstrip() for line in lines] == [
        *("data", "input", "held out", "device", "preset", "net", "epochs", "method", "noise"),
    ]
    assert lines[0].endswith("[link]photos: 8 pictures in 2 classes, 4 of each; 1 more cannot be read")
    assert "96 x 96 pixels, gray. Pictures are resized and centre-cropped to 96 x 96" in lines[1]
    assert "pictures looked at is 200" in lines[1]


def test_from_python_nothing_is_printed(untrained, tmp_path, capsys):
    chosen(features(), tmp_path)
    assert capsys.readouterr().out == ""
    chosen(features(), tmp_path / "loud", progress=True)
    assert capsys.readouterr().out.startswith("data      arrays: 40")


def test_words_alone_do_not_end_a_run(untrained, tmp_path):
    """The same settings, once chosen and once asked for, are the same run."""
    assert chosen(features(), tmp_path)["preset"] == "cpu (no GPU found)"
    assert chosen(features(), tmp_path, preset="cpu")["preset"] == "cpu (no GPU found)"


def test_the_fit_is_said(untrained, tmp_path, monkeypatch):
    seen = np.random.default_rng(0).integers(0, 256, (40, 96, 96, 3), np.uint8)
    pictures = seen, np.arange(40) % 2
    words = chosen(pictures, tmp_path)
    few = "because there are few pictures"
    assert words["epochs"] == f"30, the preset's; batches of 8 and a learning rate of 0.035, {few}"
    assert "it sees them at 32 x 32" in words["net"]
    assert words["input"] == "96 x 96 pixels, in colour."
    words = chosen(pictures, tmp_path / "own step", settings={"stage1.lr": 0.2})
    assert words["epochs"] == f"30, the preset's; batches of 8, {few}"
    monkeypatch.setattr("smallloss.methods.settings._VIEWS", 20 * 40)
    words = chosen(pictures, tmp_path / "many")["epochs"]
    assert words.startswith("20, not the preset's 30, because there are so many pictures")


def test_a_prior_a_path_and_workers_are_said_where_they_are_given(untrained, tmp_path):
    words = chosen(features(), tmp_path)
    assert not {"prior", "path", "workers"} & set(words)
    words = chosen(features(), tmp_path / "given", prior={0: 0.5, 1: 0.5}, noise_rate=0.1, path="streaming", workers=2)
    assert words["prior"] == "by class, as asked"
    assert words["path"] == "streaming, as asked"
    assert words["workers"] == "2, to read the batches"
    words = chosen(features(), tmp_path / "resident", prior="uniform", workers=3)
    assert words["prior"] == "uniform, as asked"
    assert words["workers"].startswith("3, not used: they read the batches of --path streaming")


def test_what_was_asked_for_can_be_asked_for_again(untrained, tmp_path):
    def options(**wishes) -> list[str]:
        chosen("digits", tmp_path / str(len(wishes)), **wishes)
        config = tmp_path / str(len(wishes)) / "run" / "config.json"
        return json.loads(config.read_text(encoding="utf-8"))["options"]

    settings = {"beta": 0.1, "stage1.lr": 0.05}
    assert options(method="rsl_wm", epochs=3, seed=2, settings=settings, deterministic=True) == [
        *("--method", "rsl_wm", "--epochs", "3", "--set", "beta=0.1", "--set", "stage1.lr=0.05"),
        *("--seed", "2", "--deterministic"),
    ]
    assert options(backbone=lambda x: x.mean((2, 3))) == []  # which no command line could name


def test_the_epochs_of_a_last_stage_are_said_where_they_are_others(untrained, tmp_path):
    assert chosen("digits", tmp_path / "wm", method="rsl_wm")["epochs"] == "30, the preset's; 20 in rsl_wm"
    assert chosen("digits", tmp_path / "rsl")["epochs"] == "30, the preset's"
