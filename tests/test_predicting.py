"""`smallloss predict` and `sl.load_classifier`: the classifier of a run, later and elsewhere."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import smallloss as sl
from command import smallloss
from smallloss.data.table_files import read_table
from smallloss.errors import InputError

NAMES = np.array(["cat", "=dog", "eel"])


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """60 pictures of 40 x 40 in three folders, by brightness; 12 new ones, one of them broken, in no order."""
    rng = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    for k in range(72):
        light = np.clip(50 + 70 * (k % 3) + rng.normal(0, 15, (40, 40, 3)), 0, 255).astype(np.uint8)
        place = f"photos/{NAMES[k % 3]}/{k}.png" if k < 60 else f"new/{'deep/er/' * (k % 2)}{k}-is-{k % 3}.png"
        save(tmp_path / place, light)
    (tmp_path / "new" / "broken.jpg").write_text("no picture")
    (tmp_path / "new" / "notes.txt").write_text("nor is this")
    return tmp_path


def made(data="photos", **options):
    return sl.clean(data, "run", noise_rate=0.05, epochs=6, **options)


def test_new_photos_from_the_command_line(photos):
    run = made()
    said = smallloss("predict", "run", "new", "--out", "found.csv").out
    assert "found.csv: 13 examples: 4 '" in said
    assert "1 cannot be read (broken.jpg: not a picture in a known format)." in said
    table = read_table(photos / "found.csv").to_pydict()
    assert table["id"][:2] == ["60-is-0.png", "62-is-2.png"]
    assert table["id"][-1] == "deep/er/71-is-2.png"
    for name, label, sure, why in zip(*(table[column] for column in table), strict=True):
        if name == "broken.jpg":
            assert (label, sure, why) == (None, None, "not a picture in a known format")
            continue
        assert label.lstrip("'") == NAMES[int(name[-5])]  # a csv defuses what looks like a formula
        assert (1 / 3 < float(sure) <= 1, why) == (True, None)
    pictures = np.stack([np.asarray(Image.open(photos / "new" / name)) for name in table["id"][:2]])
    assert run.classifier.predict_proba(pictures).max(1) == pytest.approx(
        [float(sure) for sure in table["predicted_probability"][:2]]
    )


def test_one_photo_a_table_of_paths_and_arrays_say_the_same(photos):
    made()
    names = ["new/60-is-0.png", "new/deep/er/61-is-1.png"]
    (photos / "paths.csv").write_text("path,remark\n" + "".join(f"{name},x\n" for name in names))
    by_table = sl.predict("run", "paths.csv", "found.parquet")
    assert by_table["id"] == names
    assert list(by_table["predicted_label"]) == ["cat", "=dog"]
    assert read_table(photos / "found.parquet").to_pydict()["predicted_label"] == ["cat", "=dog"]
    by_file = sl.predict("run/model.safetensors", names[0])
    assert by_file["predicted_probability"][0] == pytest.approx(by_table["predicted_probability"][0])
    np.savez("new.npz", x=[np.asarray(Image.open(name)) for name in names], ids=["u", "v"])
    by_array = sl.predict("run", "new.npz")
    assert by_array["id"] == ["u", "v"]
    assert by_array["predicted_probability"] == pytest.approx(by_table["predicted_probability"])


def test_a_path_is_no_picture(photos):
    run = made()
    for path in ("new", photos / "new", [photos / "new" / "60-is-0.png"]):
        with pytest.raises(InputError, match=r"X is a path; sl\.predict\(run, path\) takes files and folders"):
            run.predict(path)


def test_many_are_predicted_in_parts(photos, monkeypatch):
    made()
    whole = sl.predict("run", "new")
    monkeypatch.setattr("smallloss.run.predict._PART", 5)
    parts = sl.predict("run", "new")
    assert list(parts["predicted_label"]) == list(whole["predicted_label"])
    assert list(parts["reason"]) == list(whole["reason"])


def test_gray_pictures_are_seen_as_those_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k in range(30):
        save(tmp_path / f"photos/{'ab'[k % 2]}/{k}.png", np.full((32, 32), 60 + 100 * (k % 2) + k, np.uint8))
    made()
    save(tmp_path / "red.png", np.full((50, 40, 3), [250, 0, 0], np.uint8))
    assert sl.load_classifier("run").target.gray
    assert list(sl.predict("run", "red.png")["predicted_label"]) == ["a"]  # dark in gray


@pytest.mark.parametrize("kind", ["text", "table"])
def test_texts_and_rows_are_described_as_those_of_the_run(kind, tmp_path, monkeypatch):
    """By terms, medians and categories of the run's own data, though the new rows are few and have no labels."""
    monkeypatch.chdir(tmp_path)
    words = {"tea": "a pot of green tea with some leaves", "car": "the fast engine of an old red car"}
    labels = ["tea", "car"] * 30
    rows = [f'"{words[name]} and {k} more things",{k % 7},{name}' for k, name in enumerate(labels)]
    if kind == "table":
        rows = [f"{ord(name[0]) + k % 5},x{k % 2},{name}" for k, name in enumerate(labels)]
    header = "text,other,label" if kind == "text" else "size,colour,label"
    (tmp_path / "data.csv").write_text("\n".join([header, *rows]))
    run = made("data.csv")
    features = run.result.dataset.inputs[:2]
    new = [header.removesuffix(",label"), *(row.rpartition(",")[0] for row in rows[:2])]
    (tmp_path / "new.csv").write_text("\n".join(new))
    found = sl.predict("run", "new.csv")
    assert found["predicted_probability"] == pytest.approx(run.classifier.predict_proba(features).max(1), abs=1e-5)
    assert list(found["predicted_label"]) == ["tea", "car"]
    with pytest.raises(InputError, match=r"`smallloss predict` makes them, of a file of new ones"):
        run.classifier.predict(["a text"])
    (tmp_path / "less.csv").write_text("other\n1\n")
    with pytest.raises(InputError, match=r"less.csv has no column '(text|size)'; what was learned from has one"):
        sl.predict("run", "less.csv")
    (tmp_path / "data.csv").write_text("\n".join([header, *rows[:33]]))
    with pytest.raises(InputError, match=r"data.csv is not described as it was when the run was made: it has changed"):
        sl.predict("run", "new.csv")
    (tmp_path / "data.csv").unlink()
    with pytest.raises(InputError, match=r"of the (texts|rows) of .*data.csv, .* put that file back where it was"):
        sl.predict("run", "new.csv")


