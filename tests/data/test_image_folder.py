import os

import pytest

from smallloss.data import load
from smallloss.data.dataset import Unreadable
from smallloss.errors import InputError
from sources import draw


def two_classes(root, each=2):
    for k in range(each):
        draw(root / "cat" / f"{k}.png", (k, 0, 0))
        draw(root / "dog" / f"{k}.png", (0, k, 0))


def test_a_class_per_subfolder_and_ids_are_paths(tmp_path):
    two_classes(tmp_path)
    draw(tmp_path / "dog" / "deep" / "er" / "9.JPG", (0, 0, 255), size=(40, 60))
    (tmp_path / ".hidden").mkdir()
    draw(tmp_path / ".hidden" / "x.png")
    draw(tmp_path / "cat" / ".x.png")
    data = load(tmp_path)
    assert data.classes == ("cat", "dog")
    assert list(data.ids) == ["cat/0.png", "cat/1.png", "dog/0.png", "dog/1.png", "dog/deep/er/9.JPG"]
    assert data.labels.tolist() == [0, 0, 1, 1, 1]
    assert data.inputs.shape == (5, 32, 32, 3)
    assert data.inputs[:2, 0, 0].tolist() == [[0, 0, 0], [1, 0, 0]]
    assert (data.kind, data.flip, data.test, data.true_labels) == ("pictures", True, None, None)
    assert data.name == tmp_path.name
    assert len(data.notes) == 1
    assert "32 x 32" in data.notes[0]
    assert load(str(tmp_path)).fingerprint() == data.fingerprint()


def test_gray_stays_gray_and_numbers_sort_as_numbers(tmp_path):
    for k in (2, 10, 1):
        draw(tmp_path / str(k) / "a.png", k)
        draw(tmp_path / str(k) / "b.png", k)
    data = load(tmp_path)
    assert (data.classes, data.inputs.shape, data.flip) == (("1", "2", "10"), (6, 32, 32, 1), False)
    assert [int(data.classes[k]) for k in data.labels] == data.inputs[:, 0, 0, 0].tolist()


@pytest.mark.parametrize("name", [b"=cmd()", b"line\nbreak", "\u202egnp".encode(), b" spaced ", b"caf\xe9"])
def test_hostile_names_survive_and_bytes_that_are_no_utf8_are_escaped(tmp_path, name):
    for folder in (os.fsdecode(name), "tea"):
        for k in range(2):
            draw(tmp_path / folder / f"{folder}{k}.png", 5)
    shown = name.decode("utf-8", "backslashreplace")
    data = load(tmp_path)
    assert set(data.classes) == {shown, "tea"}
    assert f"{shown}/{shown}0.png" in data.ids


def test_links_are_followed_and_loops_end(tmp_path):
    root, elsewhere, aviary = tmp_path / "root", tmp_path / "elsewhere", tmp_path / "aviary"
    two_classes(root)
    draw(elsewhere / "far.png")
    draw(aviary / "tit.png")
    (root / "cat" / "more").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(root / "cat")
    (root / "cat" / "up").symlink_to(root)
    (root / "cat" / "self").symlink_to(".")
    (root / "cat" / "snake").symlink_to("snake")
    (root / "dog" / "linked.png").symlink_to(elsewhere / "far.png")
    (root / "bird").symlink_to(aviary)
    (root / "dog" / "birds").symlink_to(aviary)  # another class: not followed
    data = load(root)
    seen = "bird/tit.png cat/0.png cat/1.png cat/more/far.png dog/0.png dog/1.png dog/linked.png"
    assert list(data.ids) == seen.split()


def test_unreadable_pictures_are_listed_and_skipped(tmp_path):
    two_classes(tmp_path)
    (tmp_path / "cat" / "broken.png").write_bytes(b"\x89PNG nothing")
    (tmp_path / "dog" / "gone.jpg").symlink_to(tmp_path / "nowhere")
    (tmp_path / "dog" / "notes.txt").write_text("no picture")
    (tmp_path / "empty").mkdir()
    data = load(tmp_path)
    assert len(data) == 4
    assert data.unreadable == {
        "cat/broken.png": Unreadable("not a picture in a known format", "cat", before=2),
        "dog/gone.jpg": Unreadable("No such file or directory", "dog", before=4),
    }
    said = " ".join(data.notes)
    assert "2 of the 6 pictures" in said
    assert "'dog/notes.txt'" in said
    assert "'empty' holds no pictures" in said


@pytest.mark.parametrize("other, unused", [("test", "val"), ("val", None), ("Valid", None), ("validation", None)])
def test_splits_are_respected(tmp_path, other, unused):
    two_classes(tmp_path / "train", each=3)
    two_classes(tmp_path / other, each=1)
    if unused:
        two_classes(tmp_path / unused)
    draw(tmp_path / other / "dog" / "z.png", 200, size=(90, 70))
    (tmp_path / other / "cat" / "bad.png").write_bytes(b"")
    data = load(tmp_path)
    assert len(data) == 6
    assert data.ids[0] == "train/cat/0.png"
    assert list(data.test.ids) == [f"{other}/cat/0.png", f"{other}/dog/0.png", f"{other}/dog/z.png"]
    assert data.test.labels.tolist() == data.test.true_labels.tolist() == [0, 1, 1]
    assert data.test.inputs.shape[1:] == data.inputs.shape[1:]
    bad = Unreadable("not a picture in a known format", "cat", before=1)
    assert data.test.unreadable == {f"{other}/cat/bad.png": bad}
    assert not data.unreadable
    said = " ".join(data.notes)
    assert "1 of the 4 pictures" in said
    assert (f"'{unused}' is not used" in said) == bool(unused)


def test_a_test_part_in_colour_beside_gray_training_pictures_and_a_class_called_train(tmp_path):
    for name in ("a", "b"):
        draw(tmp_path / "split" / "train" / name / "0.png", 5)
        draw(tmp_path / "split" / "train" / name / "1.png", 5)
        draw(tmp_path / "split" / "test" / name / "0.png", (255, 0, 0))
    data = load(tmp_path / "split")
    assert data.inputs.shape[1:] == data.test.inputs.shape[1:] == (32, 32, 1)
    for name in ("train", "car"):
        draw(tmp_path / "classes" / name / "0.png")
        draw(tmp_path / "classes" / name / "1.png")
    assert load(tmp_path / "classes").classes == ("car", "train")


TWO = ("cat/0.png", "cat/1.png", "dog/0.png", "dog/1.png")


@pytest.mark.parametrize(
    "good, broken, sentence",
    [
        ((), (), "is a folder without idx files and without pictures"),
        (("a.png",), (), "holds pictures but no class subfolders"),
        ((), ("cat/a.txt",), "'cat' the first, hold none"),
        (TWO[:2], (), "All 2 examples of data carry the label 'cat'"),
        (TWO[1:3], (), "No label of data occurs twice"),
        ((), TWO[:3], "None of the 3 pictures of data can be read; the first, 'cat/0.png': not a picture"),
        (("cat/2.png", "cat/3.png"), TWO[:3], "All 2 examples of data carry the label 'cat'"),
        (("test/cow/0.png", *(f"train/{place}" for place in TWO)), (), "data test has the class 'cow', which no"),
    ],
)
def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path, good, broken, sentence):
    root = tmp_path / "data"
    root.mkdir()
    for place in good:
        draw(root / place)
    for place in broken:
        (root / place).parent.mkdir(exist_ok=True)
        (root / place).write_bytes(b"x")
    with pytest.raises(InputError, match=sentence) as caught:
        load(root)
    assert "\n" not in str(caught.value)
