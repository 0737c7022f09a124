"""What a run found, gathered for the table, the terminal and the page."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from smallloss.criterion.ledger import LossLedger
from smallloss.criterion.selection import Selection
from smallloss.data.dataset import Dataset
from smallloss.noise.accuracy import TrueAccuracy
from smallloss.noise.estimate import Estimate
from smallloss.noise.verdict import Judgement
from smallloss.words import one_line

TRAIN, HELD_OUT = "train", "held out"  # parts


@dataclass
class Part:
    """Examples that were ranked among themselves: the training part, or the part held out."""

    split: str  # TRAIN or HELD_OUT
    index: np.ndarray  # rows of the dataset
    selection: Selection


@dataclass
class Accuracy:
    """One method's accuracy on the test check, in shares; `right` says which test examples it got right."""

    method: str
    best: float | None  # of the epoch that validated best; None where nothing validates
    last: float
    seconds: float
    right: np.ndarray
    net: str = ""  # what it was taken of: methods may train different ones
    mean_of_last_ten: float | None = None  # epochs; where nothing validates, and so none is the best
    agrees: np.ndarray | None = None  # with which labels of the held-out part: what is shipped is chosen by them
    true: TrueAccuracy | None = None  # where the labels it was taken by may be wrong


class Shipped(NamedTuple):
    """The method whose classifier the run leaves behind, and why that one."""

    method: str
    why: str


@dataclass
class Result:
    """Everything a reader is shown. Vectors are in input order."""

    dataset: Dataset
    parts: list[Part]
    mean_loss: np.ndarray
    predicted: np.ndarray  # codes
    evidence: str  # what the ranking stands on, in words
    verdict: Judgement
    accuracies: list[Accuracy]
    accuracy_on: str  # what they were taken on, in words
    history: list[dict[str, Any]]
    settings: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    probability: np.ndarray | None = None  # of the predicted class, by the final network
    estimate: Estimate | None = None  # of the noise rates, where nobody knew them
    ledger: LossLedger | None = None  # of the evidence: its curves are drawn
    pins: dict[int, int] = field(default_factory=dict)  # rows answered by hand
    shipped: Shipped | None = None  # where there was a choice
    suggested: np.ndarray | None = None  # codes, where they are not `predicted`: see seen_instead

    @property
    def seen_instead(self) -> np.ndarray:
        """Codes: of the likely wrong by the method's network, which did not learn them, whichever one is shipped."""
        return self.predicted if self.suggested is None else self.suggested

    @property
    def in_short(self) -> str:
        """What became of the examples of all parts, and the verdict."""
        name = one_line(self.dataset.name)
        held_out = sum(len(part.index) for part in self.parts if part.split != TRAIN)
        kept, wrong = (
            sum(int(getattr(part.selection, mask).sum()) for part in self.parts) for mask in ("mask", "is_label_issue")
        )
        examples = sum(len(part.index) for part in self.parts)
        apart = f", {held_out:,} of them held out" if held_out else ""
        return f"{name}: {examples:,} examples{apart}; {wrong:,} likely wrong, {kept:,} kept\n{self.verdict.headline}"

    def __repr__(self) -> str:
        return f"<Result of {self.in_short}>"