def test_features_are_predicted_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(0, 1, (60, 4)) + np.arange(60)[:, None] % 2 * 6
    made((x, np.arange(60) % 2))
    np.save("new.npy", x[:5])
    assert list(sl.predict("run", "new.npy")["predicted_label"]) == ["0", "1", "0", "1", "0"]
    np.save("wide.npy", x[:5, :3])
    with pytest.raises(InputError, match=r"sees 4 features of each example, and the new ones have the shape \(5, 3\)"):
        sl.predict("run", "wide.npy")


OWN = "def make():\n    return lambda pictures: pictures.mean((2, 3))\n"


def test_a_backbone_makes_the_features_of_new_photos(photos, monkeypatch):
    monkeypatch.syspath_prepend(photos)
    (photos / "own_backbone.py").write_text(OWN)
    made(backbone="own_backbone:make")
    found = sl.predict("run", "new")
    right = [name[-5] == str(list(NAMES).index(label)) for name, label in
             zip(found["id"], found["predicted_label"], strict=True) if label is not None]  # fmt: skip
    assert len(right) == 12
    assert all(right)
    assert sl.load_classifier("run").predict(np.full((1, 9, 9, 3), 50, np.uint8)[:0]).tolist() == []


def test_a_backbone_without_a_name_is_asked_for(photos):
    def mean(pictures):
        return pictures.mean((2, 3))

    made(backbone=mean)
    with pytest.raises(InputError, match=r"The backbone of run.* is one of your own, .*mean: load it in Python"):
        sl.load_classifier("run")
    with pytest.raises(InputError, match=r"The backbone of run.* is .*mean, not .*softmax"):
        sl.load_classifier("run", backbone=torch.softmax)
    assert list(sl.predict("run", "new/60-is-0.png", backbone=mean)["predicted_label"]) == ["cat"]


class Own(nn.Sequential):
    def __init__(self, width: int = 4) -> None:
        super().__init__(nn.Flatten(), nn.Linear(192, width), nn.ReLU(), nn.Linear(width, 3))


