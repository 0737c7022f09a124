"""What others compute of the same probabilities: cleanlab's confident joint and its default filter, and plain rules."""

import numpy as np


def confident_joint(P: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """C[i, j]: labelled i and confidently j, each row scaled to its label's count (Northcutt et al. 2021).

    Confident of j: p_j >= t_j, the mean p_j of the examples labelled j; of several such j the likeliest.
    """
    c = P.shape[1]
    counts = np.bincount(labels, minlength=c)
    own = np.bincount(labels, P[np.arange(len(P)), labels], minlength=c)
    over = np.divide(own, counts, out=np.full(c, np.inf), where=counts > 0) <= P
    sure = over.any(axis=1)
    j = np.where(over, P, -1.0).argmax(axis=1)
    C = np.bincount(labels[sure] * c + j[sure], minlength=c * c).reshape(c, c).astype(np.float64)
    np.fill_diagonal(C, np.maximum(C.diagonal(), 1.0))
    return C * (counts / C.sum(axis=1))[:, None]


def joint_rates(C: np.ndarray) -> np.ndarray:
    """eta_i = 1 - C_ii / sum_j C_ij; 0 for a label that nothing carries."""
    labelled = C.sum(axis=1)
    return 1 - np.divide(C.diagonal(), labelled, out=np.ones(len(C)), where=labelled > 0)


def label_issues(P: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """find_label_issues as it comes (prune_by_noise_rate): for each i and j != i the C_ij examples labelled i with the
    largest p_j - p_i; never one that is predicted as it is labelled."""
    c, C = P.shape[1], np.rint(confident_joint(P, labels)).astype(int)
    found = np.zeros(len(labels), bool)
    for i in range(c):
        members = np.flatnonzero(labels == i)
        for j in range(c):
            if i != j and C[i, j] and len(members):
                margin = P[members, j] - P[members, i]
                found[members[np.argsort(-margin, kind="stable")[: C[i, j]]]] = True
    return found & (P.argmax(axis=1) != labels)
