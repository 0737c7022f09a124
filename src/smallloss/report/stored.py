"""A result as its run folder holds it, so that the page can be written anew without training anything."""

import base64
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from smallloss.criterion.ledger import LossLedger
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import as_cell
from smallloss.files import write_json
from smallloss.noise.accuracy import TrueAccuracy
from smallloss.noise.estimate import Estimate
from smallloss.noise.verdict import Judgement
from smallloss.report.result import Accuracy, Part, Result, Shipped

RESULT = "result.json"
_PLAIN = ("evidence", "accuracy_on", "notes")
_TIMES = ("seconds",)  # the same run gives the same bytes: times stand in metrics.jsonl alone
_MANY = ("right", "agrees")  # a yes or no for each example


def write_result(result: Result, path: Path) -> Path:
    """What no other file of the run says."""
    plain = {name: getattr(result, name) for name in _PLAIN}
    stages = list(dict.fromkeys(row["stage"] for row in result.history))
    first = 0 if result.ledger is None else result.ledger.curves.start
    accuracies = [_packed(found) for found in result.accuracies]
    facts = {"stages": stages, "recorded_from": first, "accuracies": accuracies, "shipped": result.shipped}
    return write_json(path, plain | facts)


def read_result(
    folder: Path,
    config: Mapping[str, Any],
    dataset: Dataset,
    examples: Mapping[str, np.ndarray],
    parts: list[Part],
    verdict: Judgement,
    *,
    estimate: Estimate | None = None,
    pins: Mapping[int, int] | None = None,
) -> Result:
    """The result of a run, of its data and of the columns of its examples, with a selection and verdict of today."""
    saved = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    code = {as_cell(name): k for k, name in enumerate(dataset.classes)}
    epochs = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    ledger = LossLedger.load(folder / "ledger.npz")
    ledger.curves.start = saved["recorded_from"]
    predicted, instead = (
        np.array([code.get(name, -1) for name in examples[column]], np.int64)
        for column in ("predicted_label", "suggested_label")
    )
    instead = np.where(instead < 0, dataset.labels, instead)  # nothing is suggested where that is seen again
    return Result(
        dataset=dataset,
        parts=parts,
        mean_loss=examples["mean_loss"],
        predicted=predicted,
        suggested=np.where(np.asarray(examples["is_label_issue"], bool), instead, predicted),
        probability=examples["predicted_probability"],
        verdict=verdict,
        accuracies=[_unpacked(found) for found in saved["accuracies"]],
        history=[row for stage in saved["stages"] for row in epochs if row["stage"] == stage],
        settings=dict(config),
        estimate=estimate,
        ledger=ledger,
        shipped=None if saved["shipped"] is None else Shipped(*saved["shipped"]),
        pins=dict(pins or {}),
        **{name: saved[name] for name in _PLAIN},
    )


def _packed(found: Accuracy) -> dict[str, Any]:
    """As JSON can say it; eight yes or no are a byte, written as text."""
    plain = {item.name: getattr(found, item.name) for item in fields(Accuracy) if item.name not in _TIMES}
    return plain | {name: _as_text(plain[name]) for name in _MANY}


def _as_text(answers: np.ndarray | None) -> Any:
    if answers is None:
        return None
    bits = np.packbits(np.asarray(answers, bool))
    return {"of": len(answers), "base64": base64.b64encode(bits.tobytes()).decode("ascii")}


def _unpacked(saved: dict[str, Any]) -> Accuracy:
    true = None if saved["true"] is None else TrueAccuracy(*saved["true"])
    return Accuracy(**saved | {name: _answers(saved[name]) for name in _MANY} | {"true": true, "seconds": float("nan")})


def _answers(saved: dict[str, Any] | None) -> np.ndarray | None:
    if saved is None:
        return None
    bits = np.frombuffer(base64.b64decode(saved["base64"]), np.uint8)
    return np.unpackbits(bits, count=saved["of"]).astype(bool)
