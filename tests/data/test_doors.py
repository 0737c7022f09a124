"""Every door: what a Python user has in hand becomes what the same examples become in a file, or a sentence."""

import csv
import io
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

import smallloss as sl
from smallloss.data import from_arrays, load
from smallloss.data.memory import as_frame, frame_of
from smallloss.errors import InputError
from sources import draw

# A table with gaps of every kind, as Python has it; the last column mixes numbers and text.
ROWS = {
    "age": [1, None, 5, 3, 10, 4],
    "size": [0.5, float("nan"), 2.25, 1e-3, 7.0, -1.0],
    "colour": ["red", "blue", None, "red", "", "red"],
    "member": [True, False, None, True, True, False],
    "code": [7, "b", None, 7, 2.5, "b"],
    "species": [3, 1, 3, 1, 3, 1],
}
TEXTS = ["the team won the match", "boil the rice with salt", "a goal in the last minute", "soup with rice", ""] * 2
ODD = np.arange(10) % 2


class Frame:
    """All that is asked of a frame: names, and its columns for Arrow. (polars, duckdb, ...)"""

    def __init__(self, columns):
        self.table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        self.columns = self.table.column_names

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Series(list):
    name = None


class OldFrame:
    """A frame that gives its columns by place, with names that need be no text. (pandas)"""

    def __init__(self, columns, index=()):
        cells = [Series(column) for column in columns.values()]
        self.columns = list(columns)
        self.index = SimpleNamespace(names=[name for name, _ in index] or [None], get_level_values=dict(index).get)
        self.iloc = type("ILoc", (), {"__getitem__": lambda _, where: cells[where[1]]})()


class Items:
    """A map-style dataset of torch."""

    def __init__(self, inputs, labels, classes=None):
        self.pairs = list(zip(inputs, labels, strict=True))
        if classes:
            self.classes = classes

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, at):
        return self.pairs[at]


class Part:
    """A Hugging Face dataset in memory."""

    def __init__(self, columns, **features):
        self.columns, self.features = columns, features

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, key):
        return pa.table(self.columns) if isinstance(key, slice) else self.columns[key]

    def with_format(self, kind):
        return self


class ClassLabel:
    names = ("neg", "pos")


