"""Noise rates as a person writes them: one number, label=rate pairs, or a small table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from smallloss.data.table_files import by_spelling, is_number, read_rows
from smallloss.errors import InputError

Rates = float | dict[str, float]


def read_rates(text: str | Path, classes: Sequence[str]) -> tuple[Rates, np.ndarray | None]:
    """(the rates, how high they may be where that is said, in the order of the classes).

    text: 0.2 · cat=0.3,dog=0.2 · rates.csv with the columns label and noise_rate, and perhaps `upper`, the upper end of
    the 80 % interval of each rate. A label may be spelled as our own tables spell it; blanks around it are forgiven
    where no class has them.
    """
    said, path, spelled = str(text), Path(text), by_spelling(classes)
    if path.is_file():
        return _from_file(path, classes, spelled)
    if is_number(said):
        return float(said), None
    if "=" not in said:
        raise InputError(
            f"The noise rate {said!r} is neither a number, nor pairs such as cat=0.3,dog=0.2, nor a file that exists."
        )
    rates: dict[str, float] = {}
    for label, _, rate in (part.rpartition("=") for part in said.split(",")):
        _add(rates, _name(label, spelled), rate, "")
    return rates, None


def _from_file(
    path: Path, classes: Sequence[str], spelled: Mapping[str, str]
) -> tuple[dict[str, float], np.ndarray | None]:
    header, rows = _rows(path)
    rates: dict[str, float] = {}
    highest: dict[str, float] = {}
    for number, cells in rows:
        if len(cells) != len(header):
            raise InputError(
                f"Row {number} of {path} has {len(cells)} cells; a table of rates has a label and a rate, or a header "
                "that names the columns label and noise_rate."
            )
        row = dict(zip(header, cells, strict=True))
        name = _name(row["label"], spelled)
        _add(rates, name, row["noise_rate"], f" in {path}")
        if row.get("upper", "").strip():
            highest[name] = max(_upper(row["upper"], name, f"row {number} of {path}"), rates[name])
    if not highest:
        return rates, None
    return rates, np.array([highest.get(name, rates.get(name, 0.0)) for name in classes])


def _rows(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The names of the columns, and the numbered rows below them; two columns need no names."""
    rows = [(number, row) for number, row in enumerate(read_rows(path), 1) if any(cell.strip() for cell in row)]
    header = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    if {"label", "noise_rate"} <= set(header):
        return header, rows[1:]
    named = len(header) == 2 and not is_number(header[1])
    return ["label", "noise_rate"], rows[1:] if named else rows


def _name(cell: str, spelled: Mapping[str, str]) -> str:
    return next((spelled[spelling] for spelling in (cell, cell.strip()) if spelling in spelled), cell.strip())


def _add(rates: dict[str, float], name: str, rate: str, where: str) -> None:
    if name in rates:
        raise InputError(f"The noise rate of {name!r}{where} is given twice; keep one of the two.")
    rates[name] = _rate(rate, f"noise rate of {name!r}{where}")


def _rate(text: str, what: str) -> float:
    if not is_number(text):
        raise InputError(f"The {what} is {text!r}; it must be a number in [0, 1).")
    return float(text)


def _upper(text: str, name: str, where: str) -> float:
    """Checked here, for a selection would call it the rate."""
    if not (is_number(text) and 0 <= float(text) < 1):  # NaN is in no interval either
        raise InputError(
            f"The upper of {name!r} in {where} is {text!r}; the upper end of a noise rate must be a number in [0, 1), "
            "or empty where it is not known."
        )
    return float(text)
