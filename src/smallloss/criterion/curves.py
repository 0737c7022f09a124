"""Every epoch's losses of some examples: what the mean loss of a group over the epochs is taken from."""

import numpy as np

from smallloss.criterion.history import divide

SAMPLED = 10_000  # examples at most
EPOCHS = 1_000  # at most: 40 MB in all


class LossCurves:
    """The losses of at most SAMPLED examples, drawn at random, over the first EPOCHS epochs, in float32.

    Which examples are kept and which are likely wrong is known only at the end, so single losses must be kept.
    `start` is the epoch of the training that was recorded first, counted from 0.
    """

    def __init__(self, n: int) -> None:
        self.index = np.arange(n)
        if n > SAMPLED:
            self.index = np.sort(np.random.default_rng(0).choice(n, SAMPLED, replace=False))
        self.start = 0
        self.rows: list[np.ndarray] = []  # one an epoch, float32, NaN where the example was not seen

    def append(self, epoch: int, last_loss: np.ndarray, last_epoch: np.ndarray) -> None:
        """The losses of the epoch just closed, out of every example's last one."""
        if epoch < EPOCHS:
            self.rows.append(np.where(last_epoch[self.index] == epoch, last_loss[self.index], np.float32("nan")))

    def restore(self, rows: np.ndarray | None, epochs: int) -> None:
        """As they were saved; of a ledger that kept none the epochs are blank."""
        blank = np.full((min(epochs, EPOCHS), len(self.index)), np.nan, np.float32)
        self.rows = list(blank if rows is None else np.array(rows))

    def mean(self, members: np.ndarray) -> np.ndarray:
        """The mean loss of a group, a mask over all examples, in each epoch; NaN where none of it was seen."""
        losses = np.array(self.rows, np.float64).reshape(len(self.rows), len(self.index))[:, members[self.index]]
        seen = ~np.isnan(losses)
        return divide(np.where(seen, losses, 0).sum(axis=1), seen.sum(axis=1))