def written(path, columns):
    """As a csv has it, gaps as empty cells."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(columns)
        rows = zip(*columns.values(), strict=True)
        out.writerows([["" if cell is None or cell != cell else cell for cell in row] for row in rows])
    return path


def as_text(columns):
    return {name: [None if cell is None else str(cell) for cell in cells] for name, cells in columns.items()}


FEATURES = {name: column for name, column in ROWS.items() if name != "species"}
TABLES = {
    "dict": ROWS,
    "dict of arrays": ROWS | {"size": np.array(ROWS["size"]), "species": torch.tensor(ROWS["species"])},
    "frame by columns": OldFrame({f" {name}": column for name, column in ROWS.items()}),
    "frame with a named index": OldFrame(FEATURES, index=[("species", ROWS["species"])]),
    "frame of Arrow": Frame(ROWS | as_text({"code": ROWS["code"]})),
    "Arrow": pa.table(ROWS | as_text({"code": ROWS["code"]})),
    "texts": as_text(ROWS) | {"colour": pa.array(ROWS["colour"]).dictionary_encode()},
}


@pytest.mark.parametrize("door", TABLES)
def test_rows_are_those_of_a_csv(door, tmp_path):
    data, file = load(TABLES[door], label="species"), load(written(tmp_path / "t.csv", ROWS), label="species")
    np.testing.assert_array_equal(data.inputs, file.inputs)
    assert data.fingerprint() == file.fingerprint()
    assert (data.kind, data.classes, data.notes) == ("table", ("1", "3"), file.notes)
    assert (data.values is None) == (door == "texts")  # numbers in memory stay numbers


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_frame_of(package, tmp_path):
    """The packages themselves, where they are installed."""
    module = pytest.importorskip(package)
    columns = ROWS if package == "pandas" else ROWS | as_text({"code": ROWS["code"]})
    data = load(module.DataFrame(columns), label="species")
    file = load(written(tmp_path / "t.csv", ROWS), label="species")
    assert data.fingerprint() == file.fingerprint()
    assert data.values == (1, 3)
    issues = as_frame({"index": [2, 0], "label": [3, None], "id": np.array(["a", None], object)}, package)
    assert frame_of(issues) == package
    assert issues["label"].dtype in ("Int64", getattr(module, "Int64", ""))
    texts, labels = module.Series(TEXTS), module.Series(ODD)
    assert load((texts, labels)).fingerprint() == load((TEXTS, ODD)).fingerprint()


def test_a_frame_of_features_with_its_labels(tmp_path):
    file = load(written(tmp_path / "t.csv", ROWS), label="species")
    for features in (FEATURES, OldFrame(FEATURES)):
        data = load((features, np.array(ROWS["species"])))
        assert (data.fingerprint(), data.values) == (file.fingerprint(), (1, 3))


TEXT_DOORS = {
    "list": (TEXTS, ODD),
    "array": (np.array(TEXTS), ODD.tolist()),
    "a gap": ([text or None for text in TEXTS], ODD),
    "torch": Items(TEXTS, ODD),
    "pairs": list(zip(TEXTS, ODD.tolist(), strict=True)),
    "Hugging Face": Part({"text": TEXTS, "label": ODD.tolist()}, text=object(), label=object()),
    "splits": {"train": Part({"text": TEXTS, "label": ODD.tolist()}, text=object(), label=object())},
}


@pytest.mark.parametrize("door", TEXT_DOORS)
def test_texts_are_those_of_a_csv(door, tmp_path):
    data, file = load(TEXT_DOORS[door]), load(written(tmp_path / "t.csv", {"text": TEXTS, "label": ODD.tolist()}))
    assert (data.kind, data.shown, data.fingerprint()) == ("text", TEXTS, file.fingerprint())


def test_classes_are_called_as_a_dataset_calls_them():
    x, y = torch.rand(6, 1, 8, 8), torch.arange(6) % 2
    data = load(Items(x, y, classes=["cat", "dog"]))
    assert (data.name, data.classes, data.labels.tolist()) == ("Items", ("cat", "dog"), [0, 1] * 3)
    np.testing.assert_array_equal(data.inputs, from_arrays(x, y).inputs)
    assert load(Items(x, y + 5, classes=["cat", "dog"])).values == (5, 6)  # these are not the places of names
    named = load(Part({"text": TEXTS, "label": ODD.tolist()}, text=object(), label=ClassLabel()))
    assert named.classes == ("neg", "pos")
    assert load({"x": x, "y": y}).fingerprint() == load((x, y)).fingerprint()


def pictures(folder):
    for k in range(6):
        draw(folder / f"{k}.png", (40 + 40 * k, 0, 9), (40, 36))
    return sorted(folder.glob("*.png"))


def test_pictures_are_those_of_a_table_of_paths(tmp_path):
    paths, labels = pictures(tmp_path), [4, 8] * 3
    opened = [Image.open(path) for path in paths]
    file = load(written(tmp_path / "t.csv", {"path": [path.name for path in paths], "label": labels}))
    doors = [paths, list(map(str, paths)), opened, [path.read_bytes() for path in paths], [*paths[:3], *opened[3:]]]
    for given in doors:
        data = load((given, labels))
        assert (data.kind, data.values, data.fingerprint()) == ("pictures", (4, 8), file.fingerprint())
        assert data.ids[5] == (str(paths[5]) if given in (doors[0], doors[1]) else "5")
    assert load(Items(opened, labels)).fingerprint() == file.fingerprint()
    assert load({"photo": opened, "label": labels}).fingerprint() == file.fingerprint()


@pytest.mark.parametrize("mode", ["1", "LA", "P", "RGBA", "CMYK", "I", "F", "HSV"])
def test_a_picture_in_memory_of_any_mode_is_read(mode, tmp_path):
    given = [Image.open(path).convert("RGB" if mode in ("CMYK", "HSV") else "L") for path in pictures(tmp_path)]
    given = [picture.convert(mode) for picture in given]
    got, expected = (load((some, list("ababab"))).inputs for some in (given, [one.convert("RGB") for one in given]))
    np.testing.assert_allclose(got[..., 0], expected[..., 0], atol=3)


def test_a_picture_lies_as_its_camera_held_it_and_a_broken_one_is_listed(tmp_path):
    paths = pictures(tmp_path)
    turned, held = Image.linear_gradient("L").resize((40, 40)), io.BytesIO()
    exif = turned.getexif()
    exif[0x0112] = 6
    turned.save(held, "JPEG", exif=exif)
    (tmp_path / "cut.png").write_bytes(paths[0].read_bytes()[:-30])
    data = load(([Image.open(held), Image.open(tmp_path / "cut.png"), *map(Image.open, paths)], list("abababab")))
    assert data.inputs[0].mean(axis=(0, 2)).argmax() == 0  # what was below is on the left
    assert (list(data.unreadable), data.ids[1]) == (["1"], "2")


# --- gaps in arrays -------------------------------------------------------------------------------------------------

X = np.array([[1, 5, np.nan], [np.nan, 2, 3], [4, 8, 5], [7, 1, np.nan]])


def test_gaps_in_arrays_become_the_median_and_are_marked(tmp_path):
    data = from_arrays(X, [0, 1, 0, 1], test=([[np.nan, 5, 4]], [0]))
    assert data.inputs.tolist() == [[1, 5, 4, 0, 1], [4, 2, 3, 1, 0], [4, 8, 5, 0, 0], [7, 1, 4, 0, 1]]
    assert data.test.inputs.tolist() == [[4, 5, 4, 1, 0]]
    assert data.notes == (
        "In 2 columns of features with missing values (NaN), the first of them 0: a missing one becomes the median, "
        "and is marked in a column of its own.",
    )
    for same in (X.astype(np.float32), np.where(np.isnan(X), None, X), torch.tensor(X)):
        assert load((same, [0, 1, 0, 1])).fingerprint() == from_arrays(data.inputs, [0, 1, 0, 1]).fingerprint()
    table = load(written(tmp_path / "t.csv", {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": [0, 1, 0, 1]}))
    np.testing.assert_array_equal(table.inputs, data.inputs[:, [0, 3, 1, 2, 4]])  # there each mark is beside its column
    nothing = np.column_stack([X, np.full(4, np.nan)])
    assert from_arrays(nothing, [0, 1, 0, 1]).inputs[:, [3, 6]].tolist() == [[0, 1]] * 4
    assert not from_arrays(X[2:, :2], [0, 1]).fills


def test_new_examples_are_filled_as_those_of_the_run_were(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4)) + (np.arange(60) % 2)[:, None]
    x[::5, 2] = np.nan
    run = sl.clean((x, np.arange(60) % 2), tmp_path / "run", noise_rate=0.1, epochs=1)
    whole = run.result.dataset.inputs
    assert whole.shape == (60, 5)
    again = sl.load_classifier(tmp_path / "run")
    filled = np.where(np.isnan(x), np.nanmedian(x, 0), x)
    for classifier in (run.classifier, again):
        assert classifier.predict_proba(x).shape == (60, 2)
        full = ~np.isnan(x).any(1)
        np.testing.assert_array_equal(classifier.predict_proba(x)[full], classifier.predict_proba(filled)[full])
        with pytest.raises(InputError, match=r"Feature 0 of the example at index 0 is nan"):
            classifier.predict_proba(np.full((1, 4), np.nan))  # no gap was seen there
        with pytest.raises(InputError, match=r"give \[n, 4\]"):
            classifier.predict_proba(x[:, :2])


# --- columns of labels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["label", "given_label", "y", "labels", "Target", "class", "category"])
def test_labels_are_found_by_name(name):
    assert load({"a": [1.5, 2.5, 3.5, 0.5], name: list("uvuv")}).classes == ("u", "v")


def test_a_likely_name_beside_a_sure_one_is_a_feature():
    data = load({"class": list("ppqq"), "category": list("pqqp"), "label": list("uvuv")})
    assert data.inputs.shape == (4, 4)
    assert "The labels are in the column 'label'." in data.notes


# --- what is refused ------------------------------------------------------------------------------------------------

SOME = {"a": [1.5, 2.5, 3.5, 0.5], "kind": list("uvuv"), "shop": list("xxyy"), "n": [1, 2, 3, 4]}
LATER, LOADER = SimpleNamespace(collect=None), SimpleNamespace(dataset=[], __iter__=None)
IMAGE = Image.new("L", (8, 8))
REFUSED = [
    (5, {}, r"data is a int; it must be a path or name, a pair \(X, y\), a DataFrame, a dict of columns, .* a Dataset"),
    (np.eye(3), {}, r"data is a ndarray; it must be"),
    (iter([]), {}, r"data is a list_iterator; it must be"),
    ([1, 2, 3], {}, r"data is a list, and its item 0 is a int; it must be"),
    (Items([1, 2], [3, 4], classes=None), {}, r"The inputs have the shape \(2,\)"),
    (LATER, {}, r"data is a SimpleNamespace; call \.collect\(\) or \.compute\(\) first, for it must be"),
    (LOADER, {}, r"data is a SimpleNamespace; give its \.dataset, for it must be"),
    ({}, {}, "dict has no rows"),
    (SOME, {}, r"dict has no column label, given_label or y; .* \(in Python, label=\)\. It may be 'kind', 'shop'\."),
    (SOME | {"class": [1] * 4, "target": [1] * 4}, {}, r"no column label, .* It may be 'class', 'target'\."),
    ({"a": [0.5, 1.5]}, {}, r"no column label, .* Its columns are 'a'\."),
    (Frame(SOME), {"label": "sort"}, "Frame has no column 'sort'"),
    (SOME | {"label": list("ab")}, {}, r"The columns of dict are not as long as each other: .*'label': 2"),
    (OldFrame({1: [1, 2], "1": [1, 2]}), {}, "OldFrame has more than one column named '1'"),
    (SOME | {"label": ["a", None, "b", float("nan")]}, {}, r"Row 2 of dict has no label \(2 rows in all\)"),
    ({"x": np.eye(3), "z": [1, 2, 3]}, {}, "dict has no array named y or labels or .*; it has x, z"),
    ((SOME | {"label": list("abab")}, list("abab")), {}, "dict has a column 'label', and labels are given beside it"),
    ((TEXTS, [1, 2]), {}, r"The columns of texts are not as long as each other: .*'text': 10, 'label': 2"),
    ((["a.png", "b.png", "c.png"], [1, 2]), {}, "There are 3 pictures but 2 labels; give one each"),
    (([IMAGE, 3], [1, 2]), {}, "The picture at index 1 is a int; give its path, or Pillow's picture"),
    ((["a.png", "a.png", "b.png"], [1, 2, 1]), {}, "'a.png' is in row 1 and in row 2 of pictures .* a dict of columns"),
    ((np.array([[1, None], ["a", 2]], object), [1, 2]), {}, "The inputs are not all numbers; give a DataFrame"),
    ((np.eye(2), [1, 2]), {"label": "y"}, "label='y' names a column; a tuple without columns brings its labels itself"),
    ((np.eye(2), [1, 2]), {"labels": "y.npy"}, r"labels='y\.npy' goes with a \.npy file of inputs"),
    (Items([torch.zeros(2), torch.zeros(3)], [1, 2]), {}, "The inputs are not all of one shape"),
]  # fmt: skip


@pytest.mark.parametrize("data, options, sentence", REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_data_is_refused_in_a_sentence(data, options, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        load(data, **options)
    assert "\n" not in str(caught.value)


def test_what_somebodys_dataset_raises_is_said_with_the_example():
    class Broken(Items):
        def __getitem__(self, at):
            return super().__getitem__(at) if at < 2 else {}["photo"]

    with pytest.raises(InputError, match="Example 2 of the Broken cannot be read: 'photo'"):
        load(Broken(np.eye(4), range(4)))


@pytest.mark.parametrize("label, called", [([1, 0], "list"), ({"boxes": 1}, "dict"), (np.eye(2), "ndarray")])
def test_a_label_is_one_class(label, called):
    with pytest.raises(InputError, match=f"Example 1 of the Items has {called} for its label, not one class"):
        load(Items(np.eye(2), [0, label], classes=["cat", "dog"]))
    assert load(Items(np.eye(2), [np.array([0]), np.array([1])])).labels.tolist() == [0, 1]  # as MedMNIST has them
