"""`clean DATA --features` and `--backbone`: the network sees features, everyone else sees the data."""

import json
import sys

import numpy as np
import pytest
from PIL import Image

import smallloss as sl
from command import process
from markup import bench_of
from smallloss.auditing.session import audit
from smallloss.data.table_files import read_table
from smallloss.errors import InputError
from smallloss.exporting.export import export

OWN = """
from pathlib import Path

def make():
    calls = Path("calls")
    calls.write_text((calls.read_text() if calls.exists() else "") + "x")
    return lambda pictures: pictures.mean((2, 3))
"""


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """60 pictures in three classes of different brightness, every sixth in the wrong folder; their means in emb.npz."""
    rng = np.random.default_rng(0)
    ids, means = [], []
    for k in range(60):
        true = k % 3
        given = true if k % 6 else (true + 1) % 3
        pixels = np.clip(60 + 60 * true + rng.normal(0, 20, (32, 32, 3)), 0, 255).astype(np.uint8)
        ids.append(f"{'abc'[given]}/{k:02d}.png")
        means.append(pixels.mean((0, 1)))
        path = tmp_path / "photos" / ids[-1]
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    np.savez(tmp_path / "emb.npz", id=np.array(ids), features=np.array(means))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_features_train_and_pictures_are_shown_exported_and_audited(photos):
    run = sl.clean("photos", "run", features="emb.npz", epochs=8, noise_rate=1 / 6)
    assert run.result.settings["settings"]["net"] == "mlp"
    assert run.network.layers[1].in_features == 3
    table = read_table(photos / "run" / "examples.parquet").to_pydict()
    assert sorted(table["id"]) == sorted(np.load("emb.npz")["id"].tolist())
    bench = bench_of((photos / "run" / "report.html").read_text())
    assert bench["shown"]["sheets"][0]["address"].startswith("data:image/")
    assert len(bench["shown"]["rows"]) > 3
    written = export("run", "cleaned", "folder")
    files = list((photos / "cleaned").rglob("*.png"))
    assert len(files) == written.written < 60
    assert all(path.resolve().is_relative_to((photos / "photos").resolve()) for path in files)
    _, page = audit("run", kept=4, dropped=2, dataset=sl.load("photos"))
    assert page.read_text().count("data:image/png;base64,") == 6
    with pytest.raises(
        InputError, match=r"sees 3 features of .* \(1, 32, 32, 3\): give \[n, 3\].*emb.npz.*with a backbone"
    ):
        run.predict(np.zeros((1, 32, 32, 3), np.uint8))
    np.savez("emb.npz", id=np.load("emb.npz")["id"], features=np.eye(60, 3))
    with pytest.raises(InputError, match=r"holds a run with other settings \(data.features differs"):
        sl.clean("photos", "run", features="emb.npz", epochs=8, noise_rate=1 / 6)


def test_a_backbone_of_ones_own_through_the_command_line(photos):
    (photos / "own.py").write_text(OWN)
    words = ["clean", "photos", "--out", "run", "--epochs", "3", "--noise-rate", "0.2", "--backbone", "own:make"]
    done = process(*words, program=[sys.executable, "-P", "-m", "smallloss"])
    note = "the network sees 3 features from own:make, which was given pictures of 32 x 32 in 0..1, not normalised."
    assert note in " ".join(done.out.split())
    assert json.loads((photos / "run" / "config.json").read_text())["data"]["backbone"] == "own:make"
    kept, want = np.load("run/backbone.npz"), np.load("emb.npz")
    rows = dict(zip(want["id"].tolist(), want["features"], strict=True))
    assert kept["features"] == pytest.approx(np.array([rows[name] for name in kept["id"].tolist()]) / 255, abs=1e-5)
    before = (photos / "run" / "report.html").read_bytes()
    (photos / "run" / "checkpoint" / "rsl.safetensors").unlink()
    run = sl.clean("photos", "run", backbone="own:make", epochs=3, noise_rate=0.2)
    assert (photos / "calls").read_text() == "x"  # made once, by the first run
    assert (photos / "run" / "report.html").read_bytes() == before
    assert (run.result.dataset.inputs == kept["features"]).all()
    pictures = sl.load("photos").inputs
    assert run.predict(pictures).tolist() == run.predict(kept["features"]).tolist()
    assert len(run.predict(pictures[:2])) == 2
    assert (photos / "calls").read_text() == "xx"  # once more, for all that is predicted
    with pytest.raises(InputError, match=r"data.backbone was 'own:make', now 'own:other'"):
        sl.clean("photos", "run", backbone="own:other", epochs=3, noise_rate=0.2)


def test_what_is_refused_leaves_no_folder(photos):
    with pytest.raises(InputError, match="beta is 5"):
        sl.clean("photos", "run", backbone=lambda x: x.mean((2, 3)), epochs=1, settings={"beta": 5})
    with pytest.raises(InputError, match="give one of them"):
        sl.clean("photos", "run", backbone=lambda x: x.mean((2, 3)), features="emb.npz")
    with pytest.raises(InputError, match="there is no module 'nowhere'"):
        sl.clean("photos", "run", backbone="nowhere:make")
    assert not (photos / "run").exists()


def test_benchmarks_keep_their_noise_and_arrays_their_order():
    digits = sl.load("digits")
    rows = digits.inputs.reshape(len(digits), -1).astype(np.float32)
    run = sl.clean("digits", features=rows, epochs=1)
    assert run.result.settings["noise"]["drawn"] == "structured:0.3"
    assert run.result.dataset.in_shape == (64,)
    assert len(run.predict(rows[:5])) == 5


def test_predicting_texts_where_no_backbone_sees_them_says_what_is_wanted(photos):
    lines = [f'"{"good fine" if k % 2 else "bad poor"} thing {k % 7}",{k % 2}' for k in range(30)]
    (photos / "t.csv").write_text("\n".join(["text,label", *lines]))
    run = sl.clean("t.csv", epochs=1, noise_rate=0.1)
    with pytest.raises(InputError, match=r"give \[n, \d+\].*reduced by an SVD.*predicts texts as they are"):
        run.classifier.predict(["a good thing"])
