"""The estimate's evidence and its doubts, as sentences."""

from typing import Any

import numpy as np

from smallloss.criterion.estimate.ability import Ability
from smallloss.criterion.estimate.audited import OWN
from smallloss.criterion.estimate.contradiction import Contradicted
from smallloss.criterion.estimate.counting import LEAST, Counts
from smallloss.criterion.estimate.dependence import Slope
from smallloss.criterion.estimate.inputs import Matrix, Vector
from smallloss.words import listed

SMALL = 100  # examples of a label below which its own counts say little

_MISLED = (
    "Labels differ from the predictions more and more from the very surest on, and in the way the network expects, as "
    "the mistakes of a weak network do: the rates are those among the surest, and whether the noise depends on the "
    "class alone or on the example cannot be told."
)


def evidence(
    found: Slope, able: Ability, n: int, against: Contradicted | None, known: Matrix | None,
    answers: tuple[Vector, Vector] | None,
) -> str:  # fmt: skip
    """Which evidence was used, and what kind of noise it looks like."""
    parts = [f"Labels counted among the most confident out-of-sample predictions of {n:,} examples."]
    if against is not None and against.weight > 0.5 and not able.is_misled:
        parts.append(f"Of all labels, the training on everything contradicts {against.count.sum() / n:.0%}.")
    parts.append(_MISLED if able.is_misled else _kind(found))
    if known is not None and known.sum():
        parts.append(f"Combined with {int(known.sum()):,} examples whose true class is known.")
    if answers is not None and answers[1].sum():
        own = int((answers[1] >= OWN).sum())
        parts.append(
            f"Corrected by {int(answers[1].sum()):,} answers by hand, {int(answers[0].sum()):,} of them 'wrong': "
            + (f"{own} classes by their own answers, the rest" if own else "all classes")
            + " moved together."
        )
    return " ".join(parts)


def notes(names: list[Any], counts: Vector, table: Counts, able: Ability, unseen: int) -> tuple[str, ...]:
    """What the reader should know before believing the numbers."""
    said = [_too_weak(able)] if able.doubted else []
    said.append("Labels alone cannot reveal a class most of whose examples carry another's label; only checking can.")
    absent = [names[k] for k in np.flatnonzero(counts == 0)]
    small = [names[k] for k in np.flatnonzero((counts > 0) & (counts < SMALL))]
    predicted = table.labels[-1].sum(axis=1)
    unpredicted = [names[k] for k in np.flatnonzero((predicted < LEAST) & (counts >= SMALL))]
    if absent:
        said.append(f"No example is labelled {listed(absent)}.")
    if small:
        said.append(
            f"Too few examples (under {SMALL}) to estimate {listed(small)} from their own counts: these rates lean on "
            "the pooled rate."
        )
    if unpredicted:
        said.append(f"The network hardly ever predicts {listed(unpredicted)}: these rates lean on the pooled rate.")
    if unseen:
        said.append(f"{unseen:,} examples have no out-of-sample probabilities and were left out.")
    return tuple(said)


def _too_weak(able: Ability) -> str:
    return (
        "The network may be too weak to tell its own mistakes from wrong labels: its predictions agree with "
        f"{able.surest:.0%} of the labels where it is surest, and with {able.overall:.0%} of all. The noise rates may "
        "be far too high, so their intervals reach far down; a stronger network, or checking some examples by hand, "
        "would tell."
    )


def _kind(found: Slope) -> str:
    if found.depends_on_example is None:
        return "There are too few examples to tell whether the noise depends on the class alone or on the example."
    if not found.depends_on_example:
        return (
            "The share of wrong labels hardly grows from the most to the less confident: the noise looks "
            "class-conditional."
        )
    if found.risen:
        return (
            "Wrong labels are more frequent among the harder examples: the noise looks as if it depends on the example."
        )
    if found.blend > 0.25:
        return (
            f"The share of wrong labels grows by {found.climb:.0%} already among the most confident predictions: the "
            "noise looks as if it depends on the example, so less confident predictions were counted too."
        )
    return (
        "Even where the network is confident, labels follow its probabilities from example to example: which label is "
        "wrong seems to depend on the example (or the network confuses classes where it is confident)."
    )
