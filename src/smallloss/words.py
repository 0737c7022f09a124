"""The words that every layer uses: names inside a sentence, the first of many, shares in percent."""

import textwrap
from collections.abc import Callable, Iterable
from math import isnan
from typing import Any

NAME_LENGTH = 30


def one_line(name: str) -> str:
    """A name that cannot break a line or drive a terminal: the unprintable escaped, the long cut."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)
    return safe if len(safe) <= NAME_LENGTH else safe[: NAME_LENGTH - 3] + "..."


def quoted(name: str) -> str:
    """A name inside a sentence."""
    return f"'{one_line(name)}'"


def listed(names: Iterable[Any], most: int = 10, say: Callable[[Any], str] = repr, between: str = ", ") -> str:
    """The first `most` names inside a sentence, and how many more there are: 'cat', 'dog' and 3 more."""
    said = [say(name) for name in names]
    more = f"{between.strip(', ')} and {len(said) - most:,} more" if len(said) > most else ""
    return between.join(said[:most]) + more


def counted(n: int, noun: str) -> str:
    """1 example, 1,797 examples."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def wrapped(text: str, width: int | None, hang: int = 0) -> str:
    """Lines of at most so many letters, broken between words alone: a path stays whole. Without a width, as it is."""
    if width is None:
        return text
    lines = textwrap.TextWrapper(width, "", " " * hang, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(lines.fill, text.split("\n")))


def stage_words(name: str) -> str:
    """A stage of training as a reader meets it; in files and settings it has its short name."""
    halves = {"half0": "the first half-training", "half1": "the second half-training"}
    return {"stage1": "stage 1 (all labels)", **halves}.get(name, f"stage {name}")


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a reader meets it, 98.3 %; a dash where there is none."""
    return "–" if share is None or isnan(share) else f"{100 * share:.{digits}f} %"
