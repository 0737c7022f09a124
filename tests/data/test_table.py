import io
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
from PIL import Image

from smallloss.data import load
from smallloss.data import table as described
from smallloss.data.dataset import Unreadable
from smallloss.data.table import MOST_CATEGORIES
from sources import csv, draw, table

HOSTILE = ["</script>", "../../x", "line\nbreak", "\u202eegrahc", "=cmd()"]


# Tables of pictures


def pictures(folder, n=4):
    for k in range(n):
        draw(folder / "img" / f"{k}.png", (k, 0, 9))


def test_a_table_of_pictures(tmp_path):
    pictures(tmp_path)
    rows = "\n".join(f"img/{k}.png,{'ab'[k % 2]},{'ba'[k % 2]}" for k in (2, 0, 3, 1))
    data = load(csv(tmp_path / "t.csv", f"filename,label,true_label\n{rows}\nimg/none.png,a,a\n"))
    assert list(data.ids) == ["img/2.png", "img/0.png", "img/3.png", "img/1.png"]
    assert data.inputs[:, 0, 0, 0].tolist() == [2, 0, 3, 1]
    assert data.labels.tolist() == [0, 0, 1, 1]
    assert data.true_labels.tolist() == [1, 1, 0, 0]
    assert data.unreadable == {"img/none.png": Unreadable("No such file or directory", "a", before=4)}
    assert data.kind == "pictures"
    assert any("'filename'" in note for note in data.notes)


def test_absolute_paths_an_id_column_and_a_label_by_name(tmp_path):
    pictures(tmp_path)
    paths = [str(tmp_path / "img" / f"{k}.png") for k in range(4)]
    species = pa.array(["=cmd()", "</script>"] * 2).dictionary_encode()
    data = load(table(tmp_path / "t.parquet", Image=paths, id=HOSTILE[:4], species=species), label="species")
    assert (list(data.ids), data.classes, data.labels.tolist()) == (HOSTILE[:4], ("</script>", "=cmd()"), [1, 0, 1, 0])


# Numbers and categories


def test_numbers_categories_and_what_is_missing(tmp_path):
    path = csv(
        tmp_path / "t.csv",
        "id,age,colour,label,empty,code\n"
        "p,1,red,no,,x1\nq,,blue,yes,,x2\nr, 5 ,red,no,NA,x3\ns,3,,yes,,x4\nt,1e1,red,yes,,x5\n",
    )
    data = load(path)
    assert (data.kind, data.flip, list(data.ids)) == ("table", False, ["p", "q", "r", "s", "t"])
    assert data.classes == ("no", "yes")
    expected = [  # age, age missing, red, "" (missing), blue
        [1, 0, 1, 0, 0],
        [4, 1, 0, 0, 1],
        [5, 0, 1, 0, 0],
        [3, 0, 0, 1, 0],
        [10, 0, 1, 0, 0],
    ]
    np.testing.assert_array_equal(data.inputs, np.array(expected, np.float32))
    said = " ".join(data.notes)
    assert "Columns used as numbers (a missing one becomes the median, and is marked): 'age'." in said
    assert "Columns used as categories (at most 32 each): 'colour'." in said
    assert "Columns left out (empty, or different in every row): 'empty', 'code'." in said
    assert data.shown[1] == "age = missing, colour = blue, empty = missing, code = x2"
    assert len(data.shown) == 5
    assert data.take(np.array([3, 1])).shown[1] == data.shown[1]
    assert data.shown[-4] == data.shown[1]


def test_parquet_and_csv_give_the_same_features(tmp_path):
    a, b, label = [1.5, None, 3.0, 2.0], ["x", "y", "x", None], [0, 1, 0, 1]
    columns = table(tmp_path / "t.parquet", a=a, b=b, y=label)
    text = csv(tmp_path / "t.csv", "a,b,y\n1.5,x,0\n,y,1\n3.0,x,0\n2.0,,1\n")
    first, second = load(columns), load(text)
    np.testing.assert_array_equal(first.inputs, second.inputs)
    assert first.fingerprint() == second.fingerprint()
    assert first.classes == ("0", "1")


def test_types_of_parquet_columns(tmp_path):
    path = table(
        tmp_path / "t.parquet",
        flag=[True, False, None],
        day=[date(1970, 1, 2), date(1970, 1, 5), date(1970, 1, 3)],
        price=[Decimal("1.5"), Decimal("2.5"), Decimal("0.5")],
        size=pa.array([3, 7, 5]).dictionary_encode(),
        big=[1e300, np.inf, 2.0],
        row=[0, 1, 2],
        label=["a", "b", "b"],
    )
    data = load(path)
    assert data.inputs.tolist() == [[1, 0, 1, 1.5, 3, 2, 1], [0, 0, 4, 2.5, 7, 2, 1], [0.5, 1, 2, 0.5, 5, 2, 0]]
    assert "'row'" in data.notes[-1]


