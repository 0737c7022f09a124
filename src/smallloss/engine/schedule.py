"""Learning rates, and what lookahead remembers, as tables: one number per step, known before an epoch begins."""

import math

import numpy as np

from smallloss.engine.recipe import Recipe


def learning_rates(recipe: Recipe, epoch: int, steps: int, done: int | None = None) -> np.ndarray:
    """The learning rate of every step of an epoch, by the share of the stage that lies before it.

    multistep: times `factor` after each milestone (shares of the run; the paper's .3, .6, .8 with .02).
    cosine: half a cosine down to 0. triangular: from `lr_start` up over the first 20 %, then straight down to `lr_end`.
    trapezoid: up over the first 5 %, level to 70 %, then straight down to 0.
    linear: level to the first milestone, then straight down to 0. constant: as it is.
    `warmup_steps` rise linearly from 0 before any of them; `done` were taken already, if epochs differ in length.
    """
    k, total = epoch * steps + np.arange(steps), max(recipe.epochs * steps, 1)
    t, milestones = (k + 0.5) / total, np.asarray(recipe.milestones, dtype=float)
    shape: np.ndarray
    if recipe.schedule == "constant":
        shape = np.ones(steps)
    elif recipe.schedule == "multistep":
        shape = float(recipe.factor) ** np.searchsorted(milestones, k / total, side="right")
    elif recipe.schedule == "cosine":
        shape = 0.5 * (1 + np.cos(math.pi * t))
    elif recipe.schedule == "triangular":
        start, end = recipe.lr_start, recipe.lr_end
        shape = np.minimum(start + (1 - start) * t / 0.2, end + (1 - end) * (1 - t) / 0.8)
    elif recipe.schedule == "trapezoid":
        shape = np.minimum(1, np.minimum(t / 0.05, (1 - t) / 0.3))
    else:  # linear; a recipe takes no other
        shape = np.minimum(1, (1 - t) / (1 - milestones[0] if len(milestones) else 1))
    if recipe.warmup_steps:
        taken = (epoch * steps if done is None else done) + np.arange(steps)
        shape = shape * np.minimum(1, (taken + 1) / recipe.warmup_steps)
    return (recipe.lr * shape).astype(np.float32)


def lookahead_memory(recipe: Recipe, epoch: int, steps: int, done: int) -> np.ndarray:
    """How much of the running average stays after each step of an epoch: .95^k (t / total)³ at every k-th, and at the
    very last; -1 where the weights are left alone."""
    assert recipe.lookahead is not None
    after = epoch * steps + np.arange(1, steps + 1)
    due = (done + np.arange(1, steps + 1)) % recipe.lookahead == 0
    total = recipe.epochs * steps
    due |= after == total
    return np.where(due, 0.95**recipe.lookahead * (after / max(total, 1)) ** 3, -1).astype(np.float32)
