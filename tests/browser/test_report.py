"""The report of a real run, worked in with a real browser; and no name in it is more than a text."""

import csv
import io
import json
import shutil
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
    """The page just opened, nothing decided."""
    chromium.get(report.as_uri())
    chromium.execute_script("localStorage.clear()")
    for name in ("browser", "performance"):  # of other pages
        chromium.get_log(name)
    return opened(chromium, report.as_uri())


def opened(browser: Any, address: str) -> Any:
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get("about:blank")
    browser.get(address)
    WebDriverWait(browser, 20).until(lambda b: one(b, "#bench").is_displayed())
    return browser


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def at(browser: Any, selector: str) -> Any:
    """In the middle of the screen: the bar at its foot lies over whatever is there."""
    browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", one(browser, selector))
    return one(browser, selector)


def cards(browser: Any) -> list[Any]:
    return browser.find_elements("css selector", ".card")


def captions(browser: Any) -> list[str]:
    return browser.execute_script("return [...document.querySelectorAll('.card .caption')].map((c) => c.textContent)")


def count(browser: Any) -> int:
    """Of the examples that are listed, as it is announced."""
    return int(one(browser, "#bench-count").text.split()[0].replace(",", ""))


def choose(browser: Any, name: str, value: str) -> None:
    script = (
        "const s = document.getElementById(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))"
    )
    browser.execute_script(script, f"filter-{name}", value)


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def saved(browser: Any) -> list[dict[str, str]]:
    """The file that a press of the button would save."""
    script = """
        HTMLAnchorElement.prototype.click = () => {};
        URL.createObjectURL = (blob) => { blob.text().then(arguments[0]); return "#"; };
        document.getElementById("save-decisions").click();
    """
    return list(csv.DictReader(io.StringIO(browser.execute_async_script(script), newline="")))


def test_no_name_ran_and_nothing_was_fetched(browser: Any, report: Path) -> None:
    choose(browser, "reason", "any")
    press(browser, "a", "w")
    assert browser.execute_script("return window.ran") is None
    assert browser.execute_script("return document.querySelectorAll('img[onerror], script').length") == 2
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    fetched = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in fetched if not url.startswith(("data:image/", "about:"))} == {report.as_uri()}


def test_what_looks_wrong_comes_first_with_its_picture_and_its_evidence(browser: Any) -> None:
    wrong = count(browser)
    assert len(CLASSES) / 2 <= wrong < ALL / 4
    assert len(cards(browser)) == len(browser.find_elements("css selector", ".card canvas")) == wrong
    pixels = """
        const { data } = document.querySelector(".card canvas").getContext("2d").getImageData(0, 0, 12, 12);
        return Math.max(...data.filter((_, k) => k % 4 === 0)); // of red; alpha is 255 anyway
    """
    assert browser.execute_script(pixels) > 150
    search(browser, ALONE)
    assert captions(browser)[0].startswith(f"{CLASSES[1]} → looks like {CLASSES[0]} (")
    said = one(browser, "#evidence").text
    assert f"Nearer to {CLASSES[0]}." in said
    assert f"The nearest kept {CLASSES[1]}" in said
    assert len(browser.find_elements("css selector", "#evidence .beside canvas")) == 6


def search(browser: Any, text: str) -> None:
    one(browser, "#filter-search").send_keys(text)


def test_a_link_shows_the_same_list(browser: Any, report: Path) -> None:
    choose(browser, "reason", "any")
    choose(browser, "given", "=cmd()")
    search(browser, "1")
    shown, address = captions(browser), browser.current_url
    assert 0 < count(browser) < EACH + 5
    assert "=cmd" not in address  # escaped
    assert captions(opened(browser, address)) == shown
    assert browser.execute_script("return document.getElementById('filter-given').value") == "=cmd()"
    one(browser, "#reset").click()
    assert count(browser) < ALL / 4


