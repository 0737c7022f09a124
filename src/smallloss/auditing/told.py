"""What the answers changed, written where the run said it: into the table of its examples and onto its page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from smallloss.auditing.run import Run
from smallloss.data.dataset import Dataset
from smallloss.data.table_files import as_cell, column_values, read_table, write_table
from smallloss.finished import EXAMPLES
from smallloss.noise.accuracy import TrueAccuracy
from smallloss.noise.rates import Rates
from smallloss.noise.verdict import Judgement
from smallloss.report.examples import mark, ranked_columns
from smallloss.report.page import write_page
from smallloss.report.result import Part
from smallloss.report.stored import read_result
from smallloss.words import counted


def write_table_anew(run: Run, parts: Sequence[Part], answers: Mapping[int, int]) -> dict[str, np.ndarray]:
    """examples.parquet and .csv with other ranks, and with the answers; the columns of what could be read."""
    table = read_table(run.folder / EXAMPLES)
    rows = np.flatnonzero(table.column("index").is_valid())
    whole = {name: column_values(table.column(name)) for name in table.column_names}
    read = {name: values[rows] for name, values in whole.items()}
    ranked, _ = ranked_columns(parts, len(rows))
    read |= {name: values for name, values in ranked.items() if name in read}
    if "suggested_label" in read:
        pairs = zip(read["suggested_label"], read["predicted_label"], strict=True)
        seen = np.array([predicted if said is None else said for said, predicted in pairs], dtype=object)
        told = read["is_label_issue"].astype(bool) & (seen != read["given_label"])
        read["suggested_label"] = np.where(told, seen, np.array(None))
    mark(read, run.labels, run.classes.tolist(), answers)
    for name, values in read.items():
        column = whole.setdefault(name, np.full(table.num_rows, None, object))
        column[rows] = values
    for ending in ("parquet", "csv"):
        write_table(run.folder / f"examples.{ending}", whole)
    return read


def write_page_anew(
    run: Run, dataset: Dataset, columns: Mapping[str, np.ndarray], parts: list[Part], answers: Mapping[int, int],
    verdict: Judgement, rates: Rates, *, accuracy: TrueAccuracy | None, note: str,
) -> None:  # fmt: skip
    """report.html, of what the table says now."""
    code = {as_cell(name): k for k, name in enumerate(dataset.classes)}
    labels = np.array([code[name] for name in run.classes[run.labels].tolist()], np.int64)
    true = dataset.true_labels if "true_label" in columns else None
    data = replace(dataset.with_labels(labels), true_labels=true)
    estimate = None if run.estimate is None else replace(
        run.estimate, noise_rate=rates.noise_rate, low=rates.low, high=rates.high, overall=(*rates.overall,)
    )  # fmt: skip
    found = read_result(run.folder, run.config, data, columns, parts, verdict, estimate=estimate, pins=answers)
    found.notes.append(note)
    found.evidence += f", and {counted(len(answers), 'answer')} by hand"
    if accuracy is not None:
        for one in found.accuracies:
            if one.method == shipped_method(run.config):
                one.true = accuracy
    write_page(found, run.folder / "report.html")


def shipped_method(config: Mapping[str, Any]) -> str:
    """Whose classifier the run left behind."""
    return str((config.get("shipped") or config)["method"])
