"""Two hundred suspicions of which 193 are right, gone through as a person would who sees which are not."""

from pathlib import Path
from typing import Any

import numpy as np

from made import part_of, run_of, write_run
from smallloss.auditing.session import read_back
from smallloss.data.dataset import Dataset
from smallloss.report.page import write_page

N, CLASSES, WRONG, FALSE_ALARMS, MOST = 1000, 10, 200, 7, 30
SECONDS = 20


def test_two_hundred_are_corrected_in_thirty_actions(chromium: Any, tmp_path: Path) -> None:
    truth = np.arange(N) % CLASSES
    suspect, false = np.arange(N) < WRONG, np.isin(np.arange(N), np.linspace(3, WRONG - 4, FALSE_ALARMS).astype(int))
    labels = np.where(suspect & ~false, (truth + 1) % CLASSES, truth)
    loss = suspect + np.linspace(0, 0.5, N)
    data = Dataset(np.repeat(np.arange(N) % 256, 64).astype(np.uint8).reshape(N, 8, 8, 1), labels, tuple("abcdefghij"))
    rate = np.bincount(labels[suspect], minlength=CLASSES) / np.bincount(labels, minlength=CLASSES)
    run = run_of(
        data, [part_of(data, "train", range(N), loss, rate)], np.where(false, (truth + 3) % CLASSES, truth), loss
    )
    assert run.examples.likely_wrong.sum() == WRONG
    folder = write_run(tmp_path / "run", run)
    write_page(run, folder / "report.html")
    person = Person(chromium, (folder / "report.html").as_uri())
    person.presses("a")
    for page in range(2):
        for row in np.flatnonzero(false).tolist():
            person.clicks_if_there(f"#row-{row}")
        if page == 0:
            person.clicks(".pager button:nth-child(3)")
    person.presses("s")
    person.chooses("#filter-decided", "open")
    person.presses("a")
    person.presses("r")
    (tmp_path / "decisions.csv").write_text(person.saves(), encoding="utf-8")
    assert person.actions <= MOST
    found = read_back(folder, tmp_path / "decisions.csv").pins
    assert found == dict(zip(np.flatnonzero(suspect).tolist(), truth[suspect].tolist(), strict=True))


class Person:
    """Counts what it does."""

    def __init__(self, browser: Any, address: str) -> None:
        from selenium.webdriver.support.wait import WebDriverWait

        self.browser, self.actions = browser, 0
        browser.get(address)
        browser.execute_script("localStorage.clear()")
        browser.refresh()
        WebDriverWait(browser, SECONDS).until(lambda b: b.find_elements("css selector", ".card"))

    def presses(self, key: str) -> None:
        from selenium.webdriver import ActionChains

        self.actions += 1
        ActionChains(self.browser).send_keys(key).perform()

    def clicks(self, selector: str) -> None:
        self.actions += 1
        found = self.browser.find_element("css selector", selector)
        self.browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", found)
        found.click()

    def clicks_if_there(self, selector: str) -> None:
        if self.browser.find_elements("css selector", selector):
            self.clicks(selector)

    def chooses(self, selector: str, value: str) -> None:
        self.actions += 1
        self.browser.execute_script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))",
            self.browser.find_element("css selector", selector), value,
        )  # fmt: skip

    def saves(self) -> str:
        self.actions += 1
        script = """
            HTMLAnchorElement.prototype.click = () => {};
            URL.createObjectURL = (blob) => { blob.text().then(arguments[0]); return "#"; };
            document.getElementById("save-decisions").click();
        """
        return str(self.browser.execute_async_script(script))