def test_a_group_is_decided_but_for_some_and_undone_and_saved(browser: Any, report: Path) -> None:
    choose(browser, "reason", "any")
    choose(browser, "given", "a[/b]")
    of_class = count(browser)
    press(browser, "a")
    for card in cards(browser)[:2]:
        card.click()
    press(browser, "w", "$x", "\ue007")
    assert one(browser, "#answered").text == f"{of_class - 2} decided"
    press(browser, "z")
    assert saved(browser) == []
    press(browser, "\ue00c")
    cards(browser)[1].click()
    press(browser, "n")
    choose(browser, "decided", "open")
    assert count(browser) == of_class - 1
    press(browser, "a", "r")
    assert count(browser) == 0
    rows = saved(browser)
    assert [row["answer"] for row in rows].count("right") == of_class - 1
    assert {row["answer"] for row in rows} == {"right", "none"}
    assert {(row["given_label"], row["stratum"]) for row in rows} == {("a[/b]", "suspicious")}
    again = opened(browser, report.as_uri())
    assert one(again, "#answered").text == f"{of_class} decided"


def test_a_loop_on_the_map_lists_what_is_in_it(browser: Any) -> None:
    from selenium.webdriver import ActionChains

    at(browser, "#map summary").click()
    line = one(browser, "#map-line")
    side = line.rect["width"]

    def draw(width: float) -> None:
        """A square from the left upper corner."""
        at(browser, "#map-line")
        loop = ActionChains(browser).move_to_element_with_offset(line, -side / 2 + 1, -side / 2 + 1).click_and_hold()
        for x, y in ((width, 0), (0, side - 2), (-width, 0)):
            loop.move_by_offset(int(x), int(y))
        loop.release().perform()

    draw(side - 2)
    assert count(browser) == ALL
    draw(side / 2)
    assert 0 < count(browser) < ALL
    press(browser, "a", "u")
    assert one(browser, "#answered").text == f"{count(browser)} decided"
    at(browser, "#reset").click()
    assert count(browser) < ALL / 4


def test_what_is_saved_is_read_back_by_the_audit(browser: Any, report: Path, tmp_path: Path) -> None:
    wrong = count(browser)
    press(browser, "a", "s")
    rows = saved(browser)
    assert len(rows) == wrong
    with (tmp_path / "decisions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    command = [sys.executable, "-c", "from smallloss.cli import main; main()", "audit", str(report.parent)]
    copy = tmp_path / "run"
    shutil.copytree(report.parent, copy)
    command[-1] = str(copy)
    done = subprocess.run(
        [*command, "--answers", str(tmp_path / "decisions.csv")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with (copy / "audit" / "corrections.csv").open(newline="", encoding="utf-8") as file:
        corrected = {row["id"]: row["true_label"] for row in csv.DictReader(file)}
    assert corrected[ALONE] == CLASSES[0]
    assert len(corrected) == wrong


def test_the_keyboard_goes_through_the_list(browser: Any) -> None:
    first = captions(browser)[0]
    one(browser, ".card").send_keys("s")
    assert "it is" in cards(browser)[0].text
    here = browser.execute_script("return document.activeElement.id")
    assert here == cards(browser)[1].get_attribute("id")
    press(browser, "\ue012", "\ue00d")  # to the left, and select
    assert cards(browser)[0].get_attribute("aria-selected") == "true"
    press(browser, "u")
    assert "unsure" in cards(browser)[0].text
    assert captions(browser)[0] == first
    press(browser, "/", "r")  # in a field a key is a text
    assert one(browser, "#filter-search").get_property("value") == "r"


def test_a_phone_needs_no_sideways_scrolling(browser: Any) -> None:
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        assert browser.execute_script("return document.documentElement.scrollWidth") == 390
        wide = "return [...document.querySelectorAll('.card, #bar')].filter((c) => c.scrollWidth > c.clientWidth + 1)"
        assert browser.execute_script(wide) == []
        assert not one(browser, "#evidence").is_displayed()
        press(browser, "e")
        assert one(browser, "#evidence").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_paper_shows_the_cards_and_a_browser_without_scripts_names_the_csv(browser: Any, report: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert one(browser, ".card").is_displayed()
    assert not one(browser, "#bar").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(report.as_uri())
        assert not one(browser, "#bench").is_displayed()
        assert "did not run here" in one(browser, "#work").text
        assert "examples.csv" in one(browser, "#work").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
