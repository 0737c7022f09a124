"""What to hold beside a suspicion: the nearest kept examples of the class given and of the class seen, and twins."""

from itertools import islice
from typing import Any

import numpy as np

from smallloss.record.examples import Examples
from smallloss.record.run import Run
from smallloss.report.near import nearest

NEAREST = 3  # of each class
TWINS = 6


def evidence(run: Run, rows: np.ndarray) -> dict[str, list[Any]]:
    """For each of the rows: the nearest kept of the class given and of that seen, rows of the dataset, and how much
    nearer the latter are; its percentile among the losses of its class; probabilities of both; equal ones labelled
    otherwise. A column is left out where nothing is known."""
    e, found = run.examples, dict[str, list[Any]]()
    if run.features is not None:
        x = np.nan_to_num(np.asarray(run.features, np.float32))
        for name, wanted in (("given", e.label), ("seen", e.seen)):
            found[name], found[f"{name}_far"] = _nearest(x, e, rows, wanted[rows])
    found["percentile"] = _percentiles(e)[rows].tolist()
    if run.noise.probabilities is not None:
        for name, wanted in (("given", e.label), ("seen", e.seen)):
            found[f"{name}_probability"] = [_percent(p) for p in _out_of_sample(run, rows, wanted[rows])]
    twins = _twins(run, rows)
    return found | ({"twins": twins} if any(twins) else {})


def _out_of_sample(run: Run, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """How sure the networks that did not learn a row are of the class wanted, on average; NaN where there are none."""
    if run.noise.probabilities is None:
        return np.full(len(rows), np.nan)
    several = run.noise.probabilities[:, rows, np.maximum(wanted, 0)].astype(np.float16).astype(np.float64)
    known = (~np.isnan(several)).sum(axis=0)
    return np.where((known > 0) & (wanted >= 0), np.nansum(several, axis=0) / np.maximum(known, 1), np.nan)


def _nearest(x: np.ndarray, e: Examples, rows: np.ndarray, wanted: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Of each row, the nearest kept examples of the class wanted but itself; how far the first lies, in thousandths."""
    found: list[list[int]] = [[] for _ in rows]
    far: list[int | None] = [None] * len(rows)
    place = np.full(len(e), -1)
    for k in np.unique(wanted[wanted >= 0]).tolist():
        kept, mine = np.flatnonzero(e.kept & (e.label == k)), np.flatnonzero(wanted == k)
        place[kept] = np.arange(len(kept))
        for at, places in zip(mine.tolist(), nearest(x[rows[mine]], x[kept], NEAREST, place[rows[mine]]), strict=True):
            found[at] = kept[places[places >= 0]].tolist()
            far[at] = round(1000 * float(np.linalg.norm(x[rows[at]] - x[found[at][0]]))) if found[at] else None
        place[kept] = -1
    return found, far


def _percentiles(e: Examples) -> np.ndarray:
    """How many in a hundred of those ranked with the same label, on the same side, have a lower score."""
    of = np.zeros(len(e), np.int64)
    for split in np.unique(e.split):
        mine = (e.split == split) & (e.rank > 0)
        of[mine] = np.bincount(e.label[mine], minlength=len(e.classes))[e.label[mine]]
    return (100 * np.maximum(e.rank - 1, 0)) // np.maximum(of, 1)


def _percent(p: float) -> int | None:
    return round(100 * float(p)) if np.isfinite(p) else None


def _twins(run: Run, rows: np.ndarray) -> list[list[int]]:
    """Of each row, the duplicates, equal or nearly so, that carry another label."""
    if run.dataset is None:
        return [[] for _ in rows]
    groups, labels = run.dataset.groups, run.examples.label
    order = np.argsort(groups, kind="stable")
    start, end = (np.searchsorted(groups[order], groups[rows], side) for side in ("left", "right"))
    members = [order[a:b] for a, b in zip(start, end, strict=True)]
    return [
        [int(i) for i in islice((i for i in some if labels[i] != labels[row]), TWINS)]
        for some, row in zip(members, rows.tolist(), strict=True)
    ]
