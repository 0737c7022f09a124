"""Accuracy by true labels, estimated and then answered for, and which of two classifiers is shipped.

On what is held out, of plain cross entropy (stage 1) and of RSL: what is said without answers and after 60, beside the
truth and the accuracy by given labels; then what the run ships, chosen by given labels, and what that costs or gains.
"""

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np

from smallloss.noise.accuracy import TrueAccuracy, held_out_questions, with_answers, without_answers
from smallloss.report.compare import choose_shipped
from trust_tools import Cell, Row

ANSWERS, AUDITS = 60, 10


def measure(cell: Cell) -> Iterator[Row]:
    """Where the network tells nothing of labels, a run claims no accuracy either."""
    rows, found = cell.held_out, cell.found
    if found.tells_nothing:
        return
    label, true = cell.labels[rows], cell.true[rows]
    joint, halves = found.prior[:, None] * found.transition, cell.halves[:2, rows].argmax(2)
    row = cell.named() | {"held out": len(rows)}
    for name, g in (("cross_entropy", cell.stage1), ("rsl", cell.rsl)):
        predicted = g[rows].argmax(1)
        truth = float((predicted == true).mean())
        said = without_answers(label, predicted, found.noise_rate, joint, low=found.overall[1], halves=halves)
        row[name] = {"truth": truth, "by given labels": float((predicted == label).mean()), **held(said, truth)}
        row[name]["answered"] = answered(label, predicted, true, cell.facts["seed"])
    yield row


def held(said: TrueAccuracy, truth: float) -> Row:
    return {
        "value": said.value,
        "low": said.low,
        "high": said.high,
        "holds": bool(said.low - 1e-9 <= truth <= said.high + 1e-9),
    }


def answered(label: np.ndarray, predicted: np.ndarray, true: np.ndarray, seed: int) -> Row:
    """Over simulated audits of so many answers: how often the ends hold the truth, their width, the error."""
    truth, found = float((predicted == true).mean()), []
    for audit in range(AUDITS):
        asked = held_out_questions(label == predicted, ANSWERS, (seed, audit))
        said = with_answers(label, predicted, {int(at): int(true[at]) for at in asked})
        found.append((held(said, truth)["holds"], said.high - said.low, abs(said.value - truth)))
    return dict(zip(("holds", "width", "off"), np.mean(found, axis=0).tolist(), strict=True))


def shipped(cell: Cell) -> Iterator[Row]:
    rows = cell.held_out
    predicted = {"cross_entropy": cell.stage1[rows].argmax(1), "rsl": cell.rsl[rows].argmax(1)}
    tried = [
        SimpleNamespace(method=name, called=name, agrees=said == cell.labels[rows]) for name, said in predicted.items()
    ]
    chosen = choose_shipped(tried, "rsl", "best")  # type: ignore[arg-type]
    assert chosen is not None
    right = {name: said == cell.true[rows] for name, said in predicted.items()}
    truth = {name: float(of.mean()) for name, of in right.items()}
    gain = right[chosen.method].astype(float) - right["cross_entropy"]
    earlier = {} if cell.before is None else {"rsl before": accuracy(cell, cell.before.rsl)}
    yield cell.named() | {
        "held out": len(rows),
        "shipped": chosen.method,
        "truth": truth | earlier,
        "gain": float(gain.mean()),
        "error of the gain": float(gain.std() / len(rows) ** 0.5),
        "best": truth[chosen.method] == max(truth.values()),
    }


def accuracy(cell: Cell, g: np.ndarray) -> float:
    """By true labels, of what is held out."""
    return float((g[cell.held_out].argmax(1) == cell.true[cell.held_out]).mean())
