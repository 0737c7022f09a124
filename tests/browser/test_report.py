"""The report of a real run, opened in a real browser: its table works, and no name in it is more than a text."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CLASSES = (
    "<script>window.ran=1</script>",
    "</script><script>window.ran=1;alert(1)</script>",
    "\"'><img src=x onerror=window.ran=1>",
    "a[/b]",
    "$x^$",
    "=cmd()",
    "new\nline",
    "\u202eשלום",
    "../../x",
)
ALONE = "-1"  # an id of its own, whose label is wrong for certain
EACH = 20
ALL = EACH * len(CLASSES)


def hostile_pictures() -> dict[str, np.ndarray]:
    """A bright spot at a place of its own for each class; of each, one picture carries the next one's label."""
    rng = np.random.default_rng(0)
    truth = np.arange(ALL) % len(CLASSES)
    pictures = rng.integers(0, 60, (len(truth), 12, 12)).astype(np.uint8)
    for picture, k in zip(pictures, truth, strict=True):
        picture[4 * (k // 3) : 4 * (k // 3) + 4, 4 * (k % 3) : 4 * (k % 3) + 4] += 190
    labels = np.where(np.arange(len(truth)) < len(CLASSES), (truth + 1) % len(CLASSES), truth)
    ids = [f"{CLASSES[k]} {i}" for i, k in enumerate(truth)]
    ids[0] = ALONE
    return {"x": pictures, "y": np.array(CLASSES)[labels], "ids": np.array(ids)}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    np.savez(folder / "hostile.npz", **hostile_pictures())
    command = [sys.executable, "-c", "from smallloss.cli import main; main()", "clean", str(folder / "hostile.npz")]
    options = ["--out", str(folder / "run"), "--noise-rate", "0.1", "--epochs", "10", "--device", "cpu"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "run" / "report.html"


@pytest.fixture
def browser(chromium: Any, report: Path) -> Any:
    """The page just opened, its table there."""
    from selenium.webdriver.support.wait import WebDriverWait

    chromium.get(report.as_uri())
    WebDriverWait(chromium, 20).until(lambda b: one(b, "#examples").is_displayed())
    return chromium


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def titles(browser: Any) -> list[str]:
    return [button.text for button in browser.find_elements("css selector", ".examples thead button")]


def column(browser: Any, title: str) -> list[str]:
    """The texts of one column of the rows that are shown."""
    script = "return [...document.querySelectorAll('.examples tbody tr')].map((r) => r.cells[arguments[0]].textContent)"
    return browser.execute_script(script, titles(browser).index(title))


def header(browser: Any, title: str) -> Any:
    return browser.find_elements("css selector", ".examples thead th")[titles(browser).index(title)]


def count(browser: Any) -> int:
    """Of the examples that match, as it is announced."""
    return int(one(browser, "#examples-count").text.split()[0].replace(",", ""))


def choose(browser: Any, title: str, name: str) -> None:
    for label in browser.find_elements("css selector", ".controls label"):
        if label.text.startswith(title + "\n"):
            next(o for o in label.find_elements("css selector", "option") if o.get_property("text") == name).click()
            return
    raise AssertionError(f"there is no choice of {title}")


def search(browser: Any, text: str) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    one(browser, "#examples-search").send_keys(text)
    WebDriverWait(browser, 10).until(lambda b: count(b) < ALL)


def test_no_name_ran_and_nothing_was_fetched(browser: Any, report: Path) -> None:
    assert browser.execute_script("return window.ran") is None
    assert browser.execute_script("return document.querySelectorAll('img[onerror], script').length") == 2
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    fetched = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in fetched if not url.startswith("data:image/")} == {report.as_uri()}


def test_names_are_shown_as_they_are(browser: Any) -> None:
    choices = [option.get_property("text") for option in browser.find_elements("css selector", ".controls option")]
    for name in CLASSES:
        assert name.replace("\n", "\\n").replace("\u202e", "\\u202e") in choices
    search(browser, "OnError")
    assert count(browser) >= EACH
    texts = [column(browser, title) for title in ("id", "label", "predicted")]
    assert all("onerror" in "".join(row) for row in zip(*texts, strict=True))


def test_the_known_wrong_label_is_found(browser: Any) -> None:
    search(browser, ALONE)
    assert column(browser, "id") == [ALONE]
    assert column(browser, "label") == [CLASSES[1]]
    assert column(browser, "predicted") == [CLASSES[0]]
    assert column(browser, "reason") == ["likely wrong"]


def test_headers_sort_both_ways_by_mouse_and_keyboard(browser: Any) -> None:
    assert header(browser, "label score").get_attribute("aria-sort") == "ascending"
    scores = [float(text) for text in column(browser, "label score")]
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]
    for direction, reverse in (("ascending", False), ("descending", True)):
        header(browser, "mean loss").find_element("css selector", "button").send_keys("\ue007")  # Enter
        losses = [float(text) for text in column(browser, "mean loss")]
        assert losses == sorted(losses, reverse=reverse)
        assert header(browser, "mean loss").get_attribute("aria-sort") == direction
        assert header(browser, "label score").get_attribute("aria-sort") == "none"
    header(browser, "id").find_element("css selector", "button").click()
    assert column(browser, "id")[0] == ALONE


def test_filters_narrow_the_rows_and_pages_turn(browser: Any) -> None:
    assert count(browser) == ALL
    choose(browser, "reason", "likely wrong")
    wrong = count(browser)
    assert 0 < wrong < ALL / 4
    assert set(column(browser, "reason")) == {"likely wrong"}
    choose(browser, "label", "=cmd()")
    assert 0 < count(browser) < wrong
    assert set(column(browser, "label")) == {"=cmd()"}
    choose(browser, "reason", "any")
    choose(browser, "label", "any")
    first = column(browser, "id")
    buttons = {button.text: button for button in browser.find_elements("css selector", ".pager button")}
    assert buttons["previous"].get_attribute("aria-disabled") == "true"
    buttons["next"].click()
    assert not set(first) & set(column(browser, "id"))
    assert "rows 26 to 50" in one(browser, "#examples-count").text
    buttons["last"].click()
    assert f"to {ALL}" in one(browser, "#examples-count").text


def test_a_phone_needs_no_sideways_scrolling(browser: Any) -> None:
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        assert browser.execute_script("return document.documentElement.scrollWidth") == 390
        wide = "return [...document.querySelectorAll('.examples td')].filter((c) => c.scrollWidth > c.clientWidth + 1)"
        assert browser.execute_script(wide) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_paper_and_a_browser_without_scripts_name_the_csv(browser: Any, report: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not one(browser, "#examples").is_displayed()
    assert "examples.csv" in one(browser, "#all").text
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(report.as_uri())
        assert not one(browser, "#examples").is_displayed()
        assert "did not run here" in one(browser, "#all").text
        assert "examples.csv" in one(browser, "#all").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
