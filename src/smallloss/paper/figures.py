"""The paper's figures that need no training: matrices of noise, and the curves of beta, gamma and kappa."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smallloss.criterion.quota import Gamma, proportion, quotas
from smallloss.criterion.transition import from_spec, noise_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
UNIFORM, PAIRWISE, STRUCTURED = "uniform", "pairwise", "structured"
BETAS = (0.0, 0.1, 0.2, 0.3)
GAMMAS: dict[Gamma, str] = {1.0: "γ = γ₀", "middle": "γ = (γ₀ + γ₁) / 2", "none": "γ ≥ γ₁"}
KAPPAS = (0.0, -np.log(0.9), -np.log(0.7), -np.log(0.5), -np.log(0.3), -np.log(0.1))


@dataclass(frozen=True)
class Shown:
    """A figure, and whether it shows what the paper says of it; None where nothing is claimed."""

    figure: "Figure"
    found: str
    holds: bool | None = None


@dataclass(frozen=True)
class Plot:
    """How a figure is made: from nothing, or from plain trainings under `noises` (uniform:0.4)."""

    name: str
    title: str
    claim: str
    draw: Callable[..., Shown]
    noises: tuple[str, ...] = ()
    shares: tuple[float, ...] = (1.0,)  # of the training set: a run for each


def panels(across: int, down: int = 1, size: tuple[float, float] = (4.0, 3.2)) -> tuple["Figure", Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * across, size[1] * down), layout="constrained")
    return figure, figure.subplots(down, across, squeeze=False)


def matrices() -> Shown:
    """Fig. 1: T of the three kinds of noise."""
    r = 0.4
    figure, axes = panels(3, size=(4.4, 4.4))
    for ax, kind in zip(axes[0], (UNIFORM, PAIRWISE, STRUCTURED), strict=True):
        T = from_spec(f"{kind}:{r}", 10)
        ax.imshow(T, cmap="Blues", vmin=0, vmax=1)
        for i, j in zip(*np.nonzero(T), strict=True):
            colour = "white" if T[i, j] > 0.5 else "black"
            ax.text(j, i, f"{T[i, j]:.2g}", ha="center", va="center", fontsize=7, color=colour)
        ax.set(title=f"{kind}, r = {r}", xlabel="observed label", ylabel="true class" if kind == UNIFORM else "")
        ax.set_xticks(range(10), CIFAR10, rotation=90, fontsize=7)
        ax.set_yticks(range(10), CIFAR10 if kind == UNIFORM else [], fontsize=7)
    return Shown(figure, "The very matrices that noise is drawn from.")


def proportions() -> Shown:
    """Appendix C: prop(i) over eta_i for some beta."""
    eta = np.linspace(0, 1, 201)
    lines = {f"β = {beta:g}": proportion(eta, beta) for beta in BETAS}
    figure = _lines(eta, lines, "noise rate of the class", "prop(i)")
    return Shown(figure, "Eq. 2 as the package has it; its two branches meet at a rate of 0.5.")


def weights() -> Shown:
    """Appendix C: w = exp(-kappa t) for some kappa."""
    t = np.linspace(0, 1, 101)
    lines = {f"κ = −log({np.exp(-kappa):.1f})" if kappa else "κ = 0": np.exp(-kappa * t) for kappa in KAPPAS}
    figure = _lines(t, lines, "t: the mean loss, from the least to the largest kept", "weight w")
    return Shown(figure, "The weight of an example, by its place among the kept of its class.")


def _lines(x: np.ndarray, lines: Mapping[str, np.ndarray], across: str, up: str) -> "Figure":
    figure, ((ax,),) = panels(1, size=(5, 4))
    for said, y in lines.items():
        ax.plot(x, y, label=said)
    ax.set(xlabel=across, ylabel=up, ylim=(0, 1.05))
    ax.legend()
    return figure


def relative_numbers() -> Shown:
    """Appendix C: num(i) / (p_i n) for the least, the middle and the largest gamma, beta .2."""
    figure, axes = panels(3)
    holds = True
    for ax, spec in zip(axes[0], ("uniform:0.5", "pairwise:0.4", "structured:0.4"), strict=True):
        T = from_spec(spec, 10)
        n = np.round(T.sum(0) * 1_000_000).astype(np.int64)
        share = np.full(10, 0.1)
        for gamma, said in GAMMAS.items():
            kept = quotas(n, noise_rate(T, share), share, gamma=gamma).num / (share * n.sum())
            ax.plot(range(10), kept, marker="o", markersize=4, label=said)
            if spec == "structured:0.4":
                holds &= bool(np.allclose(kept, _appendix(gamma, 0.4, 0.2), atol=1e-5))
        ax.set(title=spec.replace(":", ", r = "), xlabel="class", ylim=(0, 1.05), xticks=range(10))
    axes[0, 0].set_ylabel("relative number kept")
    axes[0, 2].legend(fontsize=7)
    return Shown(figure, "Those of structured noise agree with the appendix's table to the fifth digit.", holds)


def _appendix(gamma: Any, r: float, beta: float) -> np.ndarray:
    """The table of relative numbers, as the appendix prints it."""
    least = 1 - (1 + beta) * r
    most = {1.0: least, "middle": 1 - (1 + beta) / 2 * r, "none": np.inf}[gamma]
    unbalanced = [1 - beta * r, 1 - beta * r, 1 - r, least, 1 - r, least, 1, 1 - beta * r, 1, 1 - r]
    return np.minimum(unbalanced, most)
