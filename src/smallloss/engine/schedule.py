"""Learning rates as a table: one number per step, known before the first one."""

import math
from collections.abc import Sequence

import numpy as np

from smallloss.errors import InputError


def learning_rates(
    schedule: str,
    lr: float,
    steps: int,
    *,
    warmup: int = 0,
    milestones: Sequence[float] = (),
    factor: float = 1.0,
) -> np.ndarray:
    """The learning rate of every step.

    multistep: times `factor` after each milestone (shares of the run; the paper's .3, .6, .8 with .02).
    cosine: half a cosine down to 0. triangular: up over the first 20 %, then straight down to 0.
    trapezoid: up over the first 5 %, level to 70 %, then straight down to 0.
    constant: as it is. `warmup` steps rise linearly from 0 before any of them.
    """
    t = (np.arange(steps) + 0.5) / max(steps, 1)
    shape: np.ndarray
    if schedule == "constant":
        shape = np.ones(steps)
    elif schedule == "multistep":
        passed = np.searchsorted(np.asarray(milestones, dtype=float), np.arange(steps) / max(steps, 1), side="right")
        shape = float(factor) ** passed
    elif schedule == "cosine":
        shape = 0.5 * (1 + np.cos(math.pi * t))
    elif schedule == "triangular":
        shape = np.minimum(t / 0.2, (1 - t) / 0.8)
    elif schedule == "trapezoid":
        shape = np.minimum(1, np.minimum(t / 0.05, (1 - t) / 0.3))
    else:
        raise InputError(f"unknown schedule {schedule!r}: choose constant, multistep, cosine, triangular or trapezoid")
    if warmup:
        shape = shape * np.minimum(1, (np.arange(steps) + 1) / warmup)
    return (lr * shape).astype(np.float32)
