"""A small trusted set: examples whose true class is known, drawn at random (Hendrycks et al. 2018)."""

import numpy as np

from smallloss.criterion.estimate.inputs import Codes, Matrix, Vector

BELIEF = 30.0  # trusted examples a class that weigh as much as the estimate without them: its systematic error


def gold(probabilities: Matrix, true: Codes, c: int) -> Matrix:
    """GLC: C[i] = mean of g(x) over the trusted x of true class i; a class without any keeps its label."""
    total = np.zeros((c, c))
    np.add.at(total, true, probabilities)
    size = np.bincount(true, minlength=c)[:, None]
    return np.divide(total, size, out=np.eye(c), where=size > 0)


def trusted_counts(labels: Codes, true: Codes, c: int) -> Matrix:
    """N[i, j] = #{trusted, true class i, label j}: multinomial with the joint p_i T_ij."""
    return np.bincount(true * c + labels, minlength=c * c).reshape(c, c).astype(np.float64)


def posterior(T: Matrix, p: Vector, counts: Matrix) -> Matrix:
    """Dirichlet parameters of the joint of true class and label: BELIEF c p_i T_ij + N_ij. T, p may be stacks."""
    return BELIEF * len(counts) * p[..., :, None] * T + counts
