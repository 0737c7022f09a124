"""What a selection says beside its numbers, in words."""

from typing import Any

import numpy as np

from smallloss.criterion.quota import Quota
from smallloss.words import counted, listed

_MANY = 5  # examples that are called wrong by rounding alone: from here on it is said


def remarks(quota: Quota, trusted: np.ndarray, names: list[Any], never_seen: int) -> list[str]:
    """What a reader of a selection must know: which classes stay out of the balance or empty, what has no rank.

    `trusted` counts the examples of each class that are not likely wrong.
    """
    said = [
        _left_out(why, [name for name in names if quota.left_out.get(name) == why])
        for why in dict.fromkeys(quota.left_out.values())
    ]
    empty = [name for name, num in zip(names, quota.num, strict=True) if num == 0]
    if empty:
        said.append(f"No example labelled {listed(empty)} is kept.")
    wrong, expected = int((quota.n - trusted).sum()), float(quota.noise_rate @ quota.n)
    if wrong - expected >= max(_MANY, expected / 2):
        said.append(
            f"{counted(wrong, 'label')} called likely wrong, where the rates make for about {expected:,.0f}: in a "
            "small class a rate is rounded up to a whole example."
        )
    if never_seen:
        said.append(f"{counted(never_seen, 'example')} never seen, and so not ranked.")
    return said


def _left_out(why: str, names: list[Any]) -> str:
    if len(names) == 1:
        return f"Class {names[0]!r} is left out of the balance: {why}."
    return f"Classes {listed(names)} are left out of the balance, each because {why}."
