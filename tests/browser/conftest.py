"""The browser that pages are opened in: Chromium, without a window."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make browser-test does it")
    if not (BROWSER and DRIVER):
        pytest.skip("no browser to open it in: install chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    quiet = ("no-first-run", "disable-background-networking", "disable-component-update", "disable-sync")
    for name in ("headless=new", "disable-gpu", "window-size=1100,1400", *quiet):
        options.add_argument(f"--{name}")
    if os.geteuid() == 0:  # its sandbox refuses to start for root
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield browser
    browser.quit()
