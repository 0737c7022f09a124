"""Gaps in arrays of features (NaN): filled as in a table, and marked; in new examples as in those of the run."""

import numpy as np

from smallloss.words import counted

Fills = tuple[tuple[int, float], ...]  # (column, what stands in its gaps)
_ROWS = 1 << 16  # at a time


def fills_of(array: np.ndarray) -> Fills:
    """Of features, each column that has gaps (NaN), with the median of the others; 0 where there is nothing else."""
    if array.ndim != 2 or array.dtype.kind != "f":
        return ()
    starts = range(0, len(array), _ROWS)
    gaps = np.any([np.isnan(array[start : start + _ROWS]).any(axis=0) for start in starts], axis=0)
    columns = {int(column): array[:, column] for column in np.flatnonzero(gaps)}
    known = {column: values[~np.isnan(values)] for column, values in columns.items()}
    return tuple((column, float(np.median(values)) if len(values) else 0.0) for column, values in known.items())


def filled(array: np.ndarray, fills: Fills) -> np.ndarray:
    """Features without the gaps of those columns; as many columns more say where there were some."""
    columns, medians = [column for column, _ in fills], [median for _, median in fills]
    if array.ndim != 2 or max(columns, default=array.shape[1]) >= array.shape[1]:
        return array
    gap, whole = np.isnan(array[:, columns]), np.array(array)
    whole[:, columns] = np.where(gap, medians, whole[:, columns])
    return np.concatenate([whole, gap], axis=1)


def fills_note(fills: Fills) -> tuple[str, ...]:
    if not fills:
        return ()
    some = f"{counted(len(fills), 'column')} of features with missing values (NaN), the first of them {fills[0][0]}"
    return (f"In {some}: a missing one becomes the median, and is marked in a column of its own.",)
