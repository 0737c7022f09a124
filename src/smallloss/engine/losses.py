"""Losses that wrong labels harm less than cross entropy: of logits [n, c] and labels, one number for each example.

Pure functions for any loop. Nothing in them branches on values or waits for the device, so that a step is captured.
"""

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax, one_hot

from smallloss.criterion.transition import CONDITION_LIMIT, validate
from smallloss.errors import InputError

BY_T = ("forward", "backward")
NAMES = ("cross_entropy", "mae", "lq", *BY_T, "elr")
_LEAST = 1e-4  # of a probability in ELR, so that no logarithm runs away
_LEAST_LOG = log(1e-7)  # in the backward correction, which would else fall without bound
_SPARE = 1e-3  # added to the determinant, as the authors do

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]  # of logits, labels, and which examples they are


def mae(logits: Tensor, labels: Tensor) -> Tensor:
    """‖e_ỹ − p‖₁ = 2 (1 − p_ỹ): no single wrong label pulls far (Ghosh, Kumar, Sastry, AAAI 2017)."""
    return 2 * lq(logits, labels, 1.0)


def lq(logits: Tensor, labels: Tensor, q: float = 0.7) -> Tensor:
    """(1 − p_ỹ^q) / q: half of MAE at 1, cross entropy towards 0 (Zhang, Sabuncu, NeurIPS 2018)."""
    log_p = log_softmax(logits, 1).gather(1, labels[:, None])[:, 0]
    return -torch.expm1(q * log_p) / q


def forward(logits: Tensor, labels: Tensor, T: Any) -> Tensor:
    """−log (Tᵀp)_ỹ: p is of the true class, and T makes labels of it (Patrini et al., CVPR 2017)."""
    log_T = torch.as_tensor(T).to(logits).clamp_min(torch.finfo(logits.dtype).tiny).log()
    return -(log_softmax(logits, 1) + log_T.T.index_select(0, labels)).logsumexp(1)


def backward(logits: Tensor, labels: Tensor, inverse: Any) -> Tensor:
    """−Σ_j (T⁻¹)_ỹj log p_j, whose mean over noisy labels is cross entropy on true ones (Patrini et al., CVPR 2017)."""
    rows = torch.as_tensor(inverse).to(logits).index_select(0, labels)
    return -(rows * log_softmax(logits, 1).clamp_min(_LEAST_LOG)).sum(1)


def inverse(T: Any) -> np.ndarray:
    """T⁻¹, for `backward`."""
    T = validate(T)
    if not np.linalg.cond(T) < CONDITION_LIMIT:
        raise InputError(
            "The transition matrix cannot be inverted, or hardly: under it the labels of some classes come out alike. "
            "The backward correction needs the inverse; use the forward correction, which does not."
        )
    return np.linalg.inv(T)


def l_dmi(logits: Tensor, labels: Tensor) -> Tensor:
    """−log(|det U| + 10⁻³), U_kj = Σ_{ỹ=k} p_j: one number for a batch, which must hold all classes (Xu et al., NeurIPS
    2019). It is the same under any exchange of classes: the network must know their names already."""
    p = logits.softmax(1)
    U = one_hot(labels, p.shape[1]).to(p).T @ p
    return -torch.logaddexp(_log_abs_det(U), torch.full_like(U[0, 0], log(_SPARE)))


def _log_abs_det(U: Tensor) -> Tensor:
    """log |det U| by elimination. Torch's own calls a library that cannot be captured on every GPU."""
    pivots = []
    for _ in range(len(U)):
        row = U.index_select(0, U[:, 0].abs().argmax(0, keepdim=True))
        pivot = row[:, :1] + (row[:, :1] == 0)  # of a column of zeros: U is singular, and |pivot| = 0 below
        pivots.append(row[0, 0].abs())
        U = (U - U[:, :1] / pivot * row)[:, 1:]  # the row itself becomes 0, and is chosen no more
    return torch.stack(pivots).clamp_min(torch.finfo(U.dtype).tiny).log().sum()


def elr(logits: Tensor, labels: Tensor, t: Tensor, strength: float = 3.0) -> Tensor:
    """CE + λ ln(1 − ⟨t, p⟩): t, what the network said before, is held on to (Liu et al., NeurIPS 2020)."""
    away = (1 - (t * logits.softmax(1).clamp(_LEAST, 1 - _LEAST)).sum(1)).log()
    return cross_entropy(logits, labels, reduction="none") + strength * away


class ELR:
    """`elr` with its memory of n examples: t ← β t + (1 − β) p whenever an example is seen."""

    def __init__(self, n: int, classes: int, beta: float = 0.7, strength: float = 3.0, device: Any = None) -> None:
        self.beta, self.strength = beta, strength
        self.t = torch.zeros(n, classes, device=device)

    def __call__(self, logits: Tensor, labels: Tensor, index: Tensor) -> Tensor:
        p = logits.detach().softmax(1).clamp(_LEAST, 1 - _LEAST)
        t = self.beta * self.t[index] + (1 - self.beta) * (p / p.sum(1, keepdim=True))
        self.t.index_copy_(0, index, t)
        return elr(logits, labels, t, self.strength)


def require(name: str) -> None:
    """An InputError for what no training can begin with."""
    if name == "l_dmi":
        raise InputError(
            "The loss l_dmi is the same under any exchange of classes, so no training can begin with it: use --method "
            "l_dmi, which begins with cross entropy."
        )
    if name not in NAMES:
        raise InputError(f"There is no loss named {name!r}; the known ones are {', '.join(NAMES)}.")


def require_transition(name: str, T: Any) -> None:
    """An InputError where a loss needs another T than is known before training."""
    if name in BY_T and T is None:
        raise InputError(
            f"The loss {name} needs a transition matrix before anything is trained: give T with --transition; or use "
            "--method f_correction, which has it estimated first."
        )
    if name == "backward":
        inverse(T)


def named(name: str, T: Any, n: int, classes: int, device: torch.device) -> Loss:
    """A loss that plain training of n examples can descend; those of T must have it."""
    if name == "elr":
        return ELR(n, classes, device=device)
    if name in BY_T:
        return by_transition(name, T, device)
    simple: Any = {"mae": mae, "lq": lq}[name]
    return lambda logits, labels, _: simple(logits, labels)


def by_transition(name: str, T: Any, device: torch.device) -> Loss:
    """The forward or the backward correction, its matrix on the device once for all."""
    how, matrix = (forward, validate(T)) if name == "forward" else (backward, inverse(T))
    held = torch.as_tensor(matrix, dtype=torch.float32, device=device)
    return lambda logits, labels, _: how(logits, labels, held)
