"""Ledgers of losses that were made by hand."""

from typing import Any

import numpy as np

from smallloss.criterion.ledger import LossLedger

LOSSES = np.random.default_rng(0).exponential(size=(7, 20))
"""Seven epochs of twenty examples."""


def ledger_of(n: int, *epochs: list[tuple[Any, ...]], **options: Any) -> LossLedger:
    """Closed epochs, each a list of (index, losses) as its updates bring them."""
    ledger = LossLedger(n, **options)
    for updates in epochs:
        for update in updates:
            ledger.update(*update)
        ledger.end_epoch()
    return ledger


def filled(losses: np.ndarray, **options: Any) -> LossLedger:
    """A closed epoch for each row of `losses`."""
    return ledger_of(losses.shape[1], *([(np.arange(len(row)), row)] for row in losses), **options)


def go_on(ledger: LossLedger, losses: np.ndarray) -> LossLedger:
    for row in losses:
        ledger.update(np.arange(len(row)), row)
        ledger.end_epoch()
    return ledger
