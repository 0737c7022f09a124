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
from smallloss.noise.estimate import Estimate
from smallloss.noise.verdict import Judgement
from smallloss.report.result import Accuracy, Part, Result

RESULT = "result.json"
_PLAIN = ("evidence", "accuracy_on", "notes")
_TIMES = ("seconds",)  # the same run gives the same bytes: times stand in metrics.jsonl alone


def write_result(result: Result, path: Path) -> Path:
    """What no other file of the run says."""
    plain = {name: getattr(result, name) for name in _PLAIN}
    stages = list(dict.fromkeys(row["stage"] for row in result.history))
    first = 0 if result.ledger is None else result.ledger.curves.start
    accuracies = [_packed(found) for found in result.accuracies]
    return write_json(path, plain | {"stages": stages, "recorded_from": first, "accuracies": accuracies})


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
    return Result(
        dataset=dataset,
        parts=parts,
        mean_loss=examples["mean_loss"],
        predicted=np.array([code.get(name, -1) for name in examples["predicted_label"]], np.int64),
        probability=examples["predicted_probability"],
        verdict=verdict,
        accuracies=[_unpacked(found) for found in saved["accuracies"]],
        history=[row for stage in saved["stages"] for row in epochs if row["stage"] == stage],
        settings=dict(config),
        estimate=estimate,
        ledger=ledger,
        pins=dict(pins or {}),
        **{name: saved[name] for name in _PLAIN},
    )


def _packed(found: Accuracy) -> dict[str, Any]:
    """One yes or no for each example that was tested on would be long: eight of them are a byte."""
    plain = {item.name: getattr(found, item.name) for item in fields(Accuracy) if item.name not in _TIMES}
    right = np.asarray(found.right, bool)
    return plain | {"right": base64.b64encode(np.packbits(right).tobytes()).decode("ascii"), "of": len(right)}


def _unpacked(saved: dict[str, Any]) -> Accuracy:
    plain = {name: value for name, value in saved.items() if name not in ("right", "of")}
    bits = np.frombuffer(base64.b64decode(saved["right"]), np.uint8)
    return Accuracy(**plain, right=np.unpackbits(bits, count=saved["of"]).astype(bool), seconds=float("nan"))
