"""The settings as the page tells them: those of what ran, for a reader. config.json has every one to the last digit."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from smallloss.report.facts import printable

_FACTS = ("data", "noise", "protocol", "seed", "device", "deterministic", "version", "versions")
# Digests, and what stands in the tables.
_UNREAD = ("fingerprint", "features", "noise_rate", "transition", "prior", "upper")
# Groups that runs of other methods may list too, and whose they are.
_OWNERS = {"rsl": {"rsl", "confident_learning"}, "rsl_wm": {"rsl_wm"}, "mixmatch": {"rsl_wm", "plain_mixmatch"}}
_KIND = re.compile(r"^\w{2,}:")  # as in cifar10:PATH; one letter is a drive
_FOLDERS = re.compile(r"(?<![\w./\\])(?:~|[A-Za-z]:)?[/\\](?:[^/\\\s:,;]+[/\\])+")


def shown_settings(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names, as `--set` takes them, and values: what was chosen and why, the facts of the run, its other knobs."""
    facts = {name: config[name] for name in _FACTS if name in config}
    chosen = dict(config.get("chosen", {}))
    told = chosen | {name: value for name, value in [*_flat(facts), *_flat(_of_method(config))] if name not in chosen}
    source = str(config.get("data", {}).get("source") or "")
    return [(printable(name), printable(without_folders(value, source))) for name, value in told.items()]


def without_folders(text: str, source: str = "") -> str:
    """Places by their last name alone: a page that is mailed does not say where its sender keeps things."""
    place = Path(_KIND.sub("", source))
    if place.is_absolute():
        text = text.replace(f"{place.parent}{os.sep}", "")  # as it is: a folder may have a blank in its name
    return _FOLDERS.sub("", text)


def _of_method(config: Mapping[str, Any]) -> dict[str, Any]:
    """The knobs of what ran, without those that are listed beside them."""
    method = config.get("method")
    return {name: value for name, value in config.get("settings", {}).items() if method in _OWNERS.get(name, {method})}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Groups of settings as dotted names; what is not set is not told."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif value not in (None, [], ()) and name not in _UNREAD:
            yield f"{prefix}{name}", f"{value:,}" if name == "examples" else _in_words(value)


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_in_words, value))
    return str(value)
