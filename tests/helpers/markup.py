"""What a browser would build of a page before its script runs."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from typing import Any

_VOID = {"meta", "img", "br", "hr", "input", "link", "wbr"}


class Reader(HTMLParser):
    """Tags with their attributes, and texts; what is opened must be closed in its order."""

    def __init__(self, text: str, *, whole: bool = True) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [] or not whole

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.open.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append((self.tags[-1][1], data))
        else:
            self.texts.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def said(self) -> str:
        """What a person reads, on one line."""
        return " ".join(" ".join(self.texts).split())


def unpacked(data: str) -> Any:
    """What stands compressed in a page."""
    return json.loads(zlib.decompress(base64.b64decode(data)))


def bench_of(page: str) -> Any:
    """What the workbench of a report is given."""
    (data,) = re.findall(r'id="bench-data">([^<]+)<', page)
    return unpacked(data)
