"""Large photos are seen through the backbone for photos where it is installed, unless somebody said what sees them."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

import smallloss as sl
from command import smallloss
from photos_package import install
from smallloss.models import photos as lite
from smallloss.run.photos import WOULD_HELP, backbone_for

CPU = torch.device("cpu")
NO_WISH = {"backbone": None, "features": None, "net": None, "preset": None, "settings": {}}


def photos(folder, side=80):
    """24 pictures in two classes of different brightness."""
    rng = np.random.default_rng(0)
    for k in range(24):
        place = folder / "ab"[k % 2] / f"{k}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        light = 60 + 100 * (k % 2) + rng.integers(-40, 40, (side, side, 3))
        Image.fromarray(light.astype(np.uint8)).save(place)
    return folder


def test_where_it_is_installed_a_run_and_its_predictions_go_through_it(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path / "weights.pth")
    monkeypatch.setattr(lite, "_MANY", 23)
    data, out = photos(tmp_path / "photos"), tmp_path / "run"
    words = ["clean", data, "--out", out, "--epochs", 4, "--noise-rate", 0.1, "--device", "cpu"]
    said = " ".join(smallloss(*words).out.split())
    note = "The pictures are seen through photos:128, a small network trained on photos, at a size that this machine"
    assert said.count(note) == 1
    assert note in (out / "report.html").read_text(encoding="utf-8")
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert config["data"]["backbone"] == "photos:128"
    assert np.load(out / "backbone.npz")["features"].shape == (24, 1280)
    assert len(sl.predict(out, data)["predicted_label"]) == 24
    refused = smallloss(*words, "--backbone", "none", status=2).err
    assert "other settings (data.backbone was 'photos:128', now None" in refused


@pytest.mark.parametrize("side, notes", [(80, 1), (64, 0)])
def test_where_it_is_not_installed_large_photos_get_one_note(side, notes, monkeypatch, tmp_path):
    monkeypatch.setattr(lite, "is_installed", lambda: False)
    run = sl.clean(photos(tmp_path, side), epochs=1, noise_rate=0.1, device="cpu")
    assert [note for note in run.result.notes if "smallloss[photos]" in note] == [WOULD_HELP] * notes
    assert run.result.settings["settings"]["net"] == "small-convnet"


@pytest.mark.parametrize(
    "wishes, device, name",
    [
        ({}, "cpu", "photos:224"),
        ({}, "cuda", "photos:224"),
        ({"preset": "cpu"}, "cpu", "photos:224"),  # what the hardware would have chosen
        ({"settings": {"beta": 0.2}}, "cpu", "photos:224"),
        ({"backbone": "photos"}, "cuda", "photos:224"),
        ({"backbone": "photos:160"}, "cuda", "photos:160"),
        ({"backbone": "mine:make"}, "cpu", "mine:make"),
        ({"backbone": "none"}, "cpu", None),
        ({"backbone": "none", "features": "emb.npz"}, "cpu", None),
        ({"features": "emb.npz"}, "cpu", None),
        ({"net": "resnet-9"}, "cpu", None),
        ({"settings": {"net": "resnet-9"}}, "cpu", None),
        ({"preset": "paper"}, "cpu", None),
    ],
)
def test_who_says_what_sees_the_pictures_gets_it(wishes, device, name, monkeypatch, tmp_path):
    monkeypatch.setattr(lite, "is_installed", lambda: True)
    backbone, said = backbone_for(sl.load(photos(tmp_path)), NO_WISH | wishes, torch.device(device))
    assert backbone == name
    assert bool(said) == (name is not None and wishes.keys().isdisjoint({"backbone"}))


def test_arrays_and_small_pictures_stay_as_they_are(monkeypatch, tmp_path):
    monkeypatch.setattr(lite, "is_installed", lambda: True)
    large = sl.load((np.zeros((4, 96, 96, 3), np.uint8), [0, 1, 0, 1]))
    for data in (large, sl.load(photos(tmp_path, 64))):
        assert backbone_for(data, NO_WISH, CPU) == (None, [])


def test_many_are_seen_smaller_where_there_is_no_gpu():
    assert [lite.sized(torch.device(on), n) for on in ("cpu", "cuda") for n in (10_000, 10_001)] == [
        *("photos:224", "photos:128", "photos:224", "photos:224"),
    ]
