"""Confident learning (Northcutt et al. 2021), whose rule is cleanlab's default: what a comparison holds ours against.

Rows of its matrices are labels here, as in the paper of that name; everywhere else rows are true classes.
"""

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Matrix = NDArray[np.float64]


def confident_joint(probabilities: Matrix, labels: Codes, c: int) -> Matrix:
    """Q[i, j] = share labelled i and truly j, from C[i, j] = #{label i, confident of j}.

    Confident of j: p_j >= t_j, the mean p_j of the examples labelled j; of several such j the likeliest.
    """
    counts = np.bincount(labels, minlength=c).astype(np.float64)
    own = np.bincount(labels, weights=probabilities[np.arange(len(labels)), labels], minlength=c)
    thresholds = np.divide(own, counts, out=np.full(c, np.inf), where=counts > 0)
    over = thresholds <= probabilities
    confident = over.any(axis=1)
    j = np.where(over, probabilities, -1.0).argmax(axis=1)
    cells = np.bincount(labels[confident] * c + j[confident], minlength=c * c)
    C = cells.reshape(c, c).astype(np.float64)
    np.fill_diagonal(C, np.maximum(C.diagonal(), 1.0))
    C *= (counts / C.sum(axis=1))[:, None]
    return C / C.sum()


def label_issues(probabilities: Matrix, labels: Codes) -> NDArray[np.bool_]:
    """cleanlab's default filter: for each i and j != i the n Q_ij examples labelled i with the largest p_j - p_i.

    Never one that is predicted as it is labelled, and never the only one of its label.
    """
    c = probabilities.shape[1]
    counts = _whole_rows(confident_joint(probabilities, labels, c) * len(labels))
    found = np.zeros(len(labels), bool)
    for i in range(c):
        members = np.flatnonzero(labels == i)
        margin = probabilities[members] - probabilities[members, i, None]
        for j in np.flatnonzero(counts[i]):
            if i != j and len(members) > 1:
                found[members[np.argsort(-margin[:, j], kind="stable")[: counts[i, j]]]] = True
    return found & (probabilities.argmax(axis=1) != labels)


def _whole_rows(expected: Matrix) -> NDArray[np.int64]:
    """Whole numbers that keep the total of every row: the largest remainders are rounded up."""
    floor = np.floor(expected)
    missing = np.rint(expected.sum(axis=1)) - floor.sum(axis=1)
    rank = np.argsort(np.argsort(floor - expected, axis=1, kind="stable"), axis=1)
    return (floor + (rank < missing[:, None])).astype(np.int64)
