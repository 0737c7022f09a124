"""The mentor of MentorNet's data-driven curriculum: of a loss it says how likely the label is right, and learns that
from labels answered by hand."""

import numpy as np
import torch
from torch import Tensor, nn

from smallloss.engine.task import Task
from smallloss.errors import TooFewError

_HIDDEN = 20  # the authors' last layer; theirs reads the losses by an LSTM of one step, ours by this layer alone


class Mentor(nn.Module):
    """Of a loss, what it is above m, and the share of the stage that is over: the log odds that the label is right."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, _HIDDEN), nn.Tanh(), nn.Linear(_HIDDEN, 1))

    def forward(self, x: Tensor) -> Tensor:
        odds: Tensor = self.layers(x)[:, 0]
        return odds


def seen(loss: Tensor, m: Tensor, t: Tensor) -> Tensor:
    """What a mentor sees of some losses."""
    return torch.stack([loss, loss - m, t.expand_as(loss)], 1)


def answered(task: Task, curriculum: str) -> tuple[np.ndarray, Tensor]:
    """The rows that teach a mentor, none if the curriculum is set beforehand; and of every row whether its label was
    answered right."""
    rows = np.intersect1d(task.train, list(task.pins)).astype(np.int64)
    right = np.zeros(len(task.dataset), np.float32)
    right[rows] = [task.pins[row] == task.dataset.labels[row] for row in rows.tolist()]
    known = int(right.sum())
    if curriculum == "learnt" and not 0 < known < len(rows):
        raise TooFewError(
            "mentornet.curriculum=learnt needs labels answered by hand, right ones and wrong ones: of those that are "
            f"trained on, {known:,} are answered right and {len(rows) - known:,} wrong. Answer more (smallloss audit) "
            "and give --corrections, or choose predefined."
        )
    teaches = curriculum != "predefined" and 0 < known < len(rows)
    return rows if teaches else rows[:0], torch.from_numpy(right).to(task.device)
