"""The official layout of WebVision, whole and with parts missing."""

import shutil

import pytest

import webvision
from smallloss.data import load
from smallloss.errors import InputError


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return webvision.make(tmp_path_factory.mktemp("data") / "web")


def test_the_first_50_classes_and_both_validation_sets(made):
    data = load(f"webvision:{made}")
    assert data.inputs.shape == (150, 299, 299, 3)
    assert (data.name, len(data.classes), data.true_labels, data.flip) == ("WebVision", 50, None, True)
    assert data.ids[3] == "google/q0001/0.jpg"
    assert data.classes[data.labels[3]] == "thing 1"
    assert data.test.ids[7] == "val000007.jpg"
    assert data.test.classes[data.test.labels[7]] == "thing 7"
    ilsvrc = data.also["ilsvrc"]
    assert ilsvrc.ids[49] == "n00000049/ILSVRC2012_val_00000049.JPEG"
    assert ilsvrc.classes[ilsvrc.labels[49]] == "thing 49"
    assert {tuple(part.mean) for part in (data, data.test, ilsvrc)} == {(0.485, 0.456, 0.406)}
    assert data.notes == ("Pictures are resized and centre-cropped to 299 x 299.",)


def test_resized_pictures_class_numbers_and_what_is_not_there(made, tmp_path):
    root = tmp_path / "web"
    shutil.copytree(made, root)
    (root / "google").rename(root / "google_resized_256")
    (root / "val_images_256").rename(root / "val_images")
    (root / "info" / "synsets.txt").unlink()
    (root / "google_resized_256" / "q0001" / "0.jpg").unlink()
    (root / "imagenet" / "val").rename(tmp_path / "elsewhere")
    data = load(f"webvision:{root}")
    assert data.classes[data.labels[3]] == "1"
    assert data.unreadable["google/q0001/0.jpg"].reason == "No such file or directory"
    assert data.also == {}
    assert f"they belong in {root}/imagenet/val/SYNSET/, or in an imagenet/val/SYNSET/ beside web" in data.notes[1]
    for k in range(50):
        (tmp_path / "elsewhere" / f"n{k:08}").rename(tmp_path / "elsewhere" / str(k))
    (tmp_path / "imagenet").mkdir()
    (tmp_path / "elsewhere").rename(tmp_path / "imagenet" / "val")
    assert len(load(f"webvision:{root}").also["ilsvrc"]) == 50


@pytest.mark.parametrize("name, text, sentence", [
    ("train_filelist_google.txt", None, r"lacks info/train_.*_google.txt, google/ \(or google_resized_256/\), val_"),
    ("val_filelist.txt", "val000001.jpg", "Line 1 of .*val_filelist.txt is 'val000001.jpg', no picture and class"),
    ("val_filelist.txt", "val000001.jpg 50", "val_filelist.txt lists no picture of the classes 0 to 49"),
    ("synsets.txt", "n00000001 tench", "synsets.txt names 1 classes, not 50 or more"),
])  # fmt: skip
def test_what_cannot_be_used_is_said(made, tmp_path, name, text, sentence):
    shutil.copytree(made / "info", tmp_path / "info")
    if text is None:
        (tmp_path / "info" / name).unlink()
    else:
        (tmp_path / "info" / name).write_text(text)
        for folder in ("google", "val_images"):
            (tmp_path / folder).mkdir()
    with pytest.raises(InputError, match=sentence):
        load(f"webvision:{tmp_path}")
