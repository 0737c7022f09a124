"""The documentation as a site: every page is in it, no link is dead, and none loads anything from outside."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("material", reason="mkdocs-material is not installed: make docs does it")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly: a dead link, an anchor that is not there or a page outside the navigation is an error."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None: ...


class Loaded(HTMLParser):
    """The addresses that a page loads by itself; a link is followed only by whoever clicks it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.places: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        names = ("src", "srcset", "data", "poster", *(("href",) if tag == "link" else ()))
        self.places += [told[name] or "" for name in names if name in told]
        self.places += re.findall(r"url\(([^)]*)\)", told.get("style") or "")


def test_no_page_loads_anything_from_outside(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        places = Loaded(page.read_text(encoding="utf-8")).places
        assert places
        assert not [place for place in places if re.match(r"(\w+:)?//", place)], page
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)]*", text), style


def test_every_program_that_a_page_links_to_is_there(site):
    programs = {path.name for path in (ROOT / "examples").iterdir() if path.is_file()}
    assert {path.name for path in (site / "examples").iterdir()} == programs


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """Its address. Only the search needs a server: a worker of the browser does not open files."""
    handler = partial(Silent, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_browser_asks_nobody_else(served, site, chromium):
    """Nor do the scripts, when something is searched for, or when a page is opened with a double click."""
    from selenium.webdriver.support.wait import WebDriverWait

    chromium.get_log("performance")
    chromium.get((site / "guide" / "tutorial.html").as_uri())
    chromium.get(f"{served}?q=cleanlab")
    found = "return [...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)"
    places = WebDriverWait(chromium, 20).until(lambda browser: browser.execute_script(found))
    assert any(place.startswith(f"{served}guide/cleanlab.html") for place in places)
    messages = [json.loads(line["message"])["message"] for line in chromium.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    assert any(place.endswith(".js") for place in asked)
    assert not [place for place in asked if not place.startswith((served, "file:", "data:", "blob:"))]
