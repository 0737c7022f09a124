"""The audit page, answered from the keyboard in a real browser."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smallloss.auditing.page import AGAIN, HELD_OUT, RANDOM, SUSPICIOUS, Question, audit_page
from smallloss.files import write_text
from smallloss.noise.blocks import answers_needed, anytime, draw_blocks

CLASSES = ("cat", "caterpillar", "dog", "Ångström", "horse")
HOSTILE = (
    "<script>window.ran=1</script>",
    "</script><img src=x onerror=window.ran=1>",
    "new\nline <b>",
    "\u202eשלום",
    "=cmd()",
)
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
ENTER, ESCAPE, LEFT, DOWN = "\ue007", "\ue00c", "\ue012", "\ue015"
SIZE = 60
BLOCKS = draw_blocks(np.arange(SIZE), np.linspace(0.8, 1, SIZE), seed=[0])
ORDER = [int(row) for block in BLOCKS.rows for row in block]
FACTS = {"level": 0.95, "right_known": 0, "known": 0}


def questions(rows: list[int], stratum: str = RANDOM, classes: tuple[str, ...] = CLASSES) -> list[Question]:
    """All are labelled with the first class, and the run takes them for the third."""
    return [Question(f"{classes[0]} {row}", row, 0, 2, 0.25, stratum, text=f"row {row}") for row in rows]


def check(promise: float, answered: list[Any] | None = None) -> dict[str, Any]:
    if_right = answers_needed(BLOCKS, {}, promise, **FACTS).if_right
    return {"blocks": BLOCKS.to_dict(), "answered": answered or [], "promise": promise, "if_right": if_right, **FACTS}


Opened = Callable[..., "Page"]


class Page:
    """The page in a browser, and what a person does with it."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()

    def one(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        return self.one(selector).text

    @property
    def pressed(self) -> list[str]:
        """The buttons of answers that are lit."""
        return [button.text for button in self.browser.find_elements("css selector", "[aria-pressed=true]")]

    @property
    def saved(self) -> list[dict[str, str]]:
        """The file that a press of the button would save."""
        script = """
            HTMLAnchorElement.prototype.click = () => {};
            URL.createObjectURL = (blob) => { blob.text().then(arguments[0]); return "#"; };
            document.getElementById("save").click();
        """
        text = self.browser.execute_async_script(script)
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def answers(self) -> list[tuple[str, str]]:
        return [(row["answer"], row["true_label"]) for row in self.saved]

    def read_file(self, text: str) -> None:
        script = """
            const files = new DataTransfer(), input = document.getElementById("file");
            files.items.add(new File([arguments[0]], "answers.csv"));
            input.files = files.files;
            input.dispatchEvent(new Event("change"));
            setTimeout(arguments[1], 200);
        """
        self.browser.execute_async_script(script, text)

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Opened:
    """Opens a page in a browser that remembers nothing, or what it was told in this test."""

    def made(asked: list[Question], classes: tuple[str, ...] = CLASSES, **options: Any) -> Page:
        facts = {"name": "animals", "run": "r", "command": "smallloss audit 'my run'", "file": "answers.csv"} | options
        path = write_text(tmp_path / f"{asked[0].stratum}.html", audit_page(asked, classes, **facts))
        chromium.get(path.as_uri())
        return Page(chromium)

    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    made(questions([0])).browser.execute_script("localStorage.clear()")
    chromium.get_log("browser")
    return made


def test_a_class_is_typed_and_never_the_first_by_default(opened: Opened) -> None:
    page = opened(questions(ORDER[:5]))
    page.press("w", "dog", ENTER, "w", "ANGST", ENTER, "w", "cate", ENTER)
    assert page.answers()[:3] == [("wrong", "dog"), ("wrong", "Ångström"), ("wrong", "caterpillar")]
    page.press("w", ENTER, "o", ENTER)  # it is part of three names
    assert page.answers()[3:] == [("", ""), ("", "")]
    assert "3 are found" in page.text("#found")
    page.press(DOWN, DOWN, DOWN, ENTER)
    assert page.answers()[3:] == [("wrong", "horse"), ("", "")]
    page.press("w", "cat", ENTER)  # the label it has, and part of another
    assert page.answers()[4] == ("", "")
    page.press(ESCAPE)
    assert not page.one("#choice").is_displayed()
    page.press("w")
    page.browser.find_elements("css selector", "#list li")[-1].click()
    assert page.answers()[4] == ("wrong", "horse")


def test_what_the_run_thinks_comes_with_the_answer(opened: Opened) -> None:
    for stratum in (RANDOM, HELD_OUT):
        page = opened(questions(ORDER[:10], stratum), check=check(0.9) if stratum == RANDOM else None)
        page.press("r")
        seen = page.text("#question") + page.text("#desk") + page.text("#progress")
        assert not [word for word in ("dog", "0.25", "%", "kept", stratum) if word in seen]
        page.press(LEFT)
        assert page.text("#said") == (
            "Your answer: right. The run takes it for “\u2068dog\u2069”. Its label score is 0.25: from 0 to 1, low is "
            "suspicious."
        )
        page.press("u", LEFT)
        assert page.pressed == ["u unsure"]


def test_the_suggestion_is_taken_and_its_own_button_lit(opened: Opened) -> None:
    page = opened(questions(ORDER[:3], SUSPICIOUS))
    page.press("s", "w", "horse", ENTER, LEFT)
    assert page.pressed == ["w wrong, it is …"]
    page.press(LEFT)
    assert page.pressed == ["s wrong, it is “dog”"]
    rows = page.saved
    assert [row["true_label"] for row in rows] == ["dog", "horse", ""]
    assert {row["predicted_label"] for row in rows} == {"dog"}


def test_without_a_suggestion_the_key_for_it_does_nothing(opened: Opened) -> None:
    asked = questions(ORDER[:4], SUSPICIOUS)
    asked[1] = replace(asked[1], predicted=asked[1].given)
    asked[2] = replace(asked[2], predicted=None, score=None)
    page = opened(asked)
    page.press("s", "s", "r", "s", "u", "s")
    assert page.answers() == [("wrong", "dog"), ("right", ""), ("unsure", ""), ("wrong", "dog")]


def test_what_is_long_is_cut_until_it_is_asked_for_and_is_only_text(opened: Opened) -> None:
    long = "<b>long</b> & " + "dull " * 1000 + "the end"
    row = [(f"column {j} <b>", f"<i>cell {j}") for j in range(30)]
    page = opened([replace(questions([0])[0], text=long, prose=True, row=row)])
    cut = page.text("#example")
    assert "<b>long</b> & dull" in cut
    assert "the end" not in cut
    assert "column 29" not in cut
    page.press("m")
    assert "the end" in page.text("#example")
    assert "column 29 <b>" in page.text("#example")


def test_it_says_what_is_proved_as_the_program_does(opened: Opened) -> None:
    asked = [*questions(ORDER[5:45]), *questions(ORDER[5:7], AGAIN)]
    before: dict[int, bool | None] = dict.fromkeys(ORDER[:5], True)
    page = opened(asked, check=check(0.7, [[row, answer] for row, answer in before.items()]))
    page.press("p")
    assert_says(page, before)
    page.press("r")  # no answer to a question that is not seen
    page.press(ESCAPE, "u", "n")
    said = before | {ORDER[5]: None, ORDER[6]: False}
    settled = next(k for k in range(7, 45) if anytime(BLOCKS, filled(said, k), **FACTS).low >= 0.7)
    page.press(*"r" * (settled - 8))
    assert page.one("#question").is_displayed()
    page.press("r")  # the last of its block
    assert not page.one("#question").is_displayed()
    assert_says(page, filled(said, settled))
    assert "You may stop here" in page.text("#panel")
    page.press("p", *"r" * (45 - settled), "r", "n")
    assert_says(page, filled(said, 45))
    assert "You agreed with yourself in 1 of 2 questions that came twice." in page.text("#panel")
    assert "smallloss audit 'my run'" in page.text("#panel")
    rows = page.saved
    assert [row["answer"] for row in rows] == ["unsure", "none", *["right"] * 39, "none"]
    assert [row["stratum"] for row in rows] == [RANDOM] * 40 + [AGAIN] * 2


def filled(said: dict[int, bool | None], upto: int) -> dict[int, bool | None]:
    return dict.fromkeys(ORDER[:upto], True) | said


def assert_says(page: Page, said: dict[int, bool | None]) -> None:
    found, needed = anytime(BLOCKS, said, **FACTS), answers_needed(BLOCKS, said, 0.7, **FACTS)
    ends = (floor(1000 * found.low) / 10, ceil(1000 * found.high) / 10)
    assert page.text("#title") == f"{ends[0]:.1f} % to {ends[1]:.1f} % of the kept labels are right."
    if found.low < 0.7:
        assert f"About {needed.at_rate} more answers on kept labels" in page.text("#panel")
        assert f"If all are right, {needed.if_right} more answers prove it." in page.text("#panel")


def test_a_skipped_question_can_be_gone_back_to(opened: Opened) -> None:
    page = opened(questions(ORDER[:3]))
    page.press("\ue014", "r", "r")  # arrow to the right
    assert page.text("#number") == "1 of 3"
    page.press("u")
    assert "All 3 are answered." in page.text("#panel")
    page.press(ESCAPE, "n")  # changed
    assert page.text("#number") == "1 of 3"
    assert [answer for answer, _ in page.answers()] == ["none", "right", "right"]


def test_kinds_of_questions_never_mix_and_answers_stay(opened: Opened) -> None:
    page = opened(questions(ORDER[:3]))
    page.press("r", "u")
    text = page.saved
    page = opened(questions(ORDER[:3], SUSPICIOUS))
    assert page.text("#progress") == "0 of 3 answered"
    page.press("n")
    page = opened(questions(ORDER[:3]))
    assert page.text("#progress") == "2 of 3 answered"
    assert page.text("#number") == "3 of 3"
    page.browser.execute_script("localStorage.clear()")
    page = opened(questions(ORDER[:3]))
    assert page.text("#progress") == "0 of 3 answered"
    lines = [text[0].keys(), *(row.values() for row in text)]
    page.read_file("\n".join(",".join(line) for line in lines))
    assert page.text("#progress") == "2 of 3 answered Answers read from the file: 2."
    assert [answer for answer, _ in page.answers()] == ["right", "unsure", ""]


@pytest.mark.parametrize(("width", "height"), [(360, 640), (857, 600), (1280, 720)])
def test_every_button_is_on_the_screen(opened: Opened, width: int, height: int) -> None:
    names = ("cat", "a rather long name " * 6, "Donaudampfschiffahrtsgesellschaft" * 3, "horse", "dog")
    asked = [Question("1" * 80, 0, 0, 1, 0.5, SUSPICIOUS, picture=PIXEL), *questions([1, 2], SUSPICIOUS)]
    asked[1] = Question("2", 1, 2, 1, 0.5, SUSPICIOUS, row=[("column " * 9, "cell " * 90)] * 30)
    asked[2] = Question("3", 2, 0, 1, 0.5, SUSPICIOUS, text="long " * 900, prose=True)
    page = opened(asked, names)
    page.resize(width, height)
    for keys in ("u", "u", "w", "d", ESCAPE, "u", ESCAPE):
        outside = """
            return [...document.querySelectorAll("button, input")].filter((b) => b.checkVisibility()).filter((b) => {
                const r = b.getBoundingClientRect();
                const onTop = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
                return r.left < 0 || r.right > innerWidth || b.id !== "more" && (
                    r.top < 0 || r.bottom > innerHeight || !b.contains(onTop));
            }).map((b) => b.id || b.innerText)
        """
        assert page.browser.execute_script(outside) == []
        assert page.browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        page.press(keys)


def test_a_key_held_down_is_one_answer_and_no_text(opened: Opened) -> None:
    page = opened(questions(ORDER[:9]))
    for key in ("r", "w"):
        event = {"type": "keyDown", "key": key, "text": key, "windowsVirtualKeyCode": ord(key.upper())}
        for held in (False, True, True):
            page.browser.execute_cdp_cmd("Input.dispatchKeyEvent", event | {"autoRepeat": held})
    assert page.text("#progress") == "1 of 9 answered"
    assert page.one("#field").get_property("value") == ""


def test_no_name_of_a_class_runs_and_each_can_be_typed(opened: Opened) -> None:
    page = opened(questions(ORDER[:4], SUSPICIOUS, HOSTILE), HOSTILE)
    page.press("w", "</script><img src=x onerror=window.ran=1>", ENTER, "w", "new line", ENTER, "w", "שלום", ENTER)
    page.press("w", "=cmd", ENTER)
    assert [truth for _, truth in page.answers()] == [HOSTILE[1], HOSTILE[2], HOSTILE[3], "'=cmd()"]
    assert page.browser.execute_script("return window.ran") is None
    assert page.browser.execute_script("return document.querySelectorAll('b, img[onerror], script').length") == 2
    assert [one for one in page.browser.get_log("browser") if one["level"] in ("SEVERE", "WARNING")] == []
    events = [json.loads(entry["message"])["message"] for entry in page.browser.get_log("performance")]
    fetched = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in fetched if not url.startswith(("file:", "data:"))} == set()
