"""Noise rates as a person writes them: one number, label=rate pairs, or a small table."""

from pathlib import Path

from smallloss.data.tables import read_rows
from smallloss.errors import InputError


def parse_rates(text: str) -> float | dict[str, float]:
    """0.2 · cat=0.3,dog=0.2 · rates.csv with the columns label and noise_rate."""
    try:
        return float(text)
    except ValueError:
        pass
    if "=" in text:
        pairs = (part.rpartition("=") for part in text.split(","))
        return {label.strip(): _rate(rate, f"of {label.strip()!r}") for label, _, rate in pairs}
    path = Path(text)
    if not path.is_file():
        raise InputError(
            f"The noise rate {text!r} is neither a number, nor pairs such as cat=0.3,dog=0.2, nor a file that exists."
        )
    rows = [row for row in read_rows(path) if any(cell.strip() for cell in row)]
    bad = [number for number, row in enumerate(rows, 1) if len(row) != 2]
    if bad:
        raise InputError(
            f"Row {bad[0]} of {path} has {len(rows[bad[0] - 1])} cells; a table of rates has a label and a rate."
        )
    if rows and not _is_number(rows[0][1]):
        rows = rows[1:]
    return {label.strip(): _rate(rate, f"of {label.strip()!r} in {path}") for label, rate in rows}


def _rate(text: str, where: str) -> float:
    if not _is_number(text):
        raise InputError(f"The noise rate {where} is {text!r}; it must be a number in [0, 1).")
    return float(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
