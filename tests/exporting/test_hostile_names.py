"""Names that are out to break something: in folders, in files, and as `safe_name` and `Names` make them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smallloss.data.source import load
from smallloss.data.table_files import read_table, write_table
from smallloss.exporting.export import export
from smallloss.exporting.formats import Names, safe_name

HOSTILE = [
    "../../x",
    "</script>",
    "=cmd()",
    "two\nlines",
    "שלום\u202egnp.exe",
    "CON",
    "con.txt",
    ".hidden",
    "names.csv",
    "a/b",
    "a\\b",
    "..",
    "dot. ",
    "long" * 100,
    "ü" * 300,
    "Cat",
    "cat",
]


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory, write_run, write_pictures) -> tuple[Path, Path]:
    """The class names and the ids are those that a table may hold; the pictures have ordinary names."""
    place = tmp_path_factory.mktemp("hostile")
    write_pictures(place / "pictures", ["all"], 10 * len(HOSTILE))
    labels = np.repeat(HOSTILE, 10)
    cells = [f"pictures/all/{i}.png" for i in range(len(labels))]
    ids = [f"{label}/{i}" for i, label in enumerate(labels)]
    table = write_table(place / "table.parquet", {"id": ids, "label": labels, "path": cells})
    return write_run(place / "run", load(table)), table


def test_hostile_class_names_become_folders_inside_the_target(hostile_run, tmp_path, files_in):
    run, table = hostile_run
    done = export(run, tmp_path / "clean", "folder", data=table)
    assert [path.name for path in tmp_path.iterdir()] == ["clean"]
    names = read_table(done.path / "names.csv").to_pylist()
    label_of = {row["folder"].removeprefix("'"): row["label"].removeprefix("'") for row in names}
    assert sorted(label_of.values()) == sorted(HOSTILE)
    folders = {path.name for path in done.path.iterdir() if path.is_dir()}
    assert folders == label_of.keys()
    assert {
        "_CON",
        "_con.txt",
        "hidden",
        "=cmd()",
        "two_lines",
        "שלום_gnp.exe",
        "names.csv~2",
        "a_b",
        "a_b~2",
    } <= folders
    assert {"Cat", "cat~2"} <= folders
    cells = {row["id"]: row["label"] for row in read_table(table).to_pylist()}
    of_file = dict(zip(read_table(table).column("path").to_pylist(), cells, strict=True))
    for path in files_in(done.path).values():
        if path.name != "names.csv":
            original = path.readlink().relative_to(table.parent).as_posix()
            assert cells[of_file[original]] == label_of[path.parent.name]


@pytest.mark.parametrize("to", ["csv", "parquet", "cleanlab", "labelstudio", "fiftyone"])
def test_hostile_names_pass_through_files(hostile_run, rows_of, tmp_path, to):
    run, table = hostile_run
    ending = {"csv": "csv", "parquet": "parquet", "cleanlab": "csv"}.get(to, "json")
    done = export(run, tmp_path / f"clean.{ending}", to, data=table)
    if ending == "json":
        rows = json.loads(done.path.read_text(encoding="utf-8"))
        given_labels = [(row.get("meta", row)).get("given_label") or row["ground_truth"]["label"] for row in rows]
    elif ending == "csv":
        given_labels = [row["given_label"] for row in rows_of(done.path)]
    else:
        given_labels = read_table(done.path).column("given_label").to_pylist()
    spelled = [label.removeprefix("'") for label in given_labels]
    assert list(dict.fromkeys(spelled)) == HOSTILE
    assert ("'=cmd()" in given_labels) == (ending == "csv")


@pytest.mark.parametrize(
    "text, name",
    [
        ("cat", "cat"),
        ("../../x", "_.._x"),
        ("..", "_"),
        ("", "_"),
        ("</script>", "__script_"),
        ("two\nlines\x00", "two_lines_"),
        ("NUL", "_NUL"),
        ("nul .tar.gz", "_nul .tar.gz"),
        ("COM¹", "_COM¹"),
        ("CONcert", "CONcert"),
        ("dot. ", "dot"),
        ("日本語", "日本語"),
        ("x" * 300, "x" * 200),
        ("ü" * 300, "ü" * 100),
        ("a\u202eb", "a_b"),
    ],
)
def test_safe_name(text, name):
    assert safe_name(text) == name


@given(st.lists(st.text(max_size=12) | st.sampled_from(HOSTILE), max_size=8))
def test_names_are_safe_and_none_is_given_twice(texts):
    names = Names(taken=["names.csv"])
    given_out = [names.folder(text) for text in texts]
    for name in given_out:
        assert Path(name).name == name
        assert name not in ("", ".", "..")
        assert not name.startswith(".")
        assert not name.endswith((" ", "."))
        assert not set(name) & set('/\\<>:"|?*\n\r\t\x00')
        assert len(name.encode()) <= 210
    assert len({name.casefold() for name in [*given_out, "names.csv"]}) == len(texts) + 1


def test_numbered_files_keep_their_ending():
    names = Names()
    paths = [Path("a/1.png"), Path("b/1.PNG"), Path("c/1.png"), Path("d/1~2.png"), Path("e/CON.png"), Path("f/no")]
    assert [names.file(path) for path in paths] == ["1.png", "1~2.PNG", "1~3.png", "1~2~2.png", "_CON.png", "no"]
    assert names.file(Path("x" * 250 + ".png")) == "x" * 200 + ".png"
