"""The confident joint (Northcutt et al. 2021): count each label against the class the network is confident of."""

import numpy as np

from smallloss.criterion.estimate.inputs import CHUNK, Codes, Matrix, Vector, label_counts


def confident_joint(probabilities: Matrix, labels: Codes, c: int) -> Matrix:
    """Q[i, j] = share of examples labelled i and truly j, from C[i, j] = #{label i, confident of j}.

    Confident of j: p_j >= t_j, the mean p_j of the examples labelled j; of several such j the likeliest. (Rows are
    labels here, as in the paper of that name; everywhere else rows are true classes.)
    """
    counts = label_counts(labels, c)
    threshold = _thresholds(probabilities, labels, counts)
    cells = np.zeros(c * c)
    for start in range(0, len(labels), CHUNK):
        P, given = probabilities[start : start + CHUNK], labels[start : start + CHUNK]
        over = threshold <= P
        confident = over.any(axis=1)
        j = np.where(over, P, -1.0).argmax(axis=1)
        cells += np.bincount(given[confident] * c + j[confident], minlength=c * c)
    C = cells.reshape(c, c)
    np.fill_diagonal(C, np.maximum(C.diagonal(), 1.0))
    C *= (counts / C.sum(axis=1))[:, None]
    return C / C.sum()


def noise_rate(Q: Matrix) -> Vector:
    """η_i = 1 - Q_ii / sum_j Q_ij; 0 for a label that nothing carries."""
    labelled = Q.sum(axis=1)
    return 1 - np.divide(Q.diagonal(), labelled, out=np.ones(len(Q)), where=labelled > 0)


def transition(Q: Matrix) -> tuple[Matrix, Vector]:
    """T[j, i] = Q_ij / sum_i Q_ij and the prior p_j = sum_i Q_ij; a class nobody belongs to keeps its labels."""
    prior = Q.sum(axis=0)
    T = np.divide(Q.T, prior[:, None], out=np.eye(len(Q)), where=prior[:, None] > 0)
    return T, prior


def _thresholds(P: Matrix, labels: Codes, counts: Vector) -> Vector:
    own = np.bincount(labels, weights=P[np.arange(len(labels)), labels], minlength=len(counts))
    return np.divide(own, counts, out=np.full(len(counts), np.inf), where=counts > 0)
