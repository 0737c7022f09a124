"""What a selection says beside its numbers, in words."""

from typing import Any

from smallloss.criterion.quota import Quota
from smallloss.words import counted, listed


def remarks(quota: Quota, names: list[Any], never_seen: int) -> list[str]:
    """What a reader of a selection must know: which classes stay out of the balance or empty, what has no rank."""
    said = [
        _left_out(why, [name for name in names if quota.left_out.get(name) == why])
        for why in dict.fromkeys(quota.left_out.values())
    ]
    empty = [name for name, num in zip(names, quota.num, strict=True) if num == 0]
    if empty:
        said.append(f"No example labelled {listed(empty)} is kept.")
    if never_seen:
        said.append(f"{counted(never_seen, 'example')} never seen, and so not ranked.")
    return said


def _left_out(why: str, names: list[Any]) -> str:
    if len(names) == 1:
        return f"Class {names[0]!r} is left out of the balance: {why}."
    return f"Classes {listed(names)} are left out of the balance, each because {why}."
