import base64
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from markup import Reader
from smallloss.auditing.page import (
    AGAIN,
    COLUMNS,
    HELD_OUT,
    LONGEST_SIDE,
    RANDOM,
    SUSPICIOUS,
    WORDS_SHOWN,
    Question,
    audit_page,
    shown_inputs,
)
from smallloss.data.dataset import Dataset
from smallloss.data.source import load
from smallloss.data.table_files import write_table
from smallloss.noise.blocks import draw_blocks
from smallloss.report.script import joined

HOSTILE = (
    "</script><b>x",
    "=cmd()",
    "new\nline\x1b[31m",
    "\"'><img src=x onerror=alert(1)>",
    "<!--<script>",
    "\u2028שלום",
)
LONG = "<b>long</b> & " + "dull " * 1000 + "the end"


def questions(classes: tuple[str, ...], stratum: str = RANDOM) -> list[Question]:
    c = len(classes)
    row = [(f"column {j} <b>", f"<i>cell {j}") for j in range(30)]
    shown = [{"row": row, "text": LONG, "prose": True} if k == 3 else {"text": f"row {k}"} for k in range(7)]
    return [
        Question(f"{classes[k % c]} {k}", k, k % c, (k + 1) % c, k / 8, stratum, **inputs)
        for k, inputs in enumerate(shown)
    ]


def page_of(asked: list[Question], classes: tuple[str, ...] = HOSTILE, **options: Any) -> str:
    facts = {"name": "n", "run": "r", "command": "smallloss audit r", "file": "audit-answers.csv"}
    return audit_page(asked, classes, **facts | options)


def hostile_page() -> str:
    command = "smallloss audit '</code><b>' --answers audit-answers.csv"
    return page_of(questions(HOSTILE), name="</title><script>alert(1)</script>", run="0123abcd", command=command)


def data_of(page: str) -> dict[str, Any]:
    return json.loads(next(t for a, t in Reader(page).scripts if a.get("type") == "application/json"))


def said_in(page: str) -> str:
    """What a person reads before the script runs."""
    return Reader(page).said


@pytest.mark.parametrize("stratum", [RANDOM, HELD_OUT])
def test_what_the_run_thinks_is_in_no_cell_that_is_saved(stratum: str) -> None:
    data = data_of(page_of([*questions(HOSTILE, stratum), replace(questions(HOSTILE)[1], stratum=stratum)]))
    assert data["columns"] == list(COLUMNS)
    assert data["kind"] == stratum
    assert data["questions"][1]["cells"] == ["'=cmd() 1", "1", "'=cmd()", "", stratum]
    assert (data["questions"][1]["predicted"], data["questions"][1]["score"]) == (2, 0.125)  # for after the answer
    assert data["cells"][1] == "'=cmd()"


def test_of_the_most_suspicious_the_suggestion_is_shown_and_saved() -> None:
    asked = questions(HOSTILE, SUSPICIOUS)
    asked[2] = replace(asked[2], predicted=None, score=None)
    page = page_of(asked)
    data = data_of(page)
    assert data["kind"] == SUSPICIOUS
    assert [one["cells"][3] for one in data["questions"][:3]] == ["'=cmd()", "new\nline\x1b[31m", ""]
    assert "7 labels that look wrong, the most suspicious first" in said_in(page)
    assert "drawn at random" not in said_in(page)


def test_a_question_that_comes_twice_is_of_the_random_ones_and_other_kinds_never_mix() -> None:
    first = questions(HOSTILE)
    data = data_of(page_of([*first, replace(first[0], stratum=AGAIN)]))
    assert data["kind"] == RANDOM
    assert [one["again"] for one in data["questions"]] == [False] * 7 + [True]
    assert data["questions"][7]["cells"][4] == AGAIN
    for stratum in (SUSPICIOUS, HELD_OUT):
        with pytest.raises(ValueError, match=f"{RANDOM}.*{SUSPICIOUS}|{HELD_OUT}.*{RANDOM}"):
            page_of([*first, replace(first[0], stratum=stratum)])


