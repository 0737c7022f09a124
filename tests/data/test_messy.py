"""Data as strangers bring it: read for what it is, or refused in a sentence, and never misread in silence."""

import re

import pytest

import smallloss.data
from smallloss.data import load, source
from smallloss.errors import InputError
from sources import draw

NUM = ["1.5", "2.5", "3.5", "0.5", "7.25", "9.5"]
LABEL = ["a", "b", "b", "a", "b", "a"]


def rows(*columns, head, end="\n"):
    return end.join([head, *map(",".join, zip(*columns, LABEL, strict=True))]) + end


@pytest.mark.parametrize(
    "text, width, said",
    [
        (rows(NUM, head="\ufeffnum,label", end="\r\n"), 1, "numbers (.*): 'num'"),
        (rows(["3", "1", "2", "5", "4", "0"], NUM, head="Unnamed: 0,num,label"), 1, "left out .*: 'Unnamed: 0'"),
        (rows([f"2024-01-0{k}" for k in range(1, 7)], head="day,label"), 1, "numbers (.*): 'day'"),
        (rows([f"2024-01-0{k}T10:00:00Z" for k in range(1, 7)], head="at,label"), 1, "numbers (.*): 'at'"),
        (rows(NUM, [f'"{n.replace(".", ",")}"' for n in NUM], head="num,x,label"), 1, "cells of 'x' .*'1,5'"),
        (rows(NUM, [f"${n}" for n in NUM], head="num,cost,label"), 1, "cells of 'cost' look like numbers"),
        (rows(NUM, LABEL, head="num,kind,label"), 3, "can be told from 'kind' alone"),
        (rows(NUM, LABEL[::-1], head="num,given_label,label"), 1, "Not learned from, .*: 'given_label'"),
        (rows(NUM, NUM, head="x,y,label"), 2, "numbers (.*): 'x', 'y'"),
        (rows(NUM, NUM, head="num,x,label").replace(",", ";"), 2, "numbers (.*): 'num', 'x'"),
        (rows(NUM, NUM, head='"num, x",y,label').replace(",", "\t").replace("num\t", "num,"), 2, "'num, x', 'y'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["csv", "CSV"])
def test_a_table_is_read_for_what_it_is(tmp_path, text, width, said, ending):
    (tmp_path / f"t.{ending}").write_bytes(text.encode())
    data = load(tmp_path / f"t.{ending}")
    assert data.inputs.shape == (6, width)
    assert re.search(said, " ".join(data.notes))


def test_a_cell_may_be_a_book(tmp_path):
    texts = [f"word{k} " * 300_000 for k in range(4)]
    (tmp_path / "t.csv").write_text("text,label\n" + "".join(f"{text},{k % 2}\n" for k, text in enumerate(texts)))
    assert len(load(tmp_path / "t.csv")) == 4


def drawn(root, *places):
    for k, place in enumerate(places):
        draw(root / place, (40 * k, 0, 9))


CLASSES = ("cat/0.png", "cat/1.png", "dog/0.png", "dog/1.png")


def test_a_folder_as_an_archive_leaves_it(tmp_path):
    """Beside train and test lie a readme, what a Mac packed, and labels; a photo that Pillow does not know is named."""
    root = tmp_path / "set"
    drawn(root, *(f"{part}/{place}" for part in ("train", "test") for place in CLASSES))
    for place in ("__MACOSX/train/cat/._0.png", "README.txt", "labels/all.txt", "train/cat/9.HEIC"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_bytes(b"x")
    data = load(root)
    assert (data.classes, len(data), len(data.test)) == (("cat", "dog"), 4, 4)
    assert list(data.unreadable) == ["train/cat/9.HEIC"]
    assert "Not used, being neither train, val nor test: 'labels'." in data.notes
    with pytest.raises(InputError, match=r"holds one folder only, 'set', .* give .*set\.$"):
        load(tmp_path)


@pytest.mark.parametrize("head", ["img,width,label", "path,width,label"])
def test_pictures_are_found_by_their_paths_whatever_the_column_is_called(tmp_path, head):
    drawn(tmp_path, *CLASSES)
    places = CLASSES if head.startswith("img") else ("gone.mp4", *CLASSES)
    (tmp_path / "t.csv").write_text(f"{head}\n" + "".join(f"{place},{len(place)},{place[:3]}\n" for place in places))
    assert load(tmp_path / "t.csv").kind == "pictures"
    rows = "".join(f"a {k}. review of what was bought here,https://x.y/{k}.png,{k % 2}\n" for k in range(6))
    (tmp_path / "u.csv").write_text("review,picture,label\n" + rows)
    assert load(tmp_path / "u.csv").kind == "text"


def test_paths_written_on_windows(tmp_path):
    drawn(tmp_path, *CLASSES)
    paths = "path,label\n" + "".join(f"{place.replace('/', chr(92))},{place[:3]}\n" for place in CLASSES)
    (tmp_path / "t.csv").write_text(paths)
    data = load(tmp_path / "t.csv")
    assert data.inputs[:, 0, 0, 0].tolist() == [0, 40, 80, 120]
    assert data.ids[0] == "cat\\0.png"


def test_a_new_source_is_one_file(tmp_path, monkeypatch):
    """It says what it takes, and is found there: nothing else knows of it."""
    (tmp_path / "sums.py").write_text(
        "import numpy as np\n"
        "from smallloss.data.arrays import from_arrays\n"
        "from smallloss.data.source import Source\n"
        "def load_sums(n): return from_arrays(np.eye(int(n)), np.arange(int(n)) % 2, name='sums')\n"
        "SOURCE = Source('sums:N', load_sums, 'sums', needs='how many', is_place=False)\n"
    )
    monkeypatch.setattr(smallloss.data, "__path__", [*smallloss.data.__path__, str(tmp_path)])
    monkeypatch.setattr(source, "sources", source.sources.__wrapped__)
    assert len(load("sums:6")) == 6
    with pytest.raises(InputError, match="sums needs how many: write sums:N"):
        load("sums")
    assert "sums:N" in source.known()
