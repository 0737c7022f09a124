import base64
import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from smallloss.auditing.page import (
    COLUMNS,
    LONGEST_SIDE,
    SUSPICIOUS,
    WORDS_SHOWN,
    Question,
    audit_page,
    shown_inputs,
    write_audit_page,
)
from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.data.table_files import write_table

HOSTILE = (
    "</script><b>x",
    "=cmd()",
    "new\nline\x1b[31m",
    "\"'><img src=x onerror=alert(1)>",
    "<!--<script>",
    "\u2028שלום",
)
LONG = "<b>long</b> & " + "dull " * 1000 + "the end"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Reader(HTMLParser):
    """What a browser would build of the page before its script runs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append((self.tags[-1][1], data))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def questions(classes: tuple[str, ...]) -> list[Question]:
    c = len(classes)
    row = [(f"column {j} <b>", f"<i>cell {j}") for j in range(30)]
    return [
        Question(f"{classes[k % c]} {k}", k, k % c, classes[(k + 1) % c], "kept", None, row, LONG, True)
        if k == 3
        else Question(f"{classes[k % c]} {k}", k, k % c, classes[(k + 1) % c], "kept", text=f"row {k}")
        for k in range(7)
    ]


def hostile_page() -> str:
    return audit_page(questions(HOSTILE), HOSTILE, name="</title><script>alert(1)</script>", run="0123abcd")


def test_no_name_leaves_its_place() -> None:
    page = Reader(hostile_page())
    assert len(page.named("script")) == 2
    assert not page.named("b")
    assert [attributes["id"] for attributes in page.named("img")] == ["picture"]
    data = json.loads(next(text for attributes, text in page.scripts if attributes.get("type") == "application/json"))
    assert data["classes"] == list(HOSTILE)
    assert data["questions"][0]["id"] == "</script><b>x 0"
    assert data["run"] == "0123abcd"


def test_the_policy_lets_this_script_run_and_nothing_else() -> None:
    page = Reader(hostile_page())
    policy = next(tag["content"] for tag in page.named("meta") if tag.get("http-equiv") == "Content-Security-Policy")
    script = next(text for attributes, text in page.scripts if not attributes)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)


def test_nothing_comes_from_outside() -> None:
    text = hostile_page()
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in text
    assert "url(" not in text


def test_what_the_run_thinks_is_not_shown_but_kept_for_the_table() -> None:
    data = json.loads(next(t for a, t in Reader(hostile_page()).scripts if a.get("type") == "application/json"))
    assert data["columns"] == list(COLUMNS)
    assert data["questions"][0].keys() == {"id", "given", "picture", "row", "text", "prose", "cells", "suggested"}
    assert {question["suggested"] for question in data["questions"]} == {None}
    assert data["questions"][1]["cells"] == ["'=cmd() 1", "1", "'=cmd()", "new\nline\x1b[31m", "kept"]
    assert data["cells"][1] == "'=cmd()"


def test_of_the_most_suspicious_the_suggestion_is_shown() -> None:
    asked = [replace(one, stratum=SUSPICIOUS) for one in questions(HOSTILE)]
    asked[2:4] = [replace(asked[2], predicted=""), replace(asked[3], predicted=HOSTILE[asked[3].given])]
    page = audit_page(asked, HOSTILE, name="n", run="r")
    data = json.loads(next(t for a, t in Reader(page).scripts if a.get("type") == "application/json"))
    assert [question["suggested"] for question in data["questions"]] == [1, 2, None, None, 5, 0, 1]
    assert "7 labels that look wrong, the most suspicious first" in page
    assert "drawn at random" not in page


def test_every_key_has_a_button_and_progress_is_spoken() -> None:
    page = Reader(hostile_page())
    buttons = page.named("button")
    assert {button.get("data-answer") for button in buttons} >= {"right", "wrong", "none", "unsure"}
    assert {button.get("id") for button in buttons} >= {"back", "forward", "save", "take", "cancel"}
    keys = {"r", "s", "w", "n", "u", "ArrowLeft", "ArrowRight"}
    assert {button.get("aria-keyshortcuts") for button in buttons} >= keys
    spoken = {attributes.get("id") for _, attributes in page.tags if attributes.get("aria-live") == "polite"}
    assert {"progress", "saved"} <= spoken
    assert ("html", {"lang": "en"}) in page.tags
    assert any(tag.get("name") == "viewport" for tag in page.named("meta"))


def test_pictures_are_small_pngs_and_rows_are_text() -> None:
    labels = np.zeros(1, np.int64)
    pixels = np.zeros((1, 500, 1000, 1), np.uint8)
    address = shown_inputs(Dataset(pixels, labels, ("a",)), 0)["picture"]
    with Image.open(io.BytesIO(base64.b64decode(address.removeprefix("data:image/png;base64,")))) as picture:
        assert picture.size == (LONGEST_SIDE, LONGEST_SIDE // 2)
    row = Dataset(np.arange(100, dtype=np.float32)[None] / 4, labels, ("a",))
    shown = shown_inputs(row, 0)["text"]
    assert shown.startswith("0  0.25  0.5")
    assert shown.endswith("… and 36 more")


def seen(data: Dataset, index: int) -> Image.Image:
    picture = Image.open(io.BytesIO(base64.b64decode(shown_inputs(data, index)["picture"].partition("base64,")[2])))
    return picture.convert("RGB")


def test_a_picture_from_a_file_is_shown_whole_and_upright(tmp_path: Path) -> None:
    """The network sees a square of 96 cut from the centre of each; the red and the blue end are not in it."""
    pixels = np.random.default_rng(0).integers(90, 160, (400, 600, 3), dtype=np.uint8)
    pixels[:, :90], pixels[:, -90:] = (255, 0, 0), (0, 0, 255)
    turned = Image.Exif()
    turned[0x0112] = 6  # it was taken with the camera on its side: the left end is the upper one
    for name, exif in (("level", None), ("turned", turned), ("gone", None), ("broken", None)):
        Image.fromarray(pixels).save(tmp_path / f"{name}.jpg", quality=90, **({"exif": exif} if exif else {}))
    names = ["level.jpg", "turned.jpg", "gone.jpg", "broken.jpg"]
    data = table_of(tmp_path / "t.csv", {"path": names, "label": ["a", "b"] * 2})
    assert data.inputs.shape[1:3] == (96, 96)
    (tmp_path / "gone.jpg").unlink()
    (tmp_path / "broken.jpg").write_bytes(b"no picture any more")
    level, upright = seen(data, 0), seen(data, 1)
    assert level.size == (LONGEST_SIDE, LONGEST_SIDE * 2 // 3)
    assert upright.size == level.size[::-1]
    for red, blue in (((20, 128), (364, 128)), ((128, 20), (128, 364))):
        picture = level if red[0] < 128 else upright
        assert np.argmax(picture.getpixel(red)) == 0
        assert np.argmax(picture.getpixel(blue)) == 2
    for index in (2, 3):  # what the network sees is still there
        assert seen(data, index).size == (96, 96)
    features = data.seen_as(np.ones((4, 5), np.float32), "by a backbone")
    assert seen(features, 0).size == level.size
    assert len(shown_inputs(data, 0)["picture"]) < 60_000  # of noise, which no picture is larger than


def test_a_drawing_stays_exact_where_that_is_the_smaller_file() -> None:
    pixels = np.random.default_rng(0).integers(0, 2, (1, 300, 300, 1), dtype=np.uint8) * 255  # 19 kB, or 63 as a JPEG
    picture = seen(Dataset(pixels, np.zeros(1, np.int64), ("a",)), 0)
    assert np.array_equal(np.asarray(picture)[..., :1], pixels[0])


def table_of(path: Path, columns: dict[str, list[str]], **options: str) -> Dataset:
    return load(write_table(path, columns), **options)


def test_a_text_is_shown_as_it_is_and_a_row_by_its_columns(tmp_path: Path) -> None:
    label = ["good", "bad"] * 5
    texts = [f"<b>number {i}</b> of some reviews,\nin two lines & more " + "word " * i for i in range(10)]
    data = table_of(tmp_path / "t.csv", {"text": texts, "label": label})
    assert shown_inputs(data, 9) == {"text": texts[9].strip(), "prose": True}
    seen = data.seen_as(np.zeros((10, 2), np.float32), "by a backbone")
    assert shown_inputs(seen, 9)["text"] == texts[9].strip()
    cells = {"age": [str(i) for i in range(30, 40)], "city": ["Bern", ""] * 5, "label": label}
    rows = table_of(tmp_path / "r.csv", cells)
    assert shown_inputs(rows, 1) == {"row": [("age", "31"), ("city", "missing")]}


def test_pictures_are_shown_where_the_network_sees_features_of_them() -> None:
    pictures = Dataset(np.zeros((2, 4, 4, 3), np.uint8), np.zeros(2, np.int64), ("a",))
    assert "picture" in shown_inputs(pictures.seen_as(np.ones((2, 5), np.float32), "features"), 1)


def test_the_same_questions_give_the_same_bytes(tmp_path: Path) -> None:
    paths = [
        write_audit_page(tmp_path / name, questions(HOSTILE), HOSTILE, name="n", run="r")
        for name in ("a.html", "b.html")
    ]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def driven(tmp_path: Path, text: str, drive: str) -> dict[str, str | None]:
    """The attributes of the body after a few lines of script, added for the test; its hash joins the policy."""
    press = "const press = (key) => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));"
    save = (
        "URL.createObjectURL = (blob) => { blob.text().then((text) => {"
        " document.body.dataset.saved = JSON.stringify(text); }); return '#'; };"
        "document.getElementById('save').click();"
    )
    script = press + drive + save
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = text.replace("script-src ", f"script-src 'sha256-{digest}' ")
    page = tmp_path / "audit.html"
    page.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    assert BROWSER is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [BROWSER, *options, "--virtual-time-budget=2000", "--dump-dom", page.as_uri()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("Chromium does not answer here")
    if done.returncode or "<html" not in done.stdout:
        pytest.skip("Chromium does not run here")
    reader = Reader(done.stdout)
    assert not reader.named("b")
    return next(attributes for tag, attributes in reader.tags if tag == "body")


def saved_rows(body: dict[str, str | None]) -> list[dict[str, str]]:
    assert body["data-saved"] is not None
    return list(csv.DictReader(io.StringIO(json.loads(body["data-saved"]), newline="")))


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_browser_runs_it_from_a_file(tmp_path: Path) -> None:
    drive = (
        "['r', 'u', 'n', 'w', '1', 'ArrowLeft'].forEach(press);"
        "const example = document.getElementById('example');"
        "document.body.dataset.cut = example.textContent; press('m');"
        "document.body.dataset.whole = example.textContent;"
        "document.body.dataset.done = document.getElementById('progress').textContent;"
    )
    body = driven(tmp_path, hostile_page(), drive)
    cut, whole = (body[f"data-{name}"] for name in ("cut", "whole"))
    assert cut is not None
    assert whole is not None
    assert "<b>long</b> & dull" in cut
    assert "the end" not in cut
    assert "column 29" not in cut
    assert whole.strip().startswith(LONG)
    assert whole.strip().endswith("column 29 <b><i>cell 29")
    assert body["data-done"] == "4 of 7 answered"
    rows = saved_rows(body)
    assert [row["answer"] for row in rows] == ["right", "unsure", "none", "wrong", "", "", ""]
    assert rows[3]["true_label"] == HOSTILE[0]
    assert rows[1]["id"] == "'=cmd() 1"
    assert {row["run"] for row in rows} == {"0123abcd"}


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_key_takes_the_suggestion_where_there_is_one(tmp_path: Path) -> None:
    asked = [replace(one, stratum=SUSPICIOUS) for one in questions(HOSTILE)]
    asked[1] = replace(asked[1], predicted="")
    rows = saved_rows(
        driven(tmp_path, audit_page(asked, HOSTILE, name="n", run="r"), "['s', 's', 'r'].forEach(press);")
    )
    assert [row["answer"] for row in rows[:3]] == ["wrong", "right", ""]  # the second press has nothing to take
    assert rows[0]["true_label"] == "'=cmd()"
    assert {row["stratum"] for row in rows} == {"suspicious"}


def test_a_table_shows_texts_and_rows_but_no_pictures() -> None:
    shown = (
        {"text": "a < b", "prose": True},
        {"row": [("size", "3"), ("colour", "red")]},
        {"picture": "data:image/png,"},
    )
    text, row, picture = (Question("1", 1, 0, "a", "kept", **one).in_words for one in shown)
    assert (text, row, picture) == ("a < b", "size = 3, colour = red", "")
    long = Question("1", 1, 0, "a", "kept", text="x" * 5000, prose=True).in_words
    assert len(long) == WORDS_SHOWN
    assert long.endswith("…")