@pytest.mark.parametrize(
    ("if_right", "answered", "said"),
    [
        (75, [], "75 answers on them prove that at least 95 % of the kept labels are right (of 7 questions here)."),
        (30, [[9, True]], "30 more answers on them prove that at least 95 %"),
        (1, [], "1 answer on them proves that at least 95 %"),
        (0, [[9, True]], "The answers given before prove that at least 95 % of the kept labels are right;"),
        (None, [[9, False]], "Even if all kept labels that you look at are right, that does not prove that at least"),
    ],
)
def test_the_cost_of_the_promise_is_said_beforehand(if_right: int | None, answered: list[Any], said: str) -> None:
    blocks = draw_blocks(np.arange(7), np.full(7, 0.9), seed=[0]).to_dict()
    facts = {"blocks": blocks, "answered": answered, "level": 0.95, "promise": 0.95, "right_known": 0, "known": 0}
    page = page_of(questions(HOSTILE), check=facts | {"if_right": if_right})
    assert said in said_in(page)
    assert data_of(page)["check"] == facts | {"if_right": if_right}
    assert "prove" not in said_in(page_of(questions(HOSTILE))).replace("what is proved so far", "")


def test_the_command_and_the_file_are_the_real_ones() -> None:
    command = "smallloss audit '/home/me/my runs/1' --answers suspicious-answers.csv"
    page = page_of(questions(HOSTILE, SUSPICIOUS), command=command, file="suspicious-answers.csv")
    assert command in said_in(page)
    assert "RUN" not in said_in(page)
    assert "until you save them as suspicious-answers.csv." in said_in(page)
    assert data_of(page)["file"] == "suspicious-answers.csv"


def test_every_key_has_a_button_and_progress_is_spoken() -> None:
    page = Reader(hostile_page())
    buttons = page.named("button")
    assert {button.get("data-answer") for button in buttons} >= {"right", "wrong", "none", "unsure"}
    assert {button.get("id") for button in buttons} >= {"back", "forward", "save", "load", "cancel", "proved", "go"}
    keys = {"r", "s", "w", "n", "u", "m", "p", "ArrowLeft", "ArrowRight", "Escape"}
    assert {button.get("aria-keyshortcuts") for button in buttons} >= keys
    spoken = {attributes.get("id") for _, attributes in page.tags if attributes.get("aria-live") == "polite"}
    assert {"progress", "asked", "said", "found"} <= spoken
    assert ("html", {"lang": "en"}) in page.tags
    assert any(tag.get("name") == "viewport" for tag in page.named("meta"))


def test_modules_are_joined_in_scopes_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("const n = 1;\nexport function f() {\n  return n;\n}\n", encoding="utf-8")
    (tmp_path / "b.js").write_text('import { f } from "./a.js";\n\nconst n = f();\n', encoding="utf-8")
    assert joined([tmp_path], "a", "b") == (
        "const $a = (() => {\nconst n = 1;\nfunction f() {\n  return n;\n}\nreturn { f };\n})();\n"
        "const $b = (() => {\nconst { f } = $a;\n\nconst n = f();\nreturn {  };\n})();\n"
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('import { f, g } from "./a.js";', "b.js imports g, which no a.js above exports."),
        ('import { f } from "./c.js";', "b.js imports f, which no c.js above exports."),
        ('import * as a from "./a.js";', "b.js cannot be joined for this line: import"),
        ("export { f };", "b.js cannot be joined for this line: export"),
        ("export default 1;", "b.js cannot be joined for this line: export"),
    ],
)
def test_what_cannot_be_joined_is_refused(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "a.js").write_text("export const f = 1;\n", encoding="utf-8")
    (tmp_path / "b.js").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(sentence)):
        joined([tmp_path], "a", "b")


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
    grey = Dataset(np.zeros((1, 500, 1000, 1), np.uint8), np.zeros(1, np.int64), ("a",))
    assert seen(grey, 0).size == (LONGEST_SIDE, LONGEST_SIDE // 2)
    assert len(shown_inputs(data, 0)["picture"]) < 60_000  # of noise, which no picture is larger than


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
    numbers = Dataset(np.arange(100, dtype=np.float32)[None] / 4, np.zeros(1, np.int64), ("a",))
    shown = shown_inputs(numbers, 0)["text"]  # features that came as such
    assert shown.startswith("0  0.25  0.5")
    assert shown.endswith("… and 36 more")


def test_the_same_questions_give_the_same_page() -> None:
    assert page_of(questions(HOSTILE)) == page_of(questions(HOSTILE))


def test_a_table_shows_texts_and_rows_but_no_pictures() -> None:
    shown = (
        {"text": "a < b", "prose": True},
        {"row": [("size", "3"), ("colour", "red")]},
        {"picture": "data:image/png,"},
    )
    text, row, picture = (Question("1", 1, 0, None, None, RANDOM, **one).in_words for one in shown)
    assert (text, row, picture) == ("a < b", "size = 3, colour = red", "")
    long = Question("1", 1, 0, 0, 0.5, RANDOM, text="x" * 5000, prose=True).in_words
    assert len(long) == WORDS_SHOWN
    assert long.endswith("…")
