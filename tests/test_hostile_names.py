"""One list of names that are out to break something, swept through every place that shows or writes them."""

import base64
import hashlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hostile import NAME, NAMES, hostile_data, hostile_run
from made import rows_of, write_run
from markup import Reader, unpacked
from smallloss.auditing.session import audit
from smallloss.data.table_files import read_table
from smallloss.exporting.export import export
from smallloss.exporting.formats import Names, safe_name
from smallloss.record.examples import Examples
from smallloss.record.run import Run
from smallloss.report.page import page
from smallloss.report.terminal import render
from smallloss.report.workbench import workbench
from smallloss.words import one_line


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path, Path]:
    """The run, its folder, and the table that its data stands in."""
    place = tmp_path_factory.mktemp("hostile")
    data, table = hostile_data(place)
    run = hostile_run(data)
    return run, write_run(place / "run", run), table


def shown(folder: Path, which: str, hostile: tuple[Run, Path, Path]) -> str:
    run, stored, _ = hostile
    if which == "report":
        return page(replace(run, dataset=replace(run.dataset, name=NAME)), "</code><b>")
    wish = {"suspicious": 20} if which == "suspicious" else {"kept": 20, "dropped": 10}
    written = audit(stored, **wish, dataset=run.dataset)
    return written[1].read_text(encoding="utf-8")


@pytest.mark.parametrize("which", ["report", "random", "suspicious"])
def test_in_a_page_they_are_only_text(tmp_path, which, hostile):
    """One script of ours runs, by its hash, and nothing comes from outside."""
    text = shown(tmp_path, which, hostile)
    page = Reader(text)
    assert not {"b", "i", "u", "s", "em", "link", "iframe", "object", "form"} & {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert len(page.named("h1")) == 1
    scripts = [code for attributes, code in page.scripts if attributes.get("type") in (None, "module")]
    assert len(page.named("script")) == 2  # the data, and our own
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    (policy,) = (tag["content"] for tag in page.named("meta") if "http-equiv" in tag)
    assert policy == f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", scripts[0])
    assert "://" not in text
    assert "@import" not in text
    addresses = [attributes.get(name) for _, attributes in page.tags for name in ("src", "href", "xlink:href")]
    assert all(re.match(r"#[\w-]+$|data:image/(png|jpeg);base64,", address) for address in addresses if address)
    if which == "report":
        assert {one_line(name).strip() for name in NAMES} <= {text.strip() for text in page.texts}
        assert "<script>alert(2)</script>\\n[/red]" in page.said
        assert not {"\u202e", "\x1b"} & set(text)
    else:
        data = json.loads(next(code for attributes, code in page.scripts if attributes.get("type")))
        assert set(data["classes"]) == set(NAMES)
        assert "'=cmd()" in data["cells"]


def test_inside_the_table_of_the_page_the_unprintable_is_escaped(hostile):
    run = hostile[0]
    ids = ["not-unicode-\udcff.png", *run.examples.ids[1:]]
    bench = unpacked(workbench(replace(run, examples=replace(run.examples, ids=ids))).data)
    columns = {one["title"]: one for one in bench["columns"]}
    assert columns["id"]["values"][0] == "not-unicode-\\udcff.png"
    assert columns["spelled"]["values"][0] == "not-unicode-\\udcff.png"
    assert "new\\nline\\x1b[31m" in bench["classes"]
    assert "\\u202eשלום" in bench["classes"]
    assert "x" * 200 in bench["classes"]
    assert set(bench["cells"]) == {f"'{name}" if name.startswith("=") else name for name in NAMES}


def test_on_a_terminal_they_show_as_they_are(hostile):
    run, narrow, file = hostile[0], io.StringIO(), io.StringIO()
    render(run, Console(file=narrow, width=80), "runs/[pets]")
    assert max(map(len, narrow.getvalue().splitlines())) <= 80
    render(run, Console(file=file, width=120), "runs/[pets]")
    said = file.getvalue()
    for name in run.examples.classes[:20]:
        if one_line(name).strip():
            assert f"\n{one_line(name).rstrip()}" in said, name
    for word in ("[red]<i>loss</i>", "[bold]<u>$m^$", "<b>[/net]\\n", "<em>[/b] test", "runs/[pets]/report.html"):
        assert word in said
    assert "Note: <script>alert(2)</script>\\n[/red]" in said
    assert not {"\u202e", "\x1b"} & set(said)


def test_the_examples_are_written_and_read_back_as_they_are(hostile, tmp_path):
    run = hostile[0]
    run.examples.write(tmp_path)
    again = Examples.read(tmp_path / "examples.parquet", run.examples.classes)
    assert str(again.with_unreadable()) == str(run.examples.with_unreadable())
    rows = rows_of(tmp_path / "examples.csv")
    spelled = {f"'{name}" if name.startswith("=") else name for name in NAMES}
    assert {row["given_label"] for row in rows} == spelled


def test_class_names_become_folders_inside_the_target(hostile, tmp_path):
    _, run, table = hostile
    done = export(run, tmp_path / "clean", "folder", data=table)
    assert [path.name for path in tmp_path.iterdir()] == ["clean"]
    names = read_table(done.path / "names.csv").to_pylist()
    label_of = {row["folder"].removeprefix("'"): row["label"].removeprefix("'") for row in names}
    assert sorted(label_of.values()) == sorted(NAMES)
    folders = {path.name for path in done.path.iterdir() if path.is_dir()}
    assert folders == label_of.keys()
    assert {"_CON", "_con.txt", "hidden", "=cmd()", "_שלום", "names.csv~2", "a_b", "a_b~2", "Cat", "cat~2"} <= folders
    own = read_table(table).to_pydict()
    of_file = dict(zip(own["path"], own["label"], strict=True))
    for path in done.path.rglob("*.png"):
        assert of_file[path.readlink().relative_to(table.parent).as_posix()] == label_of[path.parent.name]


@pytest.mark.parametrize("to", ["csv", "parquet", "cleanlab", "labelstudio", "fiftyone"])
def test_they_pass_through_files(hostile, tmp_path, to):
    _, run, table = hostile
    ending = {"csv": "csv", "parquet": "parquet", "cleanlab": "csv"}.get(to, "json")
    done = export(run, tmp_path / f"clean.{ending}", to, data=table)
    if ending == "json":
        rows = json.loads(done.path.read_text(encoding="utf-8"))
        given_labels = [row.get("meta", row).get("given_label") or row["ground_truth"]["label"] for row in rows]
    else:
        rows = rows_of(done.path) if ending == "csv" else read_table(done.path).to_pylist()
        given_labels = [row["given_label"] for row in rows]
    assert ("'=cmd()" in given_labels) == (ending == "csv")
    assert {label.removeprefix("'") for label in given_labels} == set(NAMES)


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


@given(st.lists(st.text(max_size=12) | st.sampled_from(NAMES), max_size=8))
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
