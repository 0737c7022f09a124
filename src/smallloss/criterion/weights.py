"""Numbers per example out of its score and its rank: kappa's weights, and the label score."""

import numpy as np

from smallloss.criterion.labels import CHUNK


def weights(
    score: np.ndarray,
    selected: np.ndarray,
    class_index: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    kappa: float,
) -> np.ndarray:
    """w = exp(-kappa (l - l_min(i)) / (l_max(i) - l_min(i))) for the selected, 0 for the others (Section 4).

    A class whose losses are all equal has weight 1: none of its examples is worse than another.
    """
    spread = highest - lowest
    slope = np.divide(-kappa, spread, out=np.zeros(len(spread)), where=spread > 0)
    weight = np.zeros(len(score), np.float32)
    for start in range(0, len(score), CHUNK):
        chunk = slice(start, start + CHUNK)
        kept = np.flatnonzero(selected[chunk])
        k = class_index[chunk][kept]
        weight[chunk][kept] = np.exp(slope[k] * (score[chunk][kept] - lowest[k]))
    return weight


def label_scores(rank: np.ndarray, class_index: np.ndarray, n: np.ndarray, trusted: np.ndarray) -> np.ndarray:
    """1 / (1 + exp((u - q) / w)), u = (rank - 1/2) / n_k: the chance that the label is right, by rank alone.

    q = trusted_k / n_k is the cut-off of is_label_issue: the curve is 1/2 there, and below it exactly for the
    examples that are likely wrong. The width w = max(min(q, 1 - q) / 4, 0.05) keeps the mean over the class
    near q = 1 - eta_k (within 0.007 for q in [.1, .9], within 0.035 at the ends), and is wide enough that no
    two ranks tie in float64. NaN where rank is 0.
    """
    size = np.maximum(n, 1)
    q = trusted / size
    width = np.maximum(np.minimum(q, 1 - q) / 4, 0.05)
    score = np.full(len(rank), np.nan)
    for start in range(0, len(rank), CHUNK):
        chunk = slice(start, start + CHUNK)
        seen = np.flatnonzero(rank[chunk])
        k = class_index[chunk][seen]
        u = (rank[chunk][seen] - 0.5) / size[k]
        score[chunk][seen] = 1 / (1 + np.exp((u - q[k]) / width[k]))
    return score