def test_rare_categories_share_one_column(tmp_path):
    names = [f"c{k:02d}" for k in range(40) for _ in range(3 if k < MOST_CATEGORIES else 2)]
    path = table(tmp_path / "t.parquet", kind=names, label=[k % 2 for k in range(len(names))])
    x = load(path).inputs
    assert x.shape == (len(names), MOST_CATEGORIES + 1)
    assert (x.sum(axis=1) == 1).all()
    assert x.sum(axis=0).tolist() == [3.0] * MOST_CATEGORIES + [16.0]


# Texts

SPORT = ["the team won the match", "a goal in the last minute", "the coach praised the team", "fans sang at the match"]
FOOD = ["boil the rice with salt", "a recipe for tomato soup", "fry the onions in butter", "soup with rice and butter"]


def test_texts_become_features_that_keep_the_subject(tmp_path):
    path = table(tmp_path / "t.parquet", sentence=SPORT + FOOD, label=["sport"] * 4 + ["food"] * 4, length=[1] * 8)
    data = load(path)
    assert data.kind == "text"
    assert data.shown == SPORT + FOOD
    assert data.inputs.dtype == np.float32
    assert data.inputs.shape == (8, 7)
    assert any("'sentence'" in note for note in data.notes)
    x = data.inputs / np.linalg.norm(data.inputs, axis=1, keepdims=True)
    alike = x @ x.T
    same = np.kron(np.eye(2), np.ones((4, 4))).astype(bool) & ~np.eye(8, dtype=bool)
    assert alike[same].mean() > alike[~same & ~np.eye(8, dtype=bool)].mean() + 0.05
    assert load(path).fingerprint() == data.fingerprint()


def test_prose_is_found_without_a_name_and_short_strings_are_categories(tmp_path):
    long = [f"this is the {word} long remark of a customer" for word in ("first", "second", "third", "fourth")]
    path = table(tmp_path / "t.parquet", remark=long, shop=["x", "y", "x", "y"], y=[0, 1, 0, 1])
    assert load(path).kind == "text"
    assert load(path).shown == long
    short = table(tmp_path / "s.parquet", remark=["a b", "a", "a", "a b"], y=[0, 1, 0, 1])
    assert load(short).kind == "table"


def test_missing_texts_are_empty_and_at_most_256_features(tmp_path):
    rng = np.random.default_rng(0)
    words = [" ".join(f"w{k}" for k in rng.integers(0, 300, 12)) for _ in range(400)]
    path = table(tmp_path / "t.parquet", text=[None, *words], label=[k % 2 for k in range(401)])
    data = load(path)
    assert data.inputs.shape == (401, 256)
    assert (data.inputs[0] == 0).all()
    assert data.shown[0] == ""


def test_of_very_long_collections_a_part_makes_the_vocabulary(tmp_path, monkeypatch):
    monkeypatch.setattr(described, "_COUNTED", sum(map(len, SPORT + FOOD)) - 1)
    path = table(tmp_path / "t.parquet", text=SPORT + FOOD, label=["s"] * 4 + ["f"] * 4)
    data = load(path)
    assert data.inputs.shape == (8, 7)
    whole = load(table(tmp_path / "u.parquet", text=(SPORT + FOOD)[::2], label=["s"] * 2 + ["f"] * 2))
    assert data.notes[-1].split()[7] == whole.notes[-1].split()[7]  # as many terms


def test_pictures_inside_a_table_are_read_as_datasets_are_shared(tmp_path):
    """{bytes, path}, as Hugging Face stores a column of pictures; of one without bytes, the file at its path."""
    Image.new("RGB", (40, 40), (250, 0, 0)).save(tmp_path / "far.png")
    cells = []
    for k in range(6):
        held = io.BytesIO()
        Image.new("RGB", (40, 40), (40 * k, 0, 0)).save(held, "PNG")
        cells.append({"bytes": held.getvalue(), "path": f"{k}.png"})
    cells[5] = {"bytes": None, "path": "far.png"}
    data = load(table(tmp_path / "u.parquet", image=[cell["bytes"] for cell in cells[:5]], label=list("ababa")))
    assert data.inputs[:, 0, 0, 0].tolist() == [0, 40, 80, 120, 160]  # or as nothing but the bytes
    path = table(tmp_path / "t.parquet", image=cells, label=["a", "b"] * 3, split=["train"] * 6)
    data = load(path)
    assert data.inputs.shape == (6, 40, 40, 3)
    assert data.inputs[:, 0, 0, 0].tolist() == [0, 40, 80, 120, 160, 250]
    assert data.ids == ["0", "1", "2", "3", "4", "5"]
    assert "The pictures are in the column 'image', the labels in 'label'." in data.notes
    assert "Columns not used: 'split'." in data.notes