def test_a_network_of_ones_own_is_asked_for(tiny, tmp_path):
    run = sl.clean((tiny.inputs, tiny.labels), tmp_path / "run", net=Own, noise_rate=0.2, epochs=2)
    with pytest.raises(InputError, match=r"is one of your own, Own: load it in Python, sl.load_classifier\(run, net="):
        sl.load_classifier(tmp_path / "run")
    with pytest.raises(InputError, match=r"belong to another network than the one given"):
        sl.load_classifier(tmp_path / "run", net=lambda: Own(5))
    again = sl.load_classifier(tmp_path / "run", net=Own)
    assert (again.predict_proba(tiny.inputs) == run.classifier.predict_proba(tiny.inputs)).all()
    assert not any(part.training for part in again.network.modules())


def test_two_networks_judge_together_after_loading_too(tiny, tmp_path):
    settings = {"mixmatch.networks": 2, "mixmatch.steps_per_epoch": 3}
    data = (tiny.inputs, NAMES[tiny.labels])
    run = sl.clean(data, tmp_path / "run", method="rsl_wm", noise_rate=0.2, epochs=3, settings=settings)
    again = sl.load_classifier(tmp_path / "run")
    assert len(again.network.members) == 2
    assert again.classes == run.classifier.classes == ("=dog", "cat", "eel")
    assert (again.predict_proba(tiny.inputs) == run.classifier.predict_proba(tiny.inputs)).all()


REFUSED = [
    ("nothing", "found.csv", r"There is nothing at nothing to predict; give a folder of pictures, a picture"),
    ("new/notes.txt", "found.csv", r"notes.txt is of an unknown kind; give a folder of pictures"),
    ("empty", "found.csv", r"empty holds no example to predict"),
    ("new", "found.txt", r"found.txt is neither .csv nor .parquet"),
    ("paths.csv", "paths.csv", r"--out paths.csv is the file that is read"),
    ("paths.csv", "found.csv", r"paths.csv has no column of paths of pictures; name it path. It has 'where'"),
    ("flat.npz", "found.csv", r"flat.npz has no array named features or x or .*; it has y"),
    ("small.npy", "found.csv", r"The new examples have the shape \(3, 8, 8\), those trained on \(3, 40, 40\)"),
]


def test_what_cannot_be_predicted(photos):
    made()
    (photos / "empty").mkdir()
    (photos / "paths.csv").write_text("where\nin a drawer\n")
    np.savez("flat.npz", y=np.arange(3))
    np.save("small.npy", np.zeros((2, 8, 8, 3), np.uint8))
    for data, out, sentence in REFUSED:
        with pytest.raises(InputError, match=sentence):
            sl.predict("run", data, out)
    assert not (photos / "found.csv").exists()


def test_what_is_no_run(tmp_path):
    with pytest.raises(InputError, match=r"There is no model at .*model.safetensors: a finished run leaves one"):
        sl.load_classifier(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"0" * 100)
    with pytest.raises(InputError, match=r"is not a model that this version of smallloss wrote, or is cut short"):
        sl.load_classifier(tmp_path)


def test_a_folder_that_is_not_there_is_refused_before_any_work(tmp_path):
    with pytest.raises(InputError, match=r"There is no folder .*nowhere to write new\.csv to; make it first"):
        sl.predict(tmp_path / "no run", tmp_path / "no data.npy", tmp_path / "nowhere" / "new.csv")


def test_columns_that_a_run_left_out_are_not_asked_for_and_a_cell_of_another_kind_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"p{k}x,{k % 2 * 9 + k % 5},{k % 7},{'ab'[k % 2]}" for k in range(60)]
    (tmp_path / "data.csv").write_text("\n".join(["patient,size,age,label", *rows]))
    run = made("data.csv")
    (tmp_path / "new.csv").write_text("size,age\n1,2\n9,\n")
    found = sl.predict("run", "new.csv")
    assert list(found["predicted_label"]) == ["a", "b"]
    assert run.result.dataset.in_shape == (2,)  # an age that is missing now never was
    (tmp_path / "odd.csv").write_text("size,age\n1,2\n9,3\nlarge,4\n")
    with pytest.raises(InputError, match=r"Row 3 of column 'size' in odd.csv is 'large', which is not a finite number"):
        sl.predict("run", "odd.csv")


def test_what_somebody_else_wrote_is_not_written_over(photos):
    made()
    (photos / "precious.csv").write_text("thesis\n1\n")
    with pytest.raises(InputError, match=r"precious\.csv is there already, and not a table of this command"):
        sl.predict("run", "new", "precious.csv")
    with pytest.raises(InputError, match=r"examples\.csv is there already"):
        sl.predict("run", "new", "run/examples.csv")
    for _ in range(2):
        sl.predict("run", "new", "found.csv")
